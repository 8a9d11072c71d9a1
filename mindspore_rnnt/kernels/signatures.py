# SPDX-License-Identifier: Apache-2.0
"""The operators: names, inputs, outputs and dtypes, the same on every device. Nothing but tensors.

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
ROW_LABELS = Operand("row_labels", INT32)  # (n,), -1: the row has no label arc
STATS = Operand("stats", FLOAT32)  # (n, 4), opaque: what row_stats found
COEFFICIENTS = Operand("coefficients", FLOAT32)  # (n, 3): occupation, post_blank, post_label
BATCH = (LOGITS, TARGETS, LOGIT_LENGTHS, TARGET_LENGTHS, PARAMS)

_ALL = (
    # The whole loss: one launch, or forward and backward apart.
    Signature("RnntFused", BATCH, (LOSS, GRAD)),
    Signature("RnntScaleGrad", (GRAD, LOGIT_LENGTHS, TARGET_LENGTHS, DLOSS), (DLOGITS,)),
    Signature("RnntForward", BATCH, (LOSS, STATE)),
    Signature("RnntBackward", (*BATCH, STATE, DLOSS), (DLOGITS,)),
    # The three phases, for logits that exist only a chunk of rows at a time.
    Signature("RnntRowStats", (LOGITS, ROW_LABELS, PARAMS), (STATS,)),
    Signature("RnntLattice", (STATS, LOGIT_LENGTHS, TARGET_LENGTHS, PARAMS), (LOSS, COEFFICIENTS)),
    Signature(
        "RnntRowGrad",
        (LOGITS, ROW_LABELS, STATS, COEFFICIENTS, Operand("row_dloss", FLOAT32), PARAMS),
        (DLOGITS,),
    ),
)

SIGNATURES = {signature.name: signature for signature in _ALL}
