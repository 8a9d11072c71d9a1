# SPDX-License-Identifier: Apache-2.0
"""The twin catches bugs planted into the real kernel, host side included.

Each mutant is a copy of ascendc_op with a few lines changed (mutants/kernel.mutants). Tiling comes
from the mutant's own op_host, so that the two sides are tested together.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from oracles import random_batch
from twin import kernel_on_twin as twin
from twin.planted import assert_caught, mutants_of

from aot_build.twin import build_twin, driver, host_driver, mutants
from mindspore_rnnt.native import pack_params
from mindspore_rnnt.reference import rnnt_loss_reference

OP = build_twin.OP_KERNEL.parent
MUTANTS = mutants_of("kernel")
CORES = 5


class Operator:
    """RnntFused, kernel and host side, from copies of their folders."""

    def __init__(self, op_kernel: Path, op_host: Path) -> None:
        self.library = build_twin.build_op_kernel(
            "float32", op_kernel, entries=["rnnt_fused"], flags=["-O0"]
        )
        self.host = host_driver.load(op_host)

    def run(
        self, vocab: int = 21, scale: int = 1, log_probs: int = 0, nan: int = 0, **options: int
    ) -> tuple[driver.Result, float]:
        """The result, and the largest error of loss and gradient against float64."""
        batch = random_batch([(41, 4), (7, 2), (11, 0)], vocab, seed=9)
        batch.samples = [sample * np.float32(scale) for sample in batch.samples]
        if nan:
            batch.samples[1][3, 1, -1] = np.nan
        layout = batch.layout(False)
        inputs = twin.values_of(layout, params=pack_params(fused_log_softmax=not log_probs))
        shapes = [(array.dtype.name, array.shape) for array in inputs.values()]
        decision = self.host.tile("RnntFused", shapes, vector_cores=CORES)
        outputs = {"loss": ((3,), "float32"), "grad": (layout[0].shape, "float32")}
        options = {
            "cores": decision.block_dim,
            "vector_cores": CORES,
            "schedule_mode": decision.schedule_mode,
            **options,
        }
        workspace = decision.workspace - host_driver.SYSTEM_WORKSPACE
        result = driver.run(
            self.library, "rnnt_fused", inputs, outputs, decision.tiling, workspace, **options
        )
        loss, grad = rnnt_loss_reference(*layout, fused_log_softmax=not log_probs, reduction="none")
        errors = [relative_error(result.outputs["loss"], loss)]
        errors += [max_error(result.outputs["grad"], grad)]
        return result, max(errors)


def max_error(got: np.ndarray, expected: np.ndarray) -> float:
    """Infinite if one has a NaN where the other has none."""
    if (np.isnan(got) != np.isnan(expected)).any():
        return np.inf
    return float(np.abs(np.nan_to_num(got - expected)).max())


def relative_error(got: np.ndarray, expected: np.ndarray) -> float:
    return max_error(
        got / np.maximum(1, np.abs(expected)), expected / np.maximum(1, np.abs(expected))
    )


def planted(mutant: mutants.Mutant, folder: Path) -> Operator:
    """Compiles a patched copy of ascendc_op."""
    for part in ("op_kernel", "op_host"):
        shutil.copytree(OP / part, folder / part)
    mutant.plant(folder)
    # The host side includes these files; otherwise its own build serves all.
    shared = {"op_kernel/rnnt_sizes.h", "op_kernel/rnnt_geometry.h", "op_host/rnnt_tiler.h"}
    op_host = folder / "op_host" if mutant.files() & shared else OP / "op_host"
    return Operator(folder / "op_kernel", op_host)


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future]]:
    """The kernel as it is and all mutants, compiled two at a time."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = {"right": pool.submit(Operator, OP / "op_kernel", OP / "op_host")}
        for name, mutant in MUTANTS.items():
            jobs[name] = pool.submit(planted, mutant, tmp_path_factory.mktemp(name))
        yield jobs


RIGHT = [
    {"vocab": 21},
    {"vocab": 3000},
    *(m.options for m in MUTANTS.values() if m.fault == mutants.WRONG_VALUE and m.options),
]


@pytest.mark.parametrize("options", RIGHT, ids=str)
def test_the_kernel_as_it_is_has_no_fault(operators: dict[str, Future], options: dict) -> None:
    result, error = operators["right"].result().run(**options)
    print(f"max error {error:.3g}")
    assert not result.faults, "\n".join(map(str, result.faults))
    assert error < 1e-4


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_caught(operators: dict[str, Future], name: str) -> None:
    mutant = MUTANTS[name]
    result, error = operators[name].result().run(**mutant.options)
    assert_caught(mutant, result, error)
