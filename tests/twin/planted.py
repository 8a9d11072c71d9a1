# SPDX-License-Identifier: Apache-2.0
"""Planted bugs: where they are, and what the twin must make of one."""

from __future__ import annotations

from pathlib import Path

from aot_build.twin import driver, mutants

FOLDER = Path(__file__).parent / "mutants"


def mutants_of(name: str) -> dict[str, mutants.Mutant]:
    """Those of mutants/<name>.mutants, by their names."""
    return {mutant.name: mutant for mutant in mutants.read(FOLDER / f"{name}.mutants")}


def assert_caught(mutant: mutants.Mutant, result: driver.Result, error: float = 0.0) -> None:
    """Its fault is named; or, where no rule is broken, the result is off by 1e-3 or more."""
    print("\n".join(map(str, result.faults)), f"\nmax error {error:.3g}")
    if mutant.fault == mutants.WRONG_VALUE:
        assert not error < 1e-3
    else:
        assert mutant.fault in result.fault_names()
