# SPDX-License-Identifier: Apache-2.0
"""The operators of ascendc_op/op_kernel on the twin: numpy in, numpy out, no fault on the way."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from aot_build.twin import build_twin, driver
from mindspore_rnnt.native import pack_params

ROW_STATS, LATTICE, ROW_GRAD, DURATIONS = 1, 2, 4, 8
NO_TARGETS = 0x7FFFFFFE
MAX_CORES = 48
_options: dict[str, int] = {}


@contextmanager
def options_of_the_twin(**options: int):
    """All launches within have these options of the twin, rules of instructions for example."""
    _options.update(options)
    try:
        yield
    finally:
        _options.clear()


class Tiling(ctypes.Structure):
    """RnntTiling of rnnt_tiling.h."""

    _fields_: ClassVar = [
        ("rows", ctypes.c_int64),
        *((name, ctypes.c_int32) for name in ("B", "V", "max_t", "max_u1", "max_u")),
        *((name, ctypes.c_int32) for name in ("padded", "blank", "fused_log_softmax")),
        ("clamp", ctypes.c_float),
        ("reserved", ctypes.c_int32),
    ]


@lru_cache(maxsize=4)
def schedule(strip_lanes: int = 1024) -> ctypes.CDLL:
    """rnnt_sizes.h and rnnt_placement.h as the host compiles them, behind C functions."""
    text = """
#include "rnnt_placement.h"
#include "rnnt_tdt_sizes.h"
#define EXPORT extern "C" __attribute__((visibility("default")))
EXPORT uint64_t WorkspaceBytes(const RnntTiling* t) { return RnntWorkspaceBytes(*t); }
EXPORT uint64_t TdtWorkspaceBytes(const RnntTiling* t) { return RnntTdtWorkspaceBytes(*t); }
EXPORT int64_t TdtSampleFloats(int64_t t, int64_t u1, int durations, int reach) {
  return RnntTdtSampleFloats(t, u1, durations, reach);
}
EXPORT int64_t TdtStripLanes(int64_t t, int64_t u1, int durations, int reach) {
  return RnntTdtStripLanes(t, u1, durations, reach);
}
EXPORT int CoreCount(const RnntTiling* t, int phases, int bytes, int cores) {
  return RnntCoreCount(*t, phases, bytes, cores);
}
EXPORT int64_t SampleFloats(int64_t t, int64_t u1) { return RnntSampleFloats(t, u1); }
EXPORT int64_t Lanes(int64_t t, int64_t u1) { return RnntLanes(t, u1); }
EXPORT int64_t FirstLane(int64_t t, int64_t u1, int64_t d) { return RnntFirstLane(t, u1, d); }
EXPORT int64_t LastLane(int64_t t, int64_t u1, int64_t d) { return RnntLastLane(t, u1, d); }
EXPORT int64_t CellsBefore(int64_t t, int64_t u1, int64_t d) { return RnntCellsBefore(t, u1, d); }
EXPORT int64_t DiagonalOfRank(int64_t t, int64_t u1, int64_t r) {
  return RnntDiagonalOfRank(t, u1, r);
}
EXPORT int64_t LatticeCost(int64_t t, int64_t u1) { return RnntLatticeCost(t, u1); }
EXPORT void PlaceTasks(const int64_t* costs, int samples, uint64_t* cores, int count,
                       uint8_t* core_of_task) {
  RnntPlaceTasks(costs, samples, cores, count, core_of_task);
}
"""
    defines = {"RNNT_STRIP_LANES": str(strip_lanes)}
    library = build_twin.build_kernel(text, "schedule", defines, [build_twin.OP_KERNEL])
    loaded = ctypes.CDLL(str(library))
    for name in ("FirstLane", "LastLane", "CellsBefore", "DiagonalOfRank"):
        getattr(loaded, name).argtypes = [ctypes.c_int64] * 3
        getattr(loaded, name).restype = ctypes.c_int64
    for name in ("SampleFloats", "Lanes", "LatticeCost"):
        getattr(loaded, name).argtypes = [ctypes.c_int64] * 2
        getattr(loaded, name).restype = ctypes.c_int64
    for name in ("TdtSampleFloats", "TdtStripLanes"):
        getattr(loaded, name).argtypes = [ctypes.c_int64] * 2 + [ctypes.c_int] * 2
        getattr(loaded, name).restype = ctypes.c_int64
    loaded.WorkspaceBytes.restype = loaded.TdtWorkspaceBytes.restype = ctypes.c_int64
    return loaded


def tiling_of(logits, targets=None, batch=0, blank=0, clamp=0.0, fused_log_softmax=0) -> Tiling:
    """What op_host makes of the shapes."""
    padded = logits.ndim == 4
    max_t, max_u1 = logits.shape[1:3] if padded else (0, 0)
    max_u = NO_TARGETS if targets is None else targets.shape[1]
    rows, vocab = int(np.prod(logits.shape[:-1])), logits.shape[-1]
    attributes = (blank, fused_log_softmax, clamp, 0)
    return Tiling(rows, batch, vocab, max_t, max_u1, max_u, padded, *attributes)


def encode(values, dtype):
    """float32 values, exact in `dtype`, as the twin takes them."""
    values = np.asarray(values, np.float32)
    return driver.to_bfloat16(values) if dtype == "bfloat16" else values.astype(dtype)


def decode(values, dtype):
    return driver.from_bfloat16(values) if dtype == "bfloat16" else values.astype(np.float32)


@lru_cache(maxsize=8)
def library_of(dtype: str, strip_lanes: int) -> Path:
    if strip_lanes == 1024:
        return build_twin.build_op_kernel(dtype)
    defines = {"RNNT_STRIP_LANES": str(strip_lanes), "DTYPE_LOGITS": build_twin.DTYPES[dtype][0]}
    text = '#include "rnnt_fused.cpp"\n'
    return build_twin.build_kernel(text, f"strips_{dtype}", defines, [build_twin.OP_KERNEL])


def launch(
    entry, dtype, inputs, outputs, tiling, phases, cores=7, strip_lanes=1024, **options
) -> driver.Result:
    """One launch with the workspace that the host would give; any fault fails the test."""
    library = library_of(dtype, strip_lanes)
    workspace = 0
    if phases & LATTICE:
        sizes = schedule(strip_lanes)
        bound = sizes.TdtWorkspaceBytes if phases & DURATIONS else sizes.WorkspaceBytes
        workspace = bound(ctypes.byref(tiling))
    result = driver.run(
        library,
        entry,
        inputs,
        outputs,
        bytes(tiling),
        workspace,
        cores=cores,
        schedule_mode=1,
        framework_workspace=int(workspace > 0),
        vector_cores=MAX_CORES,
        **{**_options, **options},
    )
    assert not result.faults, "\n".join(map(str, result.faults))
    return result


def batch_inputs(logits, targets, logit_lengths, target_lengths, dtype):
    return {
        "logits": encode(logits, dtype),
        "targets": np.ascontiguousarray(targets, np.int32),
        "logit_lengths": np.asarray(logit_lengths, np.int32),
        "target_lengths": np.asarray(target_lengths, np.int32),
    }


def storage(dtype):
    return "uint16" if dtype == "bfloat16" else dtype


def fused(layout, dtype="float32", cores=7, attributes=False, twin=None, **params):
    """Loss and gradient of rnnt_fused, or of rnnt_loss_fused; `result` has counters."""
    logits, targets, logit_lengths, _ = layout
    inputs = batch_inputs(*layout, dtype)
    B = len(logit_lengths)
    if attributes:
        tiling = tiling_of(logits, targets, B, **params)
    else:
        tiling = tiling_of(logits, targets, B)
        inputs["params"] = pack_params(**params)
    outputs = {"loss": ((B,), "float32"), "grad": (logits.shape, storage(dtype))}
    entry = "rnnt_loss_fused" if attributes else "rnnt_fused"
    phases = ROW_STATS | LATTICE | ROW_GRAD
    result = launch(entry, dtype, inputs, outputs, tiling, phases, cores, **(twin or {}))
    return result.outputs["loss"], decode(result.outputs["grad"], dtype), result


def forward(layout, dtype="float32", cores=7, **params):
    logits, targets, logit_lengths, _ = layout
    inputs = {**batch_inputs(*layout, dtype), "params": pack_params(**params)}
    B = len(logit_lengths)
    tiling = tiling_of(logits, targets, B)
    outputs = {"loss": ((B,), "float32"), "state": ((tiling.rows, 5), "float32")}
    result = launch("rnnt_forward", dtype, inputs, outputs, tiling, ROW_STATS | LATTICE, cores)
    return result.outputs["loss"], result.outputs["state"], result


def backward(layout, state, dloss, dtype="float32", cores=7, **params):
    logits, targets, logit_lengths, _ = layout
    inputs = {**batch_inputs(*layout, dtype), "params": pack_params(**params)}
    inputs |= {"state": state, "dloss": np.asarray(dloss, np.float32)}
    tiling = tiling_of(logits, targets, len(logit_lengths))
    outputs = {"dlogits": (logits.shape, storage(dtype))}
    result = launch("rnnt_backward", dtype, inputs, outputs, tiling, ROW_GRAD, cores)
    return decode(result.outputs["dlogits"], dtype), result


def scale_grad(grad, logit_lengths, target_lengths, dloss, dtype="float32", cores=7):
    inputs = {
        "grad": encode(grad, dtype),
        "logit_lengths": np.asarray(logit_lengths, np.int32),
        "target_lengths": np.asarray(target_lengths, np.int32),
        "dloss": np.asarray(dloss, np.float32),
    }
    tiling = tiling_of(grad, batch=len(logit_lengths))
    outputs = {"dlogits": (grad.shape, storage(dtype))}
    result = launch("rnnt_scale_grad", dtype, inputs, outputs, tiling, ROW_GRAD, cores)
    return decode(result.outputs["dlogits"], dtype), result


def row_labels_of(targets, logit_lengths, target_lengths):
    """The label that follows each packed row, or -1."""
    rows = []
    for labels, T, U in zip(targets, logit_lengths, target_lengths):
        rows.append(np.tile(np.append(labels[:U], -1), T))
    return np.concatenate(rows).astype(np.int32)


def tiling_of_rows(logits) -> Tiling:
    """Rows of any leading shape, which belong to no batch."""
    return tiling_of(logits.reshape(-1, logits.shape[-1]))


def launch_rows(logits, labels, coefficients, dloss) -> list[driver.Result]:
    """RnntRowStats and RnntRowGrad of float32 rows on one core, with their counters."""
    tiling = tiling_of_rows(logits)
    inputs = {"logits": logits, "row_labels": labels, "params": pack_params()}
    outputs = {"stats": ((len(logits), 4), "float32")}
    stats = launch("rnnt_row_stats", "float32", inputs, outputs, tiling, ROW_STATS, 1)
    inputs = {
        "logits": logits,
        "row_labels": labels,
        "stats": stats.outputs["stats"],
        "coefficients": coefficients,
        "row_dloss": np.asarray(dloss, np.float32),
        "params": pack_params(),
    }
    outputs = {"dlogits": (logits.shape, "float32")}
    return [stats, launch("rnnt_row_grad", "float32", inputs, outputs, tiling, ROW_GRAD, 1)]


def row_stats(logits, row_labels, dtype="float32", cores=7, **params):
    inputs = {"logits": encode(logits, dtype), "row_labels": row_labels}
    inputs["params"] = pack_params(**params)
    outputs = {"stats": ((*logits.shape[:-1], 4), "float32")}
    tiling = tiling_of_rows(logits)
    result = launch("rnnt_row_stats", dtype, inputs, outputs, tiling, ROW_STATS, cores)
    return result.outputs["stats"]


def lattice(stats, logit_lengths, target_lengths, cores=7, **params):
    B = len(logit_lengths)
    inputs = {
        "stats": stats,
        "logit_lengths": np.asarray(logit_lengths, np.int32),
        "target_lengths": np.asarray(target_lengths, np.int32),
        "params": pack_params(**params),
    }
    outputs = {"loss": ((B,), "float32"), "coefficients": ((*stats.shape[:-1], 3), "float32")}
    tiling = tiling_of(stats, batch=B)
    tiling.V = 0
    result = launch("rnnt_lattice", "float32", inputs, outputs, tiling, LATTICE, cores)
    return result.outputs["loss"], result.outputs["coefficients"]


def tdt_lattice(
    stats, log_probs, logit_lengths, target_lengths, durations, cores=7, twin=None, **params
):
    """The launch's result: loss, coefficients and duration_posteriors are its outputs."""
    B = len(logit_lengths)
    inputs = {
        "stats": stats,
        "duration_log_probs": log_probs,
        "logit_lengths": np.asarray(logit_lengths, np.int32),
        "target_lengths": np.asarray(target_lengths, np.int32),
        "durations": np.asarray(durations, np.int32),
        "params": pack_params(**params),
    }
    outputs = {
        "loss": ((B,), "float32"),
        "coefficients": ((*stats.shape[:-1], 3), "float32"),
        "duration_posteriors": (log_probs.shape, "float32"),
    }
    tiling = tiling_of(log_probs, batch=B)
    phases = LATTICE | DURATIONS
    entry = "rnnt_tdt_lattice"
    return launch(entry, "float32", inputs, outputs, tiling, phases, cores, **(twin or {}))


def row_grad(logits, labels, stats, coefficients, dloss, dtype="float32", cores=7, **params):
    inputs = {
        "logits": encode(logits, dtype),
        "row_labels": labels,
        "stats": stats,
        "coefficients": coefficients,
        "row_dloss": np.asarray(dloss, np.float32),
        "params": pack_params(**params),
    }
    outputs = {"dlogits": (logits.shape, storage(dtype))}
    tiling = tiling_of_rows(logits)
    result = launch("rnnt_row_grad", dtype, inputs, outputs, tiling, ROW_GRAD, cores)
    return decode(result.outputs["dlogits"], dtype)
