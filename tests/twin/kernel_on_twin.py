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
from mindspore_rnnt.ascend.build import snake_case
from mindspore_rnnt.conformance.backend import output_shapes
from mindspore_rnnt.conformance.batches import numbers, stored
from mindspore_rnnt.kernels.signatures import ROWS, SIGNATURES
from mindspore_rnnt.native import pack_params

ROW_STATS, LATTICE, ROW_GRAD, DURATIONS = 1, 2, 4, 8
PHASES = {
    "RnntFused": ROW_STATS | LATTICE | ROW_GRAD,
    "RnntScaleGrad": ROW_GRAD,
    "RnntForward": ROW_STATS | LATTICE,
    "RnntBackward": ROW_GRAD,
    "RnntRowStats": ROW_STATS,
    "RnntLattice": LATTICE,
    "RnntTdtLattice": LATTICE | DURATIONS,
    "RnntRowGrad": ROW_GRAD,
}
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


def run_op(op, values, cores=7, **options) -> driver.Result:
    """One launch of an operator of SIGNATURES; its inputs are among `values`, rows as `stored`."""
    signature = SIGNATURES[op]
    inputs = {
        operand.name: np.ascontiguousarray(
            values[operand.name], None if operand.dtype == ROWS else operand.dtype
        )
        for operand in signature.inputs
    }
    rows, targets = next(iter(inputs.values())), inputs.get("targets")
    shapes = output_shapes(op, list(inputs.values()))
    if "target_lengths" not in inputs:  # rows of any leading shape, which belong to no batch
        tiling = tiling_of(rows.reshape(-1, rows.shape[-1]))
    elif op == "RnntTdtLattice":
        log_probs = inputs["duration_log_probs"]
        tiling = tiling_of(log_probs, batch=len(inputs["target_lengths"]))
        shapes = [inputs["target_lengths"].shape, (*rows.shape[:-1], 3), log_probs.shape]
    else:
        tiling = tiling_of(rows, targets, len(inputs["target_lengths"]))
        tiling.V = 0 if op == "RnntLattice" else tiling.V
    dtypes = [str(rows.dtype) if o.dtype == ROWS else o.dtype for o in signature.outputs]
    outputs = dict(zip((o.name for o in signature.outputs), zip(shapes, dtypes)))
    dtype = "bfloat16" if rows.dtype == np.uint16 else str(rows.dtype)
    return launch(snake_case(op), dtype, inputs, outputs, tiling, PHASES[op], cores, **options)


def values_of(layout, dtype="float32", **more):
    """A batch as inputs by their names."""
    logits, targets, logit_lengths, target_lengths = layout
    return {
        "logits": stored(logits, dtype),
        "targets": np.ascontiguousarray(targets, np.int32),
        "logit_lengths": np.asarray(logit_lengths, np.int32),
        "target_lengths": np.asarray(target_lengths, np.int32),
        **more,
    }


def fused(layout, dtype="float32", cores=7, attributes=False, twin=None, **params):
    """Loss and gradient of rnnt_fused, or of rnnt_loss_fused; `result` has counters."""
    values, B = values_of(layout, dtype), len(layout[2])
    if attributes:
        logits = values["logits"]
        tiling = tiling_of(logits, layout[1], B, **params)
        outputs = {"loss": ((B,), "float32"), "grad": (logits.shape, str(logits.dtype))}
        rest = outputs, tiling, PHASES["RnntFused"], cores
        result = launch("rnnt_loss_fused", dtype, values, *rest, **(twin or {}))
    else:
        values["params"] = pack_params(**params)
        result = run_op("RnntFused", values, cores, **(twin or {}))
    return result.outputs["loss"], numbers(result.outputs["grad"]), result


def forward(layout, dtype="float32", cores=7, **params):
    values = values_of(layout, dtype, params=pack_params(**params))
    result = run_op("RnntForward", values, cores)
    return result.outputs["loss"], result.outputs["state"], result


def backward(layout, state, dloss, dtype="float32", cores=7, **params):
    values = values_of(layout, dtype, params=pack_params(**params), state=state, dloss=dloss)
    result = run_op("RnntBackward", values, cores)
    return numbers(result.outputs["dlogits"]), result


def scale_grad(grad, logit_lengths, target_lengths, dloss, dtype="float32", cores=7):
    values = {"grad": stored(grad, dtype), "dloss": dloss}
    values |= {"logit_lengths": logit_lengths, "target_lengths": target_lengths}
    result = run_op("RnntScaleGrad", values, cores)
    return numbers(result.outputs["dlogits"]), result


def row_stats(logits, row_labels, dtype="float32", cores=7, **params):
    values = {"logits": stored(logits, dtype), "row_labels": row_labels}
    values["params"] = pack_params(**params)
    return run_op("RnntRowStats", values, cores).outputs["stats"]


def lattice(stats, logit_lengths, target_lengths, cores=7, **params):
    values = {"stats": stats, "logit_lengths": logit_lengths, "target_lengths": target_lengths}
    values["params"] = pack_params(**params)
    result = run_op("RnntLattice", values, cores)
    return result.outputs["loss"], result.outputs["coefficients"]


def tdt_lattice(
    stats, log_probs, logit_lengths, target_lengths, durations, cores=7, twin=None, **params
):
    """The launch's result: loss, coefficients and duration_posteriors are its outputs."""
    values = {"stats": stats, "duration_log_probs": log_probs, "durations": durations}
    values |= {"logit_lengths": logit_lengths, "target_lengths": target_lengths}
    values["params"] = pack_params(**params)
    return run_op("RnntTdtLattice", values, cores, **(twin or {}))


def row_grad(logits, labels, stats, coefficients, dloss, dtype="float32", cores=7, **params):
    values = {"logits": stored(logits, dtype), "row_labels": labels, "stats": stats}
    values |= {"coefficients": coefficients, "row_dloss": dloss, "params": pack_params(**params)}
    return numbers(run_op("RnntRowGrad", values, cores).outputs["dlogits"])
