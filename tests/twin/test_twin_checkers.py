# SPDX-License-Identifier: Apache-2.0
"""Every checker of the twin names the fault that it is there for.

A right kernel (mutants/rows.cpp) runs without a fault in every schedule. Each mutant changes a few
lines of it; the twin must name the mutant's fault, or the result must be wrong where the fault is
one of values. All mutants are compiled together, each in a namespace of its own.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from twin.planted import FOLDER, assert_caught, mutants_of

from aot_build.twin import build_twin, driver, mutants

ROWS, WIDTH, CORES = 37, 21, 3
KERNEL = (FOLDER / "rows.cpp").read_text()
MUTANTS = mutants_of("rows")
PREPARED = "  const DataCopyPadExtParams<float> pad(true, 0, padding, kLowest);\n"
SCRATCH = "  [[maybe_unused]] LocalTensor<float> f = rest.Get<float>();\n"


def source(mutant: mutants.Mutant) -> str:
    text = mutant.patch(KERNEL)
    if mutant.planted:
        text = text.replace(PREPARED, PREPARED + SCRATCH + "".join(mutant.planted))
    text = text.replace("rows_kernel", mutant.name)
    return f"namespace ns_{mutant.name} {{\n{text}}}\n"


def rows_input() -> np.ndarray:
    """All values below zero, so that a zero in the padding shows."""
    values = np.random.default_rng(3).normal(-5.0, 2.0, (ROWS, WIDTH))
    return values.clip(None, -0.5).astype(np.float32)


def expected(x: np.ndarray) -> np.ndarray:
    shifted = np.concatenate([x[:, 1:], np.full((ROWS, 1), -1e30, np.float32)], axis=1)
    return np.exp(shifted.astype(np.float64) - x.max(axis=1, keepdims=True))


@pytest.fixture(scope="module")
def library() -> Path:
    text = '#include "kernel_operator.h"\nusing namespace AscendC;\n'
    text += f"namespace right {{\n{KERNEL}}}\n" + "".join(map(source, MUTANTS.values()))
    return build_twin.build_kernel(text, "mutants")


def launch(library: Path, entry: str = "rows_kernel", **options: int) -> driver.Result:
    tiling = np.array([ROWS, WIDTH], np.uint32).tobytes()
    options = {"cores": CORES, **options}
    outputs = {"y": ((ROWS, WIDTH), "float32")}
    return driver.run(library, entry, {"x": rows_input()}, outputs, tiling, 256, **options)


def max_error(result: driver.Result) -> float:
    return np.abs(result.outputs["y"] - expected(rows_input())).max()


@pytest.mark.parametrize("cores", [1, 3, 48])
@pytest.mark.parametrize("auto_sync", [0, 1])
def test_the_right_kernel_has_no_fault(library: Path, cores: int, auto_sync: int) -> None:
    result = launch(library, cores=cores, auto_sync=auto_sync)
    assert not result.faults, "\n".join(map(str, result.faults))
    assert max_error(result) < 1e-6


@pytest.mark.parametrize("seed", range(8))
def test_every_legal_schedule_gives_the_same_bits(library: Path, seed: int) -> None:
    plain = launch(library)
    late = launch(library, deferred=1, seed=seed, core_order=seed % 3)
    assert not late.faults, "\n".join(map(str, late.faults))
    assert late.outputs["y"].tobytes() == plain.outputs["y"].tobytes()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(library: Path, name: str) -> None:
    mutant = MUTANTS[name]
    result = launch(library, name, **mutant.options)
    assert_caught(mutant, result, max_error(result))


def test_every_fault_has_a_mutant() -> None:
    table = (build_twin.TWIN / "model" / "fault.h").read_text()
    names = set(re.findall(r'X\(k\w+, "(\w+)"', table))
    assert len(names) > 30
    assert names == {mutant.fault for mutant in MUTANTS.values()} - {mutants.WRONG_VALUE}


def test_a_fault_says_where(library: Path) -> None:
    fault = launch(library, "use_before_wait").faults[0]
    print(fault)
    assert (fault.api, fault.what) == ("Adds", "src")
    assert "VECIN" in fault.detail
    assert re.fullmatch(r"mutants\.cpp:\d+", fault.place)


def test_automatic_synchronisation_forgives_a_dropped_barrier(library: Path) -> None:
    assert not launch(library, "dropped_barrier", auto_sync=1).faults


def test_a_missing_wait_changes_bits_in_some_schedule(library: Path) -> None:
    right = launch(library).outputs["y"].tobytes()
    late = [launch(library, "dropped_queue", deferred=1, seed=seed) for seed in range(6)]
    assert any(result.outputs["y"].tobytes() != right for result in late)


HALF = "LocalTensor<half> h; LocalTensor<bfloat16_t> b; "
FLOAT = "LocalTensor<float> f; "
REFUSED = {
    "bfloat16 has no Add": HALF + "Add(b, b, b, 16);",
    "int64 has no Max": "LocalTensor<int64_t> a; Max(a, a, a, 16);",
    "int32 has no Exp": "LocalTensor<int32_t> a; Exp(a, a, 16);",
    "no Cast between the half types": HALF + "Cast(h, b, RoundMode::CAST_NONE, 16u);",
    "no Scatter": FLOAT + "LocalTensor<uint32_t> o; Scatter(f, f, o, 0u, 8u);",
    "no mask register": FLOAT + "Add<float, false>(f, f, f, 64, 1, BinaryRepeatParams());",
    "no scalar store to GM": "GlobalTensor<float> g; g.SetValue(0, 1.0f);",
    "a scalar of another type": FLOAT + "Adds(f, f, 1.0, 16);",
    "constant mask bits": FLOAT
    + "const uint64_t m[2] = {1, 0}; Add(f, f, f, m, 1, BinaryRepeatParams());",
    "a narrowing stride": "uint32_t s = 9; BinaryRepeatParams p{1, 1, 1, s, s, s};",
    "VECCALC is no queue": "TQue<TPosition::VECCALC, 1> q;",
    "implicit bfloat16": "bfloat16_t b = 1.0f;",
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_twin_refuses_what_the_device_compiler_refuses(what: str) -> None:
    text = '#include "kernel_operator.h"\nusing namespace AscendC;\nvoid Probe() { %s }\n'
    assert build_twin.accepts(text % FLOAT)
    assert not build_twin.accepts(text % REFUSED[what])
