# SPDX-License-Identifier: Apache-2.0
"""Labels and samples of rows, cell by cell; batches whose lengths and labels may be anything."""

import numpy as np
from oracles import random_batch

LOWEST = np.finfo(np.float32).min


def expected_row_labels(shape, targets, logit_lengths, target_lengths, blank=-1, fused=True):
    """What RnntRowLabels gives for logits of this shape; samples only where a cell is."""
    B, max_u = targets.shape
    packed, V = len(shape) == 2, shape[-1]
    labels, samples = (np.full(shape[:-1], fill, np.int32) for fill in (-2, 0))
    least_loss = np.full(B, np.nan, np.float32)
    lengths = list(zip(logit_lengths.tolist(), target_lengths.tolist()))
    counts = [T * (U + 1) if T > 0 and U >= 0 else 0 for T, U in lengths]
    if not -V <= blank < V or (packed and sum(counts) != shape[0]):
        return labels, samples, least_loss
    for b, (T, U) in enumerate(lengths):
        used = targets[b, : max(U, 0)]
        fits = T >= 1 and 0 <= U <= max_u and (used >= 0).all() and (used < V).all()
        if not fits or not (packed or (shape[1] >= T and shape[2] > U)):
            continue
        least_loss[b] = 0 if fused and blank % V not in used else LOWEST
        if packed:
            rows = labels[sum(counts[:b]) :][: counts[b]].reshape(T, U + 1)
            samples[sum(counts[:b]) :][: counts[b]] = b
        else:
            rows = labels[b, :T, : U + 1]
            samples[b, :T, : U + 1] = b
        rows[:] = [*used, -1]
    return labels, samples, least_loss


def legal_batch(padded, lengths=((5, 3), (4, 0), (1, 2), (6, 4)), V=7):
    """A label of the last sample is the blank. -> the shape of logits, and ints."""
    batch = random_batch(lengths, V=V)
    logits, targets, *sizes = batch.layout(padded, 2, 1)
    targets[len(lengths) - 1, 1] = V - 1
    return logits.shape, (targets, *sizes)


# What is put at (sample 1, position 0) of targets, logit_lengths, target_lengths.
BAD_VALUES = [
    *((0, value) for value in (-1, -2, 7, 2**31 - 1, -(2**31))),
    *((1, value) for value in (0, -3, 5, 9, 2**31 - 1, -(2**31))),
    *((2, value) for value in (-1, 2, 4, 5, 6, 2**31 - 1, -(2**31))),
]


def with_bad_value(ints, place, value):
    ints = [x.copy() for x in ints]
    ints[2][1] = max(ints[2][1], 1)  # a label to read
    ints[place][(1, 0)[: ints[place].ndim]] = value
    return ints
