# SPDX-License-Identifier: Apache-2.0
"""Loss and gradient from the kernel in each of its forms. Every output starts as NaN."""

import numpy as np
from oracles import from_bfloat16_bits, to_bfloat16_bits

from mindspore_rnnt.native import pack_params, run_op

CHUNK = 7  # rows


def stored(values, dtype):
    """float32 values as an array of `dtype`; bfloat16 as its bits."""
    return to_bfloat16_bits(values) if dtype == "bfloat16" else values.astype(dtype)


def numbers(array):
    """Back to float32."""
    return from_bfloat16_bits(array) if array.dtype == np.uint16 else array.astype(np.float32)


def poisoned(shape, dtype=np.float32):
    return np.full(shape, 0x7FC0 if dtype == np.uint16 else np.nan, dtype)


def fused(layout, dloss=None, **options):
    """RnntFused, and RnntScaleGrad if there is a dloss."""
    logits, _, logit_lengths, target_lengths = layout
    loss, grad = poisoned(len(logit_lengths)), poisoned(logits.shape, logits.dtype)
    run_op("RnntFused", [*layout, pack_params(**options)], [loss, grad])
    if dloss is None:
        return loss, numbers(grad)
    dlogits = poisoned(logits.shape, logits.dtype)
    run_op("RnntScaleGrad", [grad, logit_lengths, target_lengths, dloss], [dlogits])
    return loss, numbers(dlogits)


def two_op(layout, dloss=None, **options):
    """RnntForward and RnntBackward."""
    logits, params = layout[0], pack_params(**options)
    B = len(layout[2])
    dloss = np.ones(B, np.float32) if dloss is None else dloss
    loss, state = poisoned(B), poisoned((logits[..., 0].size, 5))
    run_op("RnntForward", [*layout, params], [loss, state])
    dlogits = poisoned(logits.shape, logits.dtype)
    run_op("RnntBackward", [*layout, params, state, dloss], [dlogits])
    return loss, numbers(dlogits)


def in_chunks(layout, dloss=None, **options):
    """RnntRowStats and RnntRowGrad a few packed rows at a time, RnntLattice between them."""
    logits, targets, logit_lengths, target_lengths = layout
    params = pack_params(**options)
    samples = list(zip(targets, logit_lengths, target_lengths))
    labels = np.concatenate([np.tile([*y[:U], -1], T) for y, T, U in samples]).astype(np.int32)
    dloss = np.ones(len(samples), np.float32) if dloss is None else dloss
    row_dloss = np.repeat(dloss, [T * (U + 1) for _, T, U in samples])
    loss, dlogits = poisoned(len(samples)), poisoned(logits.shape, logits.dtype)
    stats, coefficients = poisoned((len(logits), 4)), poisoned((len(logits), 3))
    chunks = [slice(i, i + CHUNK) for i in range(0, len(logits), CHUNK)]
    for c in chunks:
        run_op("RnntRowStats", [logits[c], labels[c], params], [stats[c]])
    run_op("RnntLattice", [stats, logit_lengths, target_lengths, params], [loss, coefficients])
    for c in chunks:
        run_op(
            "RnntRowGrad",
            [logits[c], labels[c], stats[c], coefficients[c], row_dloss[c], params],
            [dlogits[c]],
        )
    return loss, numbers(dlogits)


def row_stats(logits, row_labels, **options):
    """RnntRowStats."""
    stats = poisoned((*logits.shape[:-1], 4))
    run_op("RnntRowStats", [logits, row_labels, pack_params(**options)], [stats])
    return stats


def lattice(stats, logit_lengths, target_lengths, **options):
    """RnntLattice: the losses and the coefficients."""
    loss, coefficients = poisoned(len(logit_lengths)), poisoned((*stats.shape[:-1], 3))
    params = pack_params(**options)
    run_op("RnntLattice", [stats, logit_lengths, target_lengths, params], [loss, coefficients])
    return loss, coefficients


def row_grad(logits, row_labels, stats, coefficients, dloss=None, **options):
    """RnntRowGrad."""
    dloss = np.ones(row_labels.shape, np.float32) if dloss is None else dloss
    dlogits = poisoned(logits.shape, logits.dtype)
    inputs = [logits, row_labels, stats, coefficients, dloss, pack_params(**options)]
    run_op("RnntRowGrad", inputs, [dlogits])
    return numbers(dlogits)


FORMS = {"fused": fused, "two_op": two_op, "in_chunks": in_chunks}


def same_bits(a, b):
    return np.array_equal(a.view(np.uint32), b.view(np.uint32))
