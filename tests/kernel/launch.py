# SPDX-License-Identifier: Apache-2.0
"""The CPU kernel at the level in use: the loss in each form, and the phases one by one. Every
output starts as NaN."""

import numpy as np

from mindspore_rnnt.conformance.batches import numbers, stored
from mindspore_rnnt.conformance.cpu_kernel import CpuKernel, poisoned
from mindspore_rnnt.native import pack_params, run_op

__all__ = ["numbers", "poisoned", "stored"]


def fused(layout, dloss=None, **options):
    """Logits as they are stored, see `stored`. RnntFused, and RnntScaleGrad if there is a dloss."""
    return _run("fused", layout, dloss, options)


def two_op(layout, dloss=None, **options):
    """RnntForward and RnntBackward."""
    return _run("two_op", layout, dloss, options)


def in_chunks(layout, dloss=None, **options):
    """The three phases, a few packed rows at a time."""
    return _run("chunked", layout, dloss, options)


def _run(form, layout, dloss, options):
    losses, gradient = getattr(CpuKernel(), form)(list(layout), dloss, pack_params(**options))
    return losses, numbers(gradient)


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
