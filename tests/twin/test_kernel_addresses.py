# SPDX-License-Identifier: Apache-2.0
"""More than 2^31 logits: offsets must not be 32-bit integers.

The logits are log-probs in memory that nothing has touched, of which a launch reads the blank and
label entries only; the same entries alone, two classes wide, are the reference.
"""

import mmap
import sys
from pathlib import Path

import numpy as np
from oracles import report

sys.path.insert(0, str(Path(__file__).resolve().parent))

import kernel_on_twin as twin

from mindspore_rnnt.reference import rnnt_loss_reference

V, LABEL = 2**21, 2**21 - 3


def test_entries_beyond_2_31():
    T, U = np.array([300, 215], np.int32), np.array([1, 1], np.int32)
    rows = int((T * (U + 1)).sum())
    assert rows * V > 2**31
    entries = np.random.default_rng(1).normal(-2, 1, (rows, 2)).astype(np.float16)
    memory = mmap.mmap(-1, rows * V * 2)
    logits = np.frombuffer(memory, np.float16).reshape(rows, V)
    logits[:, LABEL], logits[:, V - 1] = entries.T
    targets = np.full((2, 1), LABEL, np.int32)
    inputs = {"logits": logits, "targets": targets, "logit_lengths": T, "target_lengths": U}
    inputs["params"] = twin.pack_params(fused_log_softmax=False)
    outputs = {"loss": ((2,), "float32"), "state": ((rows, 5), "float32")}
    tiling = twin.tiling_of(logits, targets, 2)
    phases = twin.ROW_STATS | twin.LATTICE
    result = twin.launch("rnnt_forward", "float16", inputs, outputs, tiling, phases)
    small = (entries.astype(np.float32), np.zeros((2, 1), np.int32), T, U)
    expected, gradient = rnnt_loss_reference(*small, fused_log_softmax=False, reduction="none")
    assert report("loss", result.outputs["loss"] / expected, [1, 1]) <= 1e-6
    assert report("posteriors", -result.outputs["state"][:, [4, 3]], gradient) <= 1e-5
