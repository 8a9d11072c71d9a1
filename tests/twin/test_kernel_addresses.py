# SPDX-License-Identifier: Apache-2.0
"""More than 2^31 logits: offsets must not be 32-bit integers.

The logits are in memory that nothing has touched. Of log-probs a launch reads the blank and label
entries only; of logits here the last sample alone, since the first has more labels than there are.
Gradients are written whole, into memory that is the same few pages again and again but for its end.
"""

import ctypes
import mmap
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from oracles import report
from twin import kernel_on_twin as twin
from twin.planted import assert_caught, mutants_of

from aot_build.twin import build_twin, driver
from mindspore_rnnt.reference import rnnt_loss_reference

MUTANTS = mutants_of("addresses")
V, LABEL = 2**21, 2**21 - 3


def problem(log_probs: int) -> tuple[dict, tuple]:
    """Inputs of RnntForward, and what it is to give: loss, posteriors of blank and label."""
    lengths = [(300, 215), (1, 1)] if log_probs else [(345, 2), (2, 1)]
    T, U = np.array(lengths, np.int32)
    rows = int((T * (U + 1)).sum())
    assert rows * V > 2**31
    logits = np.frombuffer(mmap.mmap(-1, rows * V * 2), np.float16).reshape(rows, V)
    entries = np.random.default_rng(1).normal(-2, 1, (rows, 2)).astype(np.float16)
    logits[:, LABEL], logits[:, V - 1] = entries.T
    targets = np.full((2, 1), LABEL, np.int32)
    inputs = {"logits": logits, "targets": targets, "logit_lengths": T, "target_lengths": U}
    inputs["params"] = twin.pack_params(fused_log_softmax=not log_probs)
    x = entries.astype(np.float64)
    if not log_probs:  # the other classes have a logit of 0
        x = (x - np.log(np.exp(x).sum(axis=1, keepdims=True) + V - 2))[-4:]
        T, U = T[1:], U[1:]
    small = (x, np.zeros((len(T), 1), np.int32), T, U)
    loss, gradient = rnnt_loss_reference(*small, fused_log_softmax=False, reduction="none")
    return inputs, (loss, -gradient)


def forward(inputs: dict, library: Path) -> driver.Result:
    rows = len(inputs["logits"])
    outputs = {"loss": ((2,), "float32"), "state": ((rows, 5), "float32")}
    tiling = twin.tiling_of(inputs["logits"], inputs["targets"], 2)
    workspace = twin.schedule().WorkspaceBytes(ctypes.byref(tiling))
    return driver.run(library, "rnnt_forward", inputs, outputs, bytes(tiling), workspace, cores=7)


def folded(rows: int) -> np.ndarray:
    """Half rows to write to: the last four by themselves, of all others nothing is kept."""
    memory = np.frombuffer(mmap.mmap(-1, rows * V * 2), np.float16).reshape(rows, V)
    file, size = os.memfd_create("folded"), 2**26
    os.truncate(file, size)
    map_at = ctypes.CDLL(None).mmap
    map_at.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    map_at.restype = ctypes.c_void_p
    access, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | 0x10  # MAP_FIXED
    for at in range(0, memory[:-4].nbytes, size):
        part = min(size, memory[:-4].nbytes - at)
        address = memory.ctypes.data + at
        assert map_at(address, part, access, flags, file, 0) == address
    os.close(file)
    return memory


def written(entry: str, inputs: dict, targets=None) -> np.ndarray:
    """The last four rows of the gradient that `entry` writes."""
    rows = next(iter(inputs.values()))
    tiling = bytes(twin.tiling_of(rows, targets, 2))
    outputs = {"dlogits": folded(len(rows))}
    library = twin.library_of("float16", 1024)
    result = driver.run(library, entry, inputs, outputs, tiling, cores=7, checks=0)
    assert not result.faults, "\n".join(map(str, result.faults))
    return result.outputs["dlogits"][-4:]


@pytest.mark.parametrize("log_probs", [1, 0], ids=["entries", "rows"])
def test_beyond_2_31(log_probs):
    inputs, (loss, posteriors) = problem(log_probs)
    result = forward(inputs, twin.library_of("float16", 1024))
    assert not result.faults, "\n".join(map(str, result.faults))
    samples, rows = len(loss), len(posteriors)
    losses = result.outputs["loss"]
    assert np.isnan(losses[:-samples]).all()
    assert report("loss", losses[-samples:] / loss, np.ones(samples)) <= 1e-6
    state = result.outputs["state"]
    assert report("posteriors", state[-rows:, [4, 3]], posteriors) <= 1e-5
    if log_probs:
        return
    inputs |= {"state": state, "dloss": np.float32([1, 2])}
    grad = written("rnnt_backward", inputs, inputs["targets"])
    assert report("gradient", grad[:, [LABEL, V - 1]], -2 * posteriors) <= 2e-3
    grad[:, [LABEL, V - 1]] = 0
    assert np.abs(grad).max() <= 2 / V


def test_scale_grad_beyond_2_31():
    """A weight of 0 fills the first sample with zeros."""
    inputs, _ = problem(0)
    lengths = {name: inputs[name] for name in ("logit_lengths", "target_lengths")}
    inputs = {"grad": inputs["logits"], **lengths, "dloss": np.float32([0, -2])}
    assert (written("rnnt_scale_grad", inputs) == -2 * inputs["grad"][-4:]).all()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_caught(name, tmp_path):
    mutant = MUTANTS[name]
    shutil.copytree(build_twin.OP_KERNEL, tmp_path / "op_kernel")
    mutant.plant(tmp_path)
    folder = tmp_path / "op_kernel"
    library = build_twin.build_op_kernel("float16", folder, ["rnnt_forward"], ["-O1"])
    result = forward(problem(mutant.options["log_probs"])[0], library)
    assert_caught(mutant, result)
