# SPDX-License-Identifier: Apache-2.0
"""The operators: names, inputs, outputs and dtypes, the same on every device. Tensors only.

Shapes: N = rows of packed logits, B = samples, cells = N (packed) or B * max_T * max_U1 (padded).
"""

from typing import NamedTuple

ROWS = "rows"  # the logits' dtype: one of ROW_DTYPES
FLOAT32 = "float32"
INT32 = "int32"
ROW_DTYPES = ("float32", "float16", "bfloat16")


class Operand(NamedTuple):
    name: str
    dtype: str


class Signature(NamedTuple):
    name: str  # of the operator, and of its entry in the library
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    devices: tuple[str, ...] = ("CPU", "Ascend")


LOGITS = Operand("logits", ROWS)  # (N, V) packed or (B, max_T, max_U1, V) padded
TARGETS = Operand("targets", INT32)  # (B, max_U)
LOGIT_LENGTHS = Operand("logit_lengths", INT32)  # (B,)
TARGET_LENGTHS = Operand("target_lengths", INT32)  # (B,)
PARAMS = Operand("params", FLOAT32)  # (8,), see mindspore_rnnt/native/params.py
LOSS = Operand("loss", FLOAT32)  # (B,)
STATE = Operand("state", FLOAT32)  # (cells, 5), opaque
DLOSS = Operand("dloss", FLOAT32)  # (B,)
GRAD = Operand("grad", ROWS)  # as logits, of the unit-upstream loss
DLOGITS = Operand("dlogits", ROWS)  # as logits
LEAST_LOSS = Operand("least_loss", FLOAT32)  # (B,), see aot_build/cpu/driver.h
# Of rows with any leading shape `..`, among them (N,) and (B, max_T, max_U1):
ROW_LABELS = Operand("row_labels", INT32)  # (..), -1: no label arc, -2: no cell, not read
ROW_SAMPLES = Operand("row_samples", INT32)  # (..), 0 without a cell
STATS = Operand("stats", FLOAT32)  # (.., 4): row_max, row_sum, blank_gap, label_gap; no cell: 0
COEFFICIENTS = Operand("coefficients", FLOAT32)  # (.., 3): occupation, post_blank, post_label
ROW_DLOSS = Operand("row_dloss", FLOAT32)  # (..)
DURATION_LOGITS = Operand("duration_logits", ROWS)  # (.., D)
DURATION_LOG_PROBS = Operand("duration_log_probs", FLOAT32)  # (.., D), 0 without a cell
DURATION_POSTERIORS = Operand("duration_posteriors", FLOAT32)  # (.., D)
AM, LM = Operand("am", FLOAT32), Operand("lm", FLOAT32)  # (B, max_T, V), (B, max_U1, V)
STATS_BATCH = (STATS, LOGIT_LENGTHS, TARGET_LENGTHS)
# Labels (B, max_T) and (B, max_U1), -2 in padding: a cell has that of its step.
SIMPLE = (AM, LM, Operand("am_labels", INT32), Operand("lm_labels", INT32))
BATCH = (LOGITS, TARGETS, LOGIT_LENGTHS, TARGET_LENGTHS, PARAMS)

_CPU = ("CPU",)  # elsewhere a composition of MindSpore operators, or the host, stands in its place

_ALL = (
    # The whole loss: one launch, or forward and backward apart.
    Signature("RnntFused", BATCH, (LOSS, GRAD)),
    Signature("RnntScaleGrad", (GRAD, LOGIT_LENGTHS, TARGET_LENGTHS, DLOSS), (DLOGITS,)),
    Signature("RnntForward", BATCH, (LOSS, STATE)),
    Signature("RnntBackward", (*BATCH, STATE, DLOSS), (DLOGITS,)),
    # What operators on rows need of a batch, of whose logits only the shape counts.
    Signature(
        "RnntRowLabels",
        BATCH,
        (ROW_LABELS, ROW_SAMPLES, LEAST_LOSS),
        devices=_CPU,
    ),
    # The three phases, for logits that exist only a chunk of rows at a time and for other losses.
    # Cells without an arc (stats of 0) may stand anywhere; the lattice writes 0 in padding.
    Signature("RnntRowStats", (LOGITS, ROW_LABELS, PARAMS), (STATS,)),
    Signature("RnntLattice", (*STATS_BATCH, PARAMS), (LOSS, COEFFICIENTS)),
    Signature(
        "RnntRowGrad",
        (LOGITS, ROW_LABELS, STATS, COEFFICIENTS, ROW_DLOSS, PARAMS),
        (DLOGITS,),
    ),
    # Of token-and-duration transducers: the duration head, (.., D) with a dtype of its own; the
    # lattice with durations.
    Signature(
        "RnntDurationLogProbs", (DURATION_LOGITS, ROW_LABELS), (DURATION_LOG_PROBS,), devices=_CPU
    ),
    Signature(
        "RnntDurationGrad",
        (
            DURATION_LOGITS,
            ROW_LABELS,
            COEFFICIENTS,
            DURATION_POSTERIORS,
            ROW_DLOSS,
            PARAMS,
        ),
        (DLOGITS,),
        devices=_CPU,
    ),
    Signature(
        "RnntTdtLattice",
        (
            STATS,
            DURATION_LOG_PROBS,
            LOGIT_LENGTHS,
            TARGET_LENGTHS,
            Operand("durations", INT32),  # (D,), each at least 0; D is at most 32 on Ascend
            PARAMS,
        ),
        (LOSS, COEFFICIENTS, DURATION_POSTERIORS),
    ),
    # Of the joiner that only adds: of the rows am[t] + lm[u], which are never formed. A row_sum may
    # be below 1. Of the params only the blank counts.
    Signature("RnntSimpleStats", (*SIMPLE, PARAMS), (STATS,), devices=_CPU),
    Signature(
        "RnntSimpleGrad",
        (*SIMPLE, STATS, COEFFICIENTS, DLOSS, PARAMS),
        (Operand("dam", FLOAT32), Operand("dlm", FLOAT32)),  # as am, as lm
        devices=_CPU,
    ),
    # Of a teacher from a student, in place of the lattice.
    Signature(
        "RnntDistillation",
        (
            STATS,
            Operand("teacher_stats", FLOAT32),  # (.., 4)
            ROW_LABELS,
            ROW_SAMPLES,
            LEAST_LOSS,
            PARAMS,
        ),
        (LOSS, COEFFICIENTS),
        devices=_CPU,
    ),
    # The posteriors of the arcs, one array for blanks and one for labels.
    Signature(
        "RnntArcPosteriors",
        (*STATS_BATCH, LEAST_LOSS, PARAMS),
        (LOSS, Operand("post_blank", FLOAT32), Operand("post_label", FLOAT32)),  # (..) both
        devices=_CPU,
    ),
    # The most probable path.
    Signature(
        "RnntAlign",
        (*STATS_BATCH, TARGETS, LEAST_LOSS, PARAMS),  # of the targets only the shape counts
        (
            Operand("frames", INT32),  # (B, max_U), -1 behind the labels
            Operand("log_probs", FLOAT32),  # (B, max_U), 0 behind the labels
            Operand("path_log_prob", FLOAT32),  # (B,)
        ),
        devices=_CPU,
    ),
)

SIGNATURES = {signature.name: signature for signature in _ALL}


def signatures_of(device: str) -> dict[str, Signature]:
    """The operators that a device has."""
    return {name: s for name, s in SIGNATURES.items() if device in s.devices}
