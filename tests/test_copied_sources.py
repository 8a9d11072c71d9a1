# SPDX-License-Identifier: Apache-2.0
"""Each function of the package in a Cell under mixed precision O1 in PyNative mode, which runs
copies of the sources that a Cell calls: they lose the names of their modules."""

import os
import subprocess
import sys
from math import comb, log
from pathlib import Path

import pytest

import mindspore_rnnt

# All paths of T = 3, U = 2 and 5 equal classes have the same probability.
LOSS = log(5.0**5 / comb(4, 2))
CALLS = {
    "rnnt_loss": ("rnnt_loss(logits, *batch)", LOSS),
    "rnnt_align": ("rnnt_align(logits, *batch)[2]", -log(5.0**5)),
    "rnnt_posteriors": ("rnnt_posteriors(logits, *batch)[0]", LOSS),
    # Over the six paths the first label is emitted in frame 2/3, the second in 4/3.
    "expected_frames": (
        "expected_frames(rnnt_posteriors(logits, *batch), *batch[1:])[0].sum()",
        2.0,
    ),
    "prune_ranges": ("prune_ranges(rnnt_posteriors(logits, *batch), *batch[1:], 2)[0, 2]", 1.0),
    "rnnt_distillation_loss": ("rnnt_distillation_loss(logits, logits, *batch)", 0.0),
    "rnnt_loss_simple": ("rnnt_loss_simple(logits[:, :, 0], logits[:, 0], *batch)", LOSS),
    "rnnt_loss_pruned": ("rnnt_loss_pruned(logits, ops.zeros((1, 3), ms.int32), *batch)", LOSS),
    "simple_posteriors": ("simple_posteriors(logits[:, :, 0], logits[:, 0], *batch)[0]", LOSS),
    # The values of the docstrings.
    "tdt_loss": ("tdt_loss(logits, logits[..., :2], *batch, durations=(0, 1))", 6.4009),
}
SCRIPT = """
import mindspore as ms
from mindspore import Tensor, amp, nn, ops
from mindspore_rnnt import {names}

class Net(nn.Cell):
    def construct(self, logits, targets, logit_lengths, target_lengths):
        batch = targets, logit_lengths, target_lengths
        return {call}

net = amp.auto_mixed_precision(Net(), "O1", ms.float16)
got = net(ops.zeros((1, 3, 3, 5)), Tensor([[1, 2]]), Tensor([3]), Tensor([2]))
assert abs(float(got) - {right}) < 1e-4, got
"""


@pytest.mark.parametrize("name", CALLS)
def test_mixed_precision_o1(name, tmp_path):
    """O1 finds a package only where sys.path has its folder."""
    call, right = CALLS[name]
    names = [x for x in CALLS if f"{x}(" in call]
    (tmp_path / "o1.py").write_text(SCRIPT.format(names=", ".join(names), call=call, right=right))
    env = os.environ | {"PYTHONPATH": str(Path(mindspore_rnnt.__file__).parents[1])}
    command = [sys.executable, "o1.py"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
