# SPDX-License-Identifier: Apache-2.0
"""The label of each row of logits, made on the device from the batch's lengths, so that a graph
needs neither their values nor the number of rows.

A row holds the label whose arc leaves its cell; NO_LABEL_ARC in a sample's last column; NO_CELL
where logits have no cell: no operator reads such a row.
"""

import math

import mindspore as ms
from mindspore import Tensor, ops

from .native import Param

NO_LABEL_ARC, NO_CELL = -1, -2
_LOWEST = -3.4028234663852886e38  # of float32


def row_labels(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    params: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """The operator RnntRowLabels as a composition, for a device that does not have it."""
    packed = len(logits.shape) == 2
    V, max_u = logits.shape[-1], targets.shape[1]
    max_u1 = max_u + 1 if packed else logits.shape[2]
    blank = params[Param.BLANK].astype(ms.int32)
    blank = ops.where(blank < 0, blank + V, blank)
    labels, fits = step_labels(targets, target_lengths, V, max_u1)
    no_blank = (labels != blank).all(axis=1)
    one_class = ops.logical_and(labels == blank, params[Param.REST] != 0)
    labels = ops.where(one_class, NO_LABEL_ARC, labels)
    fits = _all_of(fits, logit_lengths >= 1, target_lengths >= 0, target_lengths <= max_u)
    fits = _all_of(fits, blank >= 0, blank < V)
    if packed:
        N = logits.shape[0]
        fits = _all_of(fits, _row_counts(N, logit_lengths, target_lengths).sum() == N)
        samples, steps, _ = packed_rows(N, logit_lengths, target_lengths)
        index = samples * max_u1 + ops.minimum(steps, max_u1 - 1)
        labels, is_cell = ops.gather(labels.reshape((-1,)), index, 0), ops.gather(fits, samples, 0)
    else:
        fits = _all_of(fits, logit_lengths <= logits.shape[1], target_lengths < max_u1)
        is_cell = padded_cells(logits.shape[1], max_u1, logit_lengths, target_lengths)
        is_cell = ops.logical_and(is_cell, fits.reshape((-1, 1, 1)))
        labels = ops.expand_dims(labels, 1)
        samples = ops.range(0, logits.shape[0], 1).reshape((-1, 1, 1)).astype(ms.int32)
    at_most_one = ops.logical_and(no_blank, params[Param.FUSED_LOG_SOFTMAX] != 0)
    least_loss = ops.where(fits, ops.where(at_most_one, 0.0, _LOWEST), math.nan)
    return ops.where(is_cell, labels, NO_CELL), ops.where(is_cell, samples, 0), least_loss


def _all_of(*conditions: Tensor) -> Tensor:
    result = conditions[0]
    for condition in conditions[1:]:
        result = ops.logical_and(result, condition)
    return result


def step_labels(
    targets: Tensor, target_lengths: Tensor, V: int, max_u1: int
) -> tuple[Tensor, Tensor]:
    """The label that may follow each step, (B, max_u1), NO_LABEL_ARC where none may; and whether
    all labels of a sample are classes, (B,). A label that is none has no arc."""
    B, max_u = targets.shape
    none = ops.full((B, 1), NO_LABEL_ARC, dtype=ms.int32)
    steps = ops.range(0, max_u1, 1)
    columns = ops.cat((targets, none), 1) if max_u > 0 else none  # never an empty tensor
    labels = ops.gather(columns, ops.minimum(steps, max_u), 1)
    used = steps < ops.expand_dims(target_lengths, 1)
    is_class = ops.logical_and(labels >= 0, labels < V)
    fits = ops.logical_or(is_class, ops.logical_not(used)).all(axis=1)
    return ops.where(ops.logical_and(used, is_class), labels, NO_LABEL_ARC), fits


def padded_cells(max_t: int, max_u1: int, logit_lengths: Tensor, target_lengths: Tensor) -> Tensor:
    """Whether (b, t, u) is a cell, (B, max_T, max_U1)."""
    frames = ops.range(0, max_t, 1) < ops.expand_dims(logit_lengths, 1)
    steps = ops.range(0, max_u1, 1) <= ops.expand_dims(target_lengths, 1)
    return ops.logical_and(ops.expand_dims(frames, 2), ops.expand_dims(steps, 1))


def packed_rows(
    N: int, logit_lengths: Tensor, target_lengths: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Sample b, step u and frame t of each of N packed rows, (N,) int32 each. Lengths that do not
    add up to N give some cell, in a sample of the batch."""
    rows_of_sample = _row_counts(N, logit_lengths, target_lengths)
    ends = ops.cumsum(rows_of_sample, 0)
    zero, one = ops.scalar_to_tensor(0, ms.int64), ops.scalar_to_tensor(1, ms.int64)
    rows = ops.range(zero, ops.scalar_to_tensor(N, ms.int64), one)
    samples = ops.searchsorted(ends, rows, right=True)
    samples = ops.minimum(samples, logit_lengths.shape[0] - 1).astype(ms.int32)
    rows = rows - ops.gather(ends - rows_of_sample, samples, 0)
    U1 = ops.gather(ops.maximum(target_lengths, 0).astype(ms.int64) + 1, samples, 0)
    frames = rows // U1
    return samples, (rows - frames * U1).astype(ms.int32), frames.astype(ms.int32)


def _row_counts(N: int, logit_lengths: Tensor, target_lengths: Tensor) -> Tensor:
    """Packed rows of each sample, (B,) int64; N + 1 for more than there are, so that no sum of them
    overflows."""
    U1 = ops.maximum(target_lengths.astype(ms.int64) + 1, 0)
    return ops.minimum(ops.maximum(logit_lengths, 0) * U1, N + 1)


def at_least(losses: Tensor, least_loss: Tensor) -> Tensor:
    """With the bound that RnntRowLabels gives; NaN in either is NaN. (What a maximum with NaN is,
    devices differ in: on the CPU it is the second operand. A comparison with NaN is false.)"""
    return ops.where(losses < least_loss, least_loss, losses) + 0.0 * least_loss
