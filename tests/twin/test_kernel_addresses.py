# SPDX-License-Identifier: Apache-2.0
"""More than 2^31 logits: offsets must not be 32-bit integers.

The logits are in memory that nothing has touched. Of log-probs a launch reads the blank and label
entries only; of logits here the last sample alone, since the first has more labels than there are.
"""

import mmap
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from oracles import report

sys.path.insert(0, str(Path(__file__).resolve().parent))

import kernel_on_twin as twin

from aot_build.twin import build_twin, driver, mutants
from mindspore_rnnt.reference import rnnt_loss_reference

HERE = Path(__file__).resolve().parent
OP_KERNEL = HERE.parents[1] / "ascendc_op" / "op_kernel"
MUTANTS = {m.name: m for m in mutants.read(HERE / "mutants" / "addresses.mutants")}
V, LABEL = 2**21, 2**21 - 3


def launch(log_probs: int, op_kernel: Path = OP_KERNEL) -> tuple[driver.Result, tuple]:
    """RnntForward, and what it is to give: loss, posteriors of blank and label."""
    lengths = [(300, 215), (1, 1)] if log_probs else [(345, 2), (2, 1)]
    T, U = np.array(lengths, np.int32)
    rows = int((T * (U + 1)).sum())
    assert rows * V > 2**31
    memory = mmap.mmap(-1, rows * V * 2)
    logits = np.frombuffer(memory, np.float16).reshape(rows, V)
    entries = np.random.default_rng(1).normal(-2, 1, (rows, 2)).astype(np.float16)
    logits[:, LABEL], logits[:, V - 1] = entries.T
    targets = np.full((2, 1), LABEL, np.int32)
    inputs = {"logits": logits, "targets": targets, "logit_lengths": T, "target_lengths": U}
    inputs["params"] = twin.pack_params(fused_log_softmax=not log_probs)
    outputs = {"loss": ((2,), "float32"), "state": ((rows, 5), "float32")}
    tiling = twin.tiling_of(logits, targets, 2)
    workspace = twin.schedule().WorkspaceBytes(twin.ctypes.byref(tiling))
    library = build_twin.build_op_kernel("float16", op_kernel, ["rnnt_forward"], ["-O1"])
    result = driver.run(library, "rnnt_forward", inputs, outputs, bytes(tiling), workspace, cores=7)
    x = entries.astype(np.float64)
    if not log_probs:  # the other classes have a logit of 0
        x = (x - np.log(np.exp(x).sum(axis=1, keepdims=True) + V - 2))[-4:]
        T, U = T[1:], U[1:]
    small = (x, np.zeros((len(T), 1), np.int32), T, U)
    loss, gradient = rnnt_loss_reference(*small, fused_log_softmax=False, reduction="none")
    return result, (loss, -gradient)


@pytest.mark.parametrize("log_probs", [1, 0], ids=["entries", "rows"])
def test_beyond_2_31(log_probs):
    result, (loss, posteriors) = launch(log_probs)
    assert not result.faults, "\n".join(map(str, result.faults))
    samples, rows = len(loss), len(posteriors)
    losses = result.outputs["loss"]
    assert np.isnan(losses[:-samples]).all()
    assert report("loss", losses[-samples:] / loss, np.ones(samples)) <= 1e-6
    state = result.outputs["state"][-rows:]
    assert report("posteriors", state[:, [4, 3]], posteriors) <= 1e-5


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_caught(name, tmp_path):
    mutant = MUTANTS[name]
    shutil.copytree(OP_KERNEL, tmp_path / "op_kernel")
    for file in mutant.files():
        path = tmp_path / file
        path.write_text(mutant.patch(path.read_text(), file))
    result, _ = launch(mutant.options["log_probs"], tmp_path / "op_kernel")
    print("\n".join(map(str, result.faults)))
    assert mutant.fault in result.fault_names()
