# SPDX-License-Identifier: Apache-2.0
"""The twin catches bugs planted into RnntTdtLattice."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import numpy as np
import pytest
from twin import kernel_on_twin as twin
from twin.planted import assert_caught, mutants_of
from twin.tdt_problem import OUTPUTS, TdtProblem

from aot_build.twin import build_twin, driver, mutants

MUTANTS = mutants_of("tdt")
TEXT = """
extern "C" __attribute__((visibility("default"))) int g_mutant;
int g_mutant = 0;
#include "rnnt_tdt_lattice.cpp"
"""


def with_a_choice(mutant: mutants.Mutant, number: int) -> mutants.Mutant:
    """The bug is there if g_mutant is `number`."""
    edits = [
        (file, old, f"if (g_mutant == {number}) {{ {new} }} else {{ {old} }}")
        for file, old, new in mutant.edits
    ]
    return mutants.Mutant(mutant.name, mutant.fault, mutant.options, edits)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tdt_mutants") / "op_kernel"
    shutil.copytree(build_twin.OP_KERNEL, folder)
    for number, mutant in enumerate(MUTANTS.values(), 1):
        with_a_choice(mutant, number).plant(folder)
    return build_twin.build_kernel(TEXT, "tdt_mutants", {}, [folder], ["-O0"])


def run(library: Path, number: int, nan: int = 0) -> tuple[driver.Result, float]:
    """The result, and the largest error against float64. The second sample has three strips, and
    the mantissas of the third are all near the largest."""
    problem = TdtProblem([(60, 5), (9, 20), (120, 2)], (2, 4) if nan else (2, 0, 4, 1))
    problem.tokens[2][..., 0] = problem.heads[2][:] = -2.01
    if nan:
        problem.tokens[0][59, 0, 1] = np.nan  # on no path
    stats, log_probs = problem.inputs()
    inputs = {
        "stats": stats,
        "duration_log_probs": log_probs,
        "logit_lengths": np.int32(problem.T),
        "target_lengths": np.int32(problem.U),
        "durations": np.int32(problem.durations),
        "params": twin.pack_params(),
    }
    expected = dict(zip(OUTPUTS, problem.expected()))
    outputs = {name: (array.shape, "float32") for name, array in expected.items()}
    tiling = twin.tiling_of(log_probs, batch=3)
    workspace = twin.schedule().TdtWorkspaceBytes(ctypes.byref(tiling))
    ctypes.c_int.in_dll(ctypes.CDLL(str(library)), "g_mutant").value = number
    result = driver.run(
        library, "rnnt_tdt_lattice", inputs, outputs, bytes(tiling), workspace, cores=5
    )
    errors = []
    for name, array in expected.items():
        got = result.outputs[name]
        finite = np.isfinite(array)
        fits = (np.isfinite(got) == finite).all()
        errors.append(np.abs(got[finite] - array[finite]).max() if fits else np.inf)
    return result, float(max(errors))


@pytest.mark.parametrize("nan", [0, 1])
def test_the_kernel_as_it_is_has_no_fault(library: Path, nan: int) -> None:
    result, error = run(library, 0, nan)
    assert not result.faults, "\n".join(map(str, result.faults))
    assert error < 1e-4


def test_ends_of_the_lattice_that_disagree_give_nan(library: Path) -> None:
    """A bug in beta only: it counts paths that do not exist."""
    result, _ = run(library, 1 + list(MUTANTS).index("a_label_arc_ends_the_path"))
    assert all(np.isnan(result.outputs[name]).all() for name in OUTPUTS)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_caught(library: Path, name: str) -> None:
    mutant = MUTANTS[name]
    result, error = run(library, 1 + list(MUTANTS).index(name), **mutant.options)
    assert_caught(mutant, result, error)
