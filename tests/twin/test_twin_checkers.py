# SPDX-License-Identifier: Apache-2.0
"""Every checker of the twin names the fault that it is there for.

A right kernel (mutants/rows.cpp) runs without a fault in every schedule. Each mutant changes a few
characters of it; the twin must name the mutant's fault, or the result must be wrong where the fault
is one of values. All mutants are compiled together, each under its own name.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from aot_build.twin import build_twin, driver  # noqa: E402

ROWS, WIDTH, CORES = 37, 21, 3
KERNEL = (HERE / "mutants" / "rows.cpp").read_text()
WRONG_VALUE = "wrong value"


@dataclass(frozen=True)
class Mutant:
    """`edits` must each apply exactly once; `fault` must be reported."""

    name: str
    fault: str
    edits: tuple[tuple[str, str], ...] = ()
    options: dict = field(default_factory=dict)

    def source(self) -> str:
        text = KERNEL
        for old, new in self.edits:
            assert text.count(old) == 1, f"{self.name}: {old!r} occurs {text.count(old)} times"
            text = text.replace(old, new)
        return text.replace("rows_kernel", self.entry())

    def entry(self) -> str:
        return "mutant_" + self.name

    def function(self) -> str:
        """The mutant alone, with its constants, so that many fit into one file."""
        return f"namespace {self.name} {{\n{self.source()}\n}}\n"


def edit(name: str, fault: str, *edits: tuple[str, str], **options: int) -> Mutant:
    return Mutant(name, fault, edits, options)


LAST_STORE = (
    "    DataCopyPad(gy[first * width], result, DataCopyExtParams(rows, width * 4, 0, 0, 0));\n"
)
FIRST_LOAD = "    DataCopyPad(row, gx[r * width], DataCopyExtParams(1, width * 4, 0, 0, 0), pad);\n"
MAX_LINE = "    WholeReduceMax(max, row, static_cast<int32_t>(pitch), 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);\n"  # noqa: E501
SUB_LINE = "    Sub(result, result, max_blocks, pitch, rows, BinaryRepeatParams(1, 1, 0, stride, stride, 1));\n"  # noqa: E501
BARRIER = "    PipeBarrier<PIPE_V>();\n"
BRCB_LINE = "    Brcb(max_blocks, max[first], 1, BrcbRepeatParams(1, 8));\n"
SYNC_ALL = "  SyncAll();\n"
REST_LINE = "  pipe.InitBuffer(rest, kRestOfUb);\n"
PREPARED = "  const DataCopyPadExtParams<float> pad(true, 0, padding, kLowest);\n"
WAIT_LOADED = "  WaitFlag<HardEvent::MTE2_V>(loaded);\n"
SET_LOADED = "  SetFlag<HardEvent::MTE2_V>(loaded);\n"


def plant(name: str, fault: str, code: str, **options: int) -> Mutant:
    """A fault of its own, planted before the kernel's work. `f` is a scratch tensor."""
    scratch = "  auto f = rest.Get<float>(); (void)f;\n"
    return edit(name, fault, (PREPARED, PREPARED + scratch + "  " + code + "\n"), **options)


VALUES = "Duplicate(f, 1.0f, 1024); PipeBarrier<PIPE_V>(); "

MUTANTS = [
    # Memory of the core.
    edit("buffer_too_big", "ub_capacity", (REST_LINE, REST_LINE.replace("Ub)", "Ub + 32)"))),
    plant("over_tensor", "ub_out_of_range", "Duplicate(f[kRestOfUb / 4 - 8], 0.0f, 16);"),
    edit("unaligned_operand", "ub_unaligned", ("max[first], 1", "max[first + 1], 1")),
    edit("never_written", "ub_uninitialised", (BRCB_LINE, "")),
    edit("undocumented_padding", "ub_uninitialised", ("pad(true, 0,", "pad(false, 0,")),
    plant("partly_overlapping", "ub_overlap", VALUES + "Add(f[8], f, f, 64);"),
    plant("empty_buffer", "buffer_rule", "TBuf<TPosition::VECCALC> b; pipe.InitBuffer(b, 0);"),
    edit("nine_queue_buffers", "buffer_rule", ("(in, 2, kTileBytes)", "(in, 9, kTileBytes / 8)")),
    edit("copy_to_veccalc", "buffer_position", ("TPosition::VECIN> max_b", "TPosition::VECCALC> max_b")),
    # Queues.
    edit("queue_deadlock", "queue_deadlock", ("    in.FreeTensor(row);\n", "")),
    edit("empty_queue", "queue_deadlock", ("    in.EnQue(row);\n", "")),
    edit("freed_twice", "queue_misuse", ("    in.FreeTensor(row);\n", "    in.FreeTensor(row); in.FreeTensor(row);\n")),
    edit("foreign_tensor", "queue_misuse", ("    in.FreeTensor(row);\n", "    in.FreeTensor(max);\n")),
    plant("leak_at_end", "queue_leak", "auto held = in.AllocTensor<float>(); (void)held;"),
    plant("leak_at_reset", "queue_leak", "auto held = in.AllocTensor<float>(); (void)held; pipe.Reset(); return;"),
    # The limits of instructions.
    edit("cast_mode", "data_type", (WAIT_LOADED, WAIT_LOADED + "  Cast(max, max, RoundMode::CAST_NONE, 8u);\n")),
    edit("too_many_repeats", "repeat_limit", ("static_cast<int32_t>(pitch), 1, 1,", "static_cast<int32_t>(pitch), 256, 1,")),
    edit("repeat_stride_overflow", "stride_limit", ("rows, UnaryRepeatParams(1, 1, stride,", "rows, UnaryRepeatParams(1, 1, static_cast<uint8_t>(stride + 254),")),
    edit("mask_65", "mask_limit", ("Exp(result, result, pitch,", "Exp(result, result, pitch + 64,")),
    plant("mask_in_counter_mode", "mask_limit", VALUES + "SetMaskCount(); Exp(f, f, 64, 1, UnaryRepeatParams()); SetMaskNorm();"),
    plant("compare_count", "count_limit", VALUES + "Compares(f[512].ReinterpretCast<uint8_t>(), f, 1.0f, CMPMODE::EQ, 60u);"),
    plant("copy_rounding", "data_copy_rounding", "auto a = in.AllocTensor<float>(); DataCopy(a, gx, 9u); in.EnQue(a); a = in.DeQue<float>(); in.FreeTensor(a);"),
    edit("block_length", "data_copy_limit", (FIRST_LOAD, FIRST_LOAD.replace("width * 4", "width * 4 - 2"))),
    edit("padding_too_long", "data_copy_limit", ("pad(true, 0, padding", "pad(true, 0, padding + 8")),
    # Order between the pipes of a core.
    edit("use_before_wait", "hazard_raw", (WAIT_LOADED, "  Adds(max, max, 0.0f, 8);\n" + WAIT_LOADED)),
    edit("dropped_barrier", "hazard_raw", (SUB_LINE + BARRIER, SUB_LINE)),
    edit("dropped_queue", "hazard_raw", ("    out.EnQue(max);\n", ""), ("    max = out.DeQue<float>();\n", "")),
    edit("war_on_v", "hazard_war", (SUB_LINE, SUB_LINE + "    Duplicate(max_blocks, 0.0f, 64);\n")),
    edit("waw_on_v", "hazard_waw", (BRCB_LINE, BRCB_LINE + BRCB_LINE)),
    plant("scalar_read", "hazard_raw", "Duplicate(f, 1.0f, 8); if (f.GetValue(0) > 2.0f) return;"),
    # Events.
    edit("double_set", "event_double_set", (SET_LOADED, SET_LOADED + SET_LOADED)),
    edit("wait_unset", "event_wait_unset", (SET_LOADED, "")),
    plant("leftover", "event_leftover", "SetFlag<HardEvent::V_S>(0);"),
    edit("dropped_wait", "event_double_set", (WAIT_LOADED, "")),
    plant("reused_id", "event_double_set", "SetFlag<HardEvent::MTE2_V>(0);"),
    plant("reserved_id", "event_reserved", "SetFlag<HardEvent::S_V>(6); WaitFlag<HardEvent::S_V>(6);"),
    plant("id_out_of_range", "event_reserved", "SetFlag<HardEvent::S_V>(8);"),
    plant("no_id_left", "event_exhausted", "for (int i = 0; i < 9; ++i) (void)pipe.AllocEventID<HardEvent::S_V>();"),
    # Global memory.
    edit("over_read", "gm_out_of_range", ("    DataCopyPad(source, gx[first * width], DataCopyExtParams(rows, width * 4,", "    DataCopyPad(source, gx[first * width], DataCopyExtParams(rows, width * 4 + 32,")),
    edit("raw_workspace", "gm_unknown", ("GetUserWorkspace(workspace), kMaxRows", "workspace, kMaxRows")),
    edit("written_input", "gm_read_only", (LAST_STORE, LAST_STORE.replace("gy[", "gx["))),
    edit("unwritten_workspace", "gm_uninitialised", ("    DataCopyPad(maxima[r], max,", "    if (r != 5) DataCopyPad(maxima[r], max,")),
    plant("unaligned_gm", "gm_unaligned", "GlobalTensor<float> odd; odd.SetGlobalBuffer((__gm__ float*)(x + 2), 8); auto a = in.AllocTensor<float>(); DataCopyPad(a, odd, DataCopyExtParams(1, 32, 0, 0, 0), pad); in.EnQue(a); a = in.DeQue<float>(); in.FreeTensor(a);"),
    plant("unordered_gm", "gm_hazard", "if (core == 0) { auto a = in.AllocTensor<float>(); auto o = out.AllocTensor<float>(); Duplicate(o, 1.0f, 8); out.EnQue(o); o = out.DeQue<float>(); DataCopyPad(maxima[56], o, DataCopyExtParams(1, 32, 0, 0, 0)); out.FreeTensor(o); DataCopyPad(a, maxima[56], DataCopyExtParams(1, 32, 0, 0, 0), pad); in.EnQue(a); a = in.DeQue<float>(); in.FreeTensor(a); }"),
    edit("short_output", "output_unwritten", (LAST_STORE, LAST_STORE.replace("(rows, width * 4", "(rows, width * 4 - 4"))),
    # Cores.
    edit("cross_core_race", "cross_core_race", (SYNC_ALL, "")),
    edit("same_rows_twice", "cross_core_race", ("first = core * kTileRows; first < data.rows; first += cores", "first = 0; first < data.rows; first += 1")),
    edit("skipped_sync_all", "sync_all_missed", (SYNC_ALL, "  if (core != 1) SyncAll();\n")),
    edit("early_return", "sync_all_missed", (SYNC_ALL, "  if (core == 2) return;\n  SyncAll();\n")),
    edit("stale_scalar", "stale_scalar", (PREPARED, PREPARED + "  float sum = maxima.GetValue(1);\n"), (SYNC_ALL, SYNC_ALL + "  sum += maxima.GetValue(1);\n  if (sum == 12345.0f) return;\n")),
    edit("too_many_blocks", "too_many_blocks", cores=49),
    edit("aiv_only", "kernel_type", ("KERNEL_TYPE_MIX_AIV_1_0", "KERNEL_TYPE_AIV_ONLY")),
    edit("no_batch_mode", "schedule_mode", schedule_mode=0),
    edit("wrong_tiling", "tiling_size", ("rows, width;\n};", "rows, width, more;\n};")),
    # Values.
    edit("shift_off_by_one", WRONG_VALUE, ("CreateVecIndex(offset, 1, pitch)", "CreateVecIndex(offset, 2, pitch)")),
    edit("pad_value_zero", WRONG_VALUE, ("padding, kLowest);", "padding, 0.0f);")),
]  # fmt: skip
BY_NAME = {mutant.name: mutant for mutant in MUTANTS}


def rows_input() -> np.ndarray:
    """All values below zero, so that a zero in the padding shows."""
    return (
        np.random.default_rng(3)
        .normal(-5.0, 2.0, (ROWS, WIDTH))
        .clip(None, -0.5)
        .astype(np.float32)
    )


def expected(x: np.ndarray) -> np.ndarray:
    shifted = np.concatenate([x[:, 1:], np.full((ROWS, 1), -1e30, np.float32)], axis=1)
    return np.exp(shifted.astype(np.float64) - x.max(axis=1, keepdims=True))


@pytest.fixture(scope="module")
def library() -> Path:
    text = '#include "kernel_operator.h"\nusing namespace AscendC;\n'
    text += "namespace right {\n" + KERNEL + "}\n"
    return build_twin.build_kernel(text + "".join(m.function() for m in MUTANTS), "mutants")


def launch(library: Path, entry: str = "rows_kernel", **options: int) -> driver.Result:
    tiling = np.array([ROWS, WIDTH], np.uint32).tobytes()
    options = {"cores": CORES, **options}
    outputs = {"y": ((ROWS, WIDTH), "float32")}
    return driver.run(library, entry, {"x": rows_input()}, outputs, tiling, 256, **options)


@pytest.mark.parametrize("cores", [1, 3, 48])
@pytest.mark.parametrize("auto_sync", [0, 1])
def test_the_right_kernel_has_no_fault(library: Path, cores: int, auto_sync: int) -> None:
    result = launch(library, cores=cores, auto_sync=auto_sync)
    error = np.abs(result.outputs["y"] - expected(rows_input())).max()
    print(f"max error {error:.3g}")
    assert not result.faults, "\n".join(map(str, result.faults))
    assert error < 1e-6


@pytest.mark.parametrize("seed", range(8))
def test_every_legal_schedule_gives_the_same_bits(library: Path, seed: int) -> None:
    plain = launch(library)
    late = launch(library, deferred=1, seed=seed, core_order=seed % 3)
    assert not late.faults, "\n".join(map(str, late.faults))
    assert late.outputs["y"].tobytes() == plain.outputs["y"].tobytes()


@pytest.mark.parametrize("name", BY_NAME)
def test_a_mutant_is_caught(library: Path, name: str) -> None:
    mutant = BY_NAME[name]
    result = launch(library, mutant.entry(), **mutant.options)
    print("\n".join(map(str, result.faults)))
    if mutant.fault == WRONG_VALUE:
        error = np.abs(result.outputs["y"] - expected(rows_input())).max()
        print(f"max error {error:.3g}")
        assert not error < 1e-3
    else:
        assert mutant.fault in result.fault_names()


def test_every_fault_has_a_mutant() -> None:
    table = (build_twin.TWIN / "model" / "fault.h").read_text()
    names = set(re.findall(r'X\(k\w+, "(\w+)"', table))
    assert len(names) > 30
    assert names == {mutant.fault for mutant in MUTANTS} - {WRONG_VALUE}


def test_a_fault_says_where(library: Path) -> None:
    fault = launch(library, BY_NAME["use_before_wait"].entry()).faults[0]
    print(fault)
    assert (fault.api, fault.what) == ("Adds", "src")
    assert "VECIN" in fault.detail
    assert re.fullmatch(r"mutants\.cpp:\d+", fault.place)


def test_a_dropped_barrier_is_forgiven_with_automatic_synchronisation(library: Path) -> None:
    entry = BY_NAME["dropped_barrier"].entry()
    assert not launch(library, entry, auto_sync=1).faults


def test_a_missing_wait_changes_bits_in_some_schedule(library: Path) -> None:
    entry = BY_NAME["dropped_queue"].entry()
    right = launch(library).outputs["y"].tobytes()
    late = [launch(library, entry, deferred=1, seed=seed).outputs["y"] for seed in range(6)]
    assert any(y.tobytes() != right for y in late)


REFUSED = {
    "bfloat16 has no Add": "LocalTensor<bfloat16_t> a; Add(a, a, a, 16);",
    "int64 has no Max": "LocalTensor<int64_t> a; Max(a, a, a, 16);",
    "no Exp of int32": "LocalTensor<int32_t> a; Exp(a, a, 16);",
    "no cast between the half types": "LocalTensor<half> a; LocalTensor<bfloat16_t> b; Cast(a, b, RoundMode::CAST_NONE, 16u);",
    "no Scatter": "LocalTensor<float> a; LocalTensor<uint32_t> o; Scatter(a, a, o, 0u, 8u);",
    "no scalar store to GM": "GlobalTensor<float> g; g.SetValue(0, 1.0f);",
    "a scalar of another type": "LocalTensor<float> a; Adds(a, a, 1.0, 16);",
    "a mask list of constants": "LocalTensor<float> a; const uint64_t m[2] = {1, 0}; Add(a, a, a, m, 1, BinaryRepeatParams());",
    "a narrowing stride list": "uint32_t s = 9; BinaryRepeatParams p{1, 1, 1, s, s, s}; (void)p;",
    "VECCALC is no queue position": "TQue<TPosition::VECCALC, 1> q; (void)q;",
    "implicit bfloat16": "bfloat16_t b = 1.0f; (void)b;",
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_the_twin_refuses_what_the_device_compiler_refuses(what: str) -> None:
    text = '#include "kernel_operator.h"\nusing namespace AscendC;\nvoid f() { %s }\n'
    assert build_twin.accepts(text % "LocalTensor<float> a; (void)a;")
    assert not build_twin.accepts(text % REFUSED[what])
