# SPDX-License-Identifier: Apache-2.0
"""Between padded logits (B, max_T, max_U1, V) and packed ones (sum T * U1, V).

The lengths' values fix the shapes, so both run in PyNative mode only. Training code rather makes
its logits packed, see `packed_indices` and `PackedJoiner`.
"""

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

from .layout import padded_rows


def pack_logits(padded: Tensor, logit_lengths: Tensor, target_lengths: Tensor) -> Tensor:
    """Drop the padding. Differentiable; the padding's gradient is 0.

    Args:
        padded (Tensor): of shape :math:`(B, max_T, max_U + 1, V)`.
        logit_lengths (Tensor): frames of each sample, int32 or int64 of shape :math:`(B,)`.
        target_lengths (Tensor): labels of each sample, int32 or int64 of shape :math:`(B,)`.

    Returns:
        Tensor of shape :math:`(\\sum_b T_b (U_b + 1), V)`.

    Raises:
        ValueError: If `padded` is not of rank 4, or a length does not fit into it.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> import mindspore as ms
        >>> from mindspore import Tensor, ops
        >>> from mindspore_rnnt import pack_logits
        >>> padded = ops.zeros((2, 4, 3, 5))
        >>> print(pack_logits(padded, Tensor([4, 2]), Tensor([2, 1])).shape)
        (16, 5)
    """
    if padded.ndim != 4:
        raise ValueError(
            f"For 'pack_logits', the 'padded' must be of rank 4, but got shape {padded.shape}."
        )
    B, max_t, max_u1, V = padded.shape
    rows = padded_rows(_host(logit_lengths), _host(target_lengths), max_t, max_u1)
    return ops.gather(padded.reshape((B * max_t * max_u1, V)), _index(rows), 0)


def unpack_logits(
    packed: Tensor, logit_lengths: Tensor, target_lengths: Tensor, fill: float = 0
) -> Tensor:
    """The inverse of :func:`pack_logits`, with `fill` in the padding. Differentiable.

    Args:
        packed (Tensor): of shape :math:`(\\sum_b T_b (U_b + 1), V)`.
        logit_lengths (Tensor): frames of each sample, int32 or int64 of shape :math:`(B,)`.
        target_lengths (Tensor): labels of each sample, int32 or int64 of shape :math:`(B,)`.
        fill (float, optional): the value of the padding. Default: ``0`` .

    Returns:
        Tensor of shape :math:`(B, \\max_b T_b, \\max_b U_b + 1, V)`.

    Raises:
        ValueError: If `packed` is not of rank 2 or has another number of rows than the lengths say.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> from mindspore import Tensor, ops
        >>> from mindspore_rnnt import unpack_logits
        >>> padded = unpack_logits(ops.ones((16, 5)), Tensor([4, 2]), Tensor([2, 1]))
        >>> print(padded.shape, padded[1, 1, 1, 0], padded[1, 1, 2, 0])
        (2, 4, 3, 5) 1.0 0.0
    """
    logit_lengths, target_lengths = _host(logit_lengths), _host(target_lengths)
    B, max_t, max_u1 = len(logit_lengths), int(logit_lengths.max()), int(target_lengths.max()) + 1
    rows = padded_rows(logit_lengths, target_lengths, max_t, max_u1)
    if packed.ndim != 2 or len(packed) != len(rows):
        raise ValueError(
            f"For 'unpack_logits', the 'packed' must have shape ({len(rows)}, V), as the lengths "
            f"add up to {len(rows)} rows, but got {packed.shape}."
        )
    # Each cell of the padded batch takes its packed row, or the last row: one row of `fill`.
    source = np.full(B * max_t * max_u1, len(rows))
    source[rows] = np.arange(len(rows))
    V = packed.shape[1]
    with_fill = ops.concat((packed, ops.full((1, V), fill, dtype=packed.dtype)))
    return ops.gather(with_fill, _index(source), 0).reshape((B, max_t, max_u1, V))


def _host(lengths):
    return lengths.asnumpy() if isinstance(lengths, Tensor) else np.asarray(lengths)


def _index(rows):
    return Tensor(rows, ms.int64 if len(rows) and rows.max() >= 2**31 else ms.int32)
