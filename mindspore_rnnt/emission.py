# SPDX-License-Identifier: Apache-2.0
"""expected_frames: when the labels are emitted, over all paths."""

from collections.abc import Sequence
from typing import Any

import mindspore as ms
from mindspore import Tensor, ops

from .checks import check_dims
from .kernels.recorder import in_given_precision
from .launch import as_int32, is_compiled
from .posteriors import RnntPosteriors
from .row_labels import packed_rows


def expected_frames(
    posteriors: RnntPosteriors, logit_lengths: Tensor, target_lengths: Tensor
) -> tuple[Tensor, Tensor]:
    r"""
    Mean and standard deviation of the frame in which each label is emitted, over all paths: the
    emission delay of a streaming model, and how sure it is.

    .. math::
        mean_u = \sum_t t\, label(t, u), \quad
        deviation_u^2 = \sum_t (t - mean_u)^2\, label(t, u)

    Args:
        posteriors (RnntPosteriors): what :func:`mindspore_rnnt.rnnt_posteriors` returned, packed or
            padded; or a tuple like it.
        logit_lengths (Tensor): the same as there, int32 or int64 of shape :math:`(B,)`.
        target_lengths (Tensor): likewise.

    Returns:
        Two Tensors, float32 of shape :math:`(B, max_U)`: mean and deviation, 0 behind a sample's
        length, NaN in a sample without any possible path. :math:`max_U` is that of padded
        posteriors, and the largest of `target_lengths` for packed ones.

    Raises:
        TypeError: If an argument is of the wrong type or dtype.
        ValueError: If a shape does not fit.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> import numpy as np
        >>> from mindspore import Tensor, ops
        >>> from mindspore_rnnt import expected_frames, rnnt_posteriors
        >>> lengths = Tensor([3]), Tensor([1])
        >>> posteriors = rnnt_posteriors(ops.zeros((1, 3, 2, 5)), Tensor([[1]]), *lengths)
        >>> mean, deviation = expected_frames(posteriors, *lengths)
        >>> print(mean, np.round(deviation.asnumpy(), 4))
        [[1.]] [[0.8165]]
    """
    label = posteriors[2]
    _check(
        (label.dtype, logit_lengths.dtype, target_lengths.dtype),
        (label.shape, logit_lengths.shape, target_lengths.shape),
    )
    logit_lengths, target_lengths = as_int32(logit_lengths), as_int32(target_lengths)
    if is_compiled(ops.clamp):
        return _moments(label, logit_lengths, target_lengths)
    return in_given_precision(_moments, label, logit_lengths, target_lengths)


def _moments(label: Tensor, logit_lengths: Tensor, target_lengths: Tensor) -> tuple[Tensor, Tensor]:
    packed = len(label.shape) == 1
    of_layout = _packed_moments if packed else _padded_moments
    mean, deviation = of_layout(label, logit_lengths, target_lengths)
    is_label = ops.range(0, mean.shape[1], 1) < ops.expand_dims(target_lengths, 1)
    return ops.where(is_label, mean, 0.0), ops.where(is_label, deviation, 0.0)


def _padded_moments(
    label: Tensor, logit_lengths: Tensor, target_lengths: Tensor
) -> tuple[Tensor, Tensor]:
    weights = label[:, :, :-1]
    t = ops.expand_dims(ops.range(0, label.shape[1], 1), 1).astype(ms.float32)
    total = weights.sum(axis=1)
    mean = (weights * t).sum(axis=1) / total
    spread = t - ops.expand_dims(mean, 1)
    return mean, ops.sqrt((weights * spread * spread).sum(axis=1) / total)


def _packed_moments(
    label: Tensor, logit_lengths: Tensor, target_lengths: Tensor
) -> tuple[Tensor, Tensor]:
    N, B = label.shape[0], logit_lengths.shape[0]
    max_u1 = ops.minimum(ops.maximum(target_lengths.max(), 0) + 1, N)
    samples, steps, frames = packed_rows(N, logit_lengths, target_lengths)
    column = samples * max_u1 + ops.minimum(steps, max_u1 - 1)
    t = frames.astype(ms.float32)
    total = ops.unsorted_segment_sum(label, column, B * max_u1)
    mean = ops.unsorted_segment_sum(label * t, column, B * max_u1) / total
    spread = t - ops.gather(mean, column, 0)
    # Where a column has no posterior its mean is NaN, and so is the deviation.
    square = ops.unsorted_segment_sum(label * spread * spread, column, B * max_u1) / total
    mean, square = mean.reshape((B, -1)), square.reshape((B, -1))
    return mean[:, :-1], ops.sqrt(square[:, :-1])


@ms.constexpr(check=False)
def _check(dtypes: Sequence[Any], shapes: Sequence[Any]) -> None:
    packed = shapes[0] is not None and len(shapes[0]) == 1
    cells = ("N",) if packed else ("B", "max_T", "max_U + 1")
    dims = {"posteriors": cells, "logit_lengths": ("B",), "target_lengths": ("B",)}
    check_dims("expected_frames", dims, dtypes, shapes)
