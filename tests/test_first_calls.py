# SPDX-License-Identifier: Apache-2.0
"""Graphs in processes of their own: the first call of a process; bytecode, which in one process
with many other graphs fails inside MindSpore 2.10; and trace, whose tracer wants the source line of
every frame, which neither `python -m` nor `python -c` has."""

import subprocess
import sys
from pathlib import Path

import pytest
from modes import BYTECODE_MODES, NEEDS_BYTECODE

HEAD = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import calls, itertools, mindspore as ms, numpy as np, oracles
from mindspore_rnnt import rnnt_loss

batch = oracles.random_batch([(6, 3), (4, 2), (3, 4)], V=9)
layout = batch.layout(padded=False)
losses, unit = oracles.rnnt_loss_reference(*layout, reduction="none")
"""

FIRST_CALL = """
_, gradient = calls.loss_and_gradient(calls.tensors(layout), "{mode}", reduction="sum")
assert oracles.report("gradient", gradient, unit) <= 2e-6
"""

BYTECODE = """
weights = [1.0, -3.0, 0.0]
scale = np.repeat(weights, batch.logit_lengths * (batch.target_lengths + 1))[:, None]
for form, ints, padded in itertools.product(calls.FORMS, (np.int32, np.int64), (False, True)):
    inputs = calls.tensors(batch.layout(padded), ints=ints)
    loss, gradient = calls.loss_and_gradient(
        inputs, "{mode}", weights=weights, form=form, reduction="none"
    )
    if padded:
        gradient = gradient[batch.padded_mask()].reshape(-1, 9)
    assert oracles.report("loss", loss, losses) <= 1e-5
    assert oracles.report("gradient", gradient, scale * unit) <= 6e-6
    # Too many rows when packed; when padded, beyond the tensor or into the padding, which is NaN.
    bad = (*inputs[:2], inputs[2] + 1, inputs[3])
    loss, gradient = calls.loss_and_gradient(bad, "{mode}", form=form, reduction="none")
    assert np.isnan(loss).all()
"""

TRACE = """
def loss(logits, targets, logit_lengths, target_lengths):
    return rnnt_loss(logits, targets, logit_lengths, target_lengths, reduction="sum")

@ms.jit(capture_mode="trace")
def traced(logits, targets, logit_lengths, target_lengths):
    return ms.value_and_grad(loss)(logits, targets, logit_lengths, target_lengths)

for _ in range(2):
    total, gradient = traced(*calls.tensors(layout))
    assert oracles.report("loss", calls.numbers(total), losses.sum()) <= 1e-5
    assert oracles.report("gradient", calls.numbers(gradient), unit) <= 2e-6
"""


def _script(tmp_path, body):
    script = tmp_path / "script.py"
    script.write_text(HEAD + body)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "mode", ["jit", pytest.param("jit_bytecode", marks=NEEDS_BYTECODE), "graph_dynamic"]
)
def test_first_call_of_a_process(mode, tmp_path):
    """The operators are made on the way, also where a graph is being made at that moment."""
    _script(tmp_path, FIRST_CALL.format(mode=mode))


@NEEDS_BYTECODE
@pytest.mark.parametrize("mode", BYTECODE_MODES)
def test_jit_by_bytecode(mode, tmp_path):
    _script(tmp_path, BYTECODE.format(mode=mode))


def test_importing_the_losses_warns_of_nothing():
    """MindSpore warns whoever imports a module that it has moved."""
    code = "from mindspore_rnnt import JoinerRNNTLoss, RNNTLoss, rnnt_loss"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    print(done.stderr)
    assert done.returncode == 0 and "deprecated" not in done.stdout + done.stderr


def test_jit_by_trace(tmp_path):
    _script(tmp_path, TRACE)
