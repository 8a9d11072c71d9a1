# SPDX-License-Identifier: Apache-2.0
"""prune_ranges: the part of the lattice where the real joiner runs."""

import math
from collections.abc import Sequence
from typing import Any

import mindspore as ms
from mindspore import Tensor, ops

from ..checks import check_dims
from ..kernels.recorder import in_given_precision
from ..launch import as_int32, is_compiled
from ..posteriors import RnntPosteriors
from .checks import check_prune_range

_CALLER = "prune_ranges"
_DIMS = {
    "posteriors": ("B", "max_T", "max_U + 1"),
    "logit_lengths": ("B",),
    "target_lengths": ("B",),
}


def prune_ranges(
    posteriors: RnntPosteriors, logit_lengths: Tensor, target_lengths: Tensor, prune_range: int
) -> Tensor:
    r"""
    For each frame the window of :math:`S` steps, `prune_range`, that holds the most probability of
    the lattice, by k2's rule.

    With :math:`s \in [0, \max(U + 1 - S, 0)]` it starts at

    .. math::
        \arg\max_s \sum_{i < S} blank[t, s + i] - label[t, s - 1]

    (the first of ties; the second term is the label arc that enters from below), in the last frame
    at :math:`\max(U + 1 - S, 0)`. Then the starts are made valid: the first is 0, they never
    decrease, and by less than :math:`S` from frame to frame, so that a path can stay inside. With
    :math:`U > (S - 1) T` no windows reach :math:`U`, and the sample is impossible.

    Args:
        posteriors (RnntPosteriors): of :func:`mindspore_rnnt.simple_posteriors`, or padded ones of
            :func:`mindspore_rnnt.rnnt_posteriors` .
        logit_lengths (Tensor): the same as there, int32 or int64 of shape :math:`(B,)`.
        target_lengths (Tensor): likewise.
        prune_range (int): steps :math:`S` of a window, at least 2.

    Returns:
        Tensor, int32 of shape :math:`(B, max_T)`: the first step of each frame's window, at most
        :math:`\max(U + 1 - S, 0)`; 0 behind a sample's frames. It has no gradient.

    Raises:
        TypeError: If an argument is of the wrong type or dtype.
        ValueError: If a rank or size does not fit, or if `prune_range` is below 2.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> from mindspore import Tensor, ops
        >>> from mindspore_rnnt import prune_ranges, simple_posteriors
        >>> lengths = Tensor([4]), Tensor([3])
        >>> posteriors = simple_posteriors(
        ...     ops.zeros((1, 4, 5)), ops.zeros((1, 4, 5)), Tensor([[1, 2, 3]]), *lengths)
        >>> print(prune_ranges(posteriors, *lengths, prune_range=2))
        [[0 1 2 2]]
    """
    inputs = (posteriors[1], logit_lengths, target_lengths)
    _check(tuple([x.dtype for x in inputs]), tuple([x.shape for x in inputs]), prune_range)
    lengths = as_int32(logit_lengths), as_int32(target_lengths)
    batch = (posteriors[1], posteriors[2], *lengths, prune_range)
    if is_compiled(ops.clamp):
        return ops.stop_gradient(window_starts(*batch))
    return ops.stop_gradient(in_given_precision(window_starts, *batch))


def window_starts(
    of_blank: Tensor,
    of_label: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    prune_range: int,
) -> Tensor:
    """The same without checks, for posteriors (B, max_T, max_U1) of blanks and labels."""
    _, max_t, max_u1 = of_blank.shape
    S = _at_most(prune_range, max_u1)
    steps = ops.range(0, max_u1, 1)
    score = ops.gather(of_blank, steps, 2)
    for i in range(1, S):
        score = score + ops.gather(of_blank, ops.minimum(steps + i, max_u1 - 1), 2)
    entering = ops.gather(of_label, ops.maximum(steps - 1, 0), 2)
    score = score - ops.where(steps > 0, entering, 0.0)
    last = ops.expand_dims(ops.maximum(target_lengths + 1 - S, 0), 1)
    score = ops.where(steps <= ops.expand_dims(last, 2), score, -math.inf)
    starts = ops.minimum(score.argmax(axis=2).astype(ms.int32), last)
    frames = ops.range(0, max_t, 1)
    ends = frames >= ops.expand_dims(logit_lengths, 1) - 1
    starts = _least_from_here(ops.where(ends, last, starts))
    # Never more than S - 1 below the next one, nor above what can be reached from 0.
    behind = _least_from_here((S - 1) * frames - starts)
    starts = (S - 1) * frames - ops.maximum(behind, 0)
    is_frame = frames < ops.expand_dims(logit_lengths, 1)
    return ops.where(is_frame, starts, 0).astype(ms.int32)


def _least_from_here(x: Tensor) -> Tensor:
    """min over t' >= t, (B, max_T) int32."""
    least, _ = ops.cummin(ops.flip(x.astype(ms.int32), (1,)), 1)
    return ops.flip(least, (1,))


@ms.constexpr(check=False)
def _at_most(prune_range: int, max_u1: int | None) -> int:
    """A window wider than the lattice is as wide as the lattice; unless that size is unknown."""
    return prune_range if max_u1 is None else max(2, min(prune_range, max_u1))


@ms.constexpr(check=False)
def _check(dtypes: Sequence[Any], shapes: Sequence[Any], prune_range: int) -> None:
    check_prune_range(_CALLER, prune_range)
    check_dims(_CALLER, _DIMS, dtypes, shapes)
