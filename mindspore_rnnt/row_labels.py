# SPDX-License-Identifier: Apache-2.0
"""The label of each row of logits, made on the device from the batch's lengths, so that a graph
needs neither their values nor the number of rows.

A row holds the label whose arc leaves its cell; NO_LABEL_ARC in a sample's last column; NO_CELL
where padded logits have no cell: no operator reads such a row.
"""

import mindspore as ms
from mindspore import Tensor, ops

NO_LABEL_ARC, NO_CELL = -1, -2


def row_labels(
    logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Labels in the layout of the logits' cells, (N,) or (B, max_T, max_U1); then what
    `step_labels` returns, which they are made of."""
    packed = len(logits.shape) == 2
    max_u1 = targets.shape[1] + 1 if packed else logits.shape[2]
    labels, fits = step_labels(targets, target_lengths, logits.shape[-1], max_u1)
    if packed:
        samples, steps, _ = packed_rows(logits.shape[0], logit_lengths, target_lengths)
        index = samples * max_u1 + ops.minimum(steps, max_u1 - 1)
        return ops.gather(labels.reshape((-1,)), index, 0), labels, fits
    is_cell = padded_cells(logits.shape[1], max_u1, logit_lengths, target_lengths)
    return ops.where(is_cell, ops.expand_dims(labels, 1), NO_CELL), labels, fits


def step_labels(
    targets: Tensor, target_lengths: Tensor, V: int, max_u1: int
) -> tuple[Tensor, Tensor]:
    """The label that may follow each step, (B, max_u1), NO_LABEL_ARC where none may; and whether
    all labels of a sample are classes, (B,). A label that is none has no arc."""
    B, max_u = targets.shape
    none = ops.full((B, 1), NO_LABEL_ARC, dtype=ms.int32)
    steps = ops.range(0, max_u1, 1)
    labels = ops.gather(ops.cat((targets, none), 1), ops.minimum(steps, max_u), 1)
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
    U1 = ops.maximum(target_lengths, 0).astype(ms.int64) + 1
    rows_of_sample = ops.maximum(logit_lengths, 0) * U1
    ends = ops.cumsum(rows_of_sample, 0)
    zero, one = ops.scalar_to_tensor(0, ms.int64), ops.scalar_to_tensor(1, ms.int64)
    rows = ops.range(zero, ops.scalar_to_tensor(N, ms.int64), one)
    samples = ops.searchsorted(ends, rows, right=True)
    samples = ops.minimum(samples, logit_lengths.shape[0] - 1).astype(ms.int32)
    rows = rows - ops.gather(ends - rows_of_sample, samples, 0)
    U1 = ops.gather(U1, samples, 0)
    frames = rows // U1
    return samples, (rows - frames * U1).astype(ms.int32), frames.astype(ms.int32)
