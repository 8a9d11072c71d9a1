# SPDX-License-Identifier: Apache-2.0
"""The twin catches bugs planted into RnntRowGrad, on one core with three tiles."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from twin import kernel_on_twin as twin
from twin.planted import assert_caught, mutants_of

from aot_build.twin import build_twin, driver

MUTANTS = mutants_of("row_grad")
ROWS, V, BLANK = 257, 9, 0


def problem() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Inputs, and the gradient in closed form. Every seventh row has a dloss of 0; the
    ninth is no cell."""
    rng = np.random.default_rng(5)
    x = rng.normal(0, 2, (ROWS, V)).astype(np.float32)
    labels = rng.integers(1, V, ROWS).astype(np.int32)
    post = rng.uniform(0, 0.5, (ROWS, 2)).astype(np.float32)
    dloss = np.where(np.arange(ROWS) % 7 == 0, 0, 1.5).astype(np.float32)
    row_max = x.max(axis=1, keepdims=True)
    exponentials = np.exp(x.astype(np.float64) - row_max)
    row_sum = exponentials.sum(axis=1, keepdims=True)
    occupation = post.sum(axis=1, keepdims=True)
    expected = exponentials / row_sum * occupation
    expected[:, BLANK] -= post[:, 0]
    expected[np.arange(ROWS), labels] -= post[:, 1]
    x[7] = x[8] = np.nan
    labels[8], expected[8] = -2, 0
    inputs = {
        "logits": x,
        "row_labels": labels,
        "stats": np.concatenate([row_max, row_sum, np.zeros((ROWS, 2))], 1).astype(np.float32),
        "coefficients": np.concatenate([occupation, post], 1).astype(np.float32),
        "row_dloss": dloss,
        "params": twin.pack_params(blank=BLANK),
    }
    return inputs, expected * dloss[:, None]


def run(op_kernel: Path, **options: int) -> tuple[driver.Result, float]:
    inputs, expected = problem()
    library = build_twin.build_op_kernel("float32", op_kernel, ["rnnt_row_grad"], ["-O0"])
    outputs = {"dlogits": ((ROWS, V), "float32")}
    tiling = bytes(twin.tiling_of(inputs["logits"]))
    options = {"framework_workspace": 0, **options}
    result = driver.run(library, "rnnt_row_grad", inputs, outputs, tiling, **options)
    return result, float(np.abs(result.outputs["dlogits"] - expected).max())


def test_the_kernel_as_it_is_has_no_fault() -> None:
    result, error = run(build_twin.OP_KERNEL)
    assert not result.faults, "\n".join(map(str, result.faults))
    assert error < 1e-6


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_caught(name: str, tmp_path: Path) -> None:
    mutant = MUTANTS[name]
    shutil.copytree(build_twin.OP_KERNEL, tmp_path / "op_kernel")
    mutant.plant(tmp_path)
    result, error = run(tmp_path / "op_kernel", **mutant.options)
    assert_caught(mutant, result, error)
