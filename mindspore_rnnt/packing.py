# SPDX-License-Identifier: Apache-2.0
"""Between padded logits (B, max_T, max_U1, V) and packed ones (sum T * U1, V).

The lengths' values fix the shapes, so both run in PyNative mode only. Training code rather makes
its logits packed, see `packed_indices` and `PackedJoiner`.
"""

from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

from .checks import check_lengths, check_steps
from .kernels.recorder import forgetting_on_error
from .rows import checked_lengths, padded_rows


def pack_logits(padded: Tensor, logit_lengths: Tensor, target_lengths: Tensor) -> Tensor:
    """Drop the padding. Differentiable; the padding's gradient is 0.

    Args:
        padded (Tensor): of shape :math:`(B, max_T, max_U + 1, V)`.
        logit_lengths (Tensor): frames of each sample, int32 or int64 of shape :math:`(B,)`.
        target_lengths (Tensor): labels of each sample, int32 or int64 of shape :math:`(B,)`.

    Returns:
        Tensor of shape :math:`(\\sum_b T_b (U_b + 1), V)`.

    Raises:
        TypeError: If `padded` is no Tensor, or a length no int.
        ValueError: If `padded` is not of rank 4, or the lengths do not fit it.
        RuntimeError: If a graph is compiled.

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
    _refuse_graph("pack_logits", ops.clamp)
    return _packed(padded, logit_lengths, target_lengths)


def _packed(padded: Tensor, logit_lengths: Tensor, target_lengths: Tensor) -> Tensor:
    with forgetting_on_error():
        _check_tensor("pack_logits", "padded", padded)
        if padded.ndim != 4:
            raise ValueError(
                f"For 'pack_logits', the 'padded' must be of rank 4, but got shape {padded.shape}."
            )
        B, max_t, max_u1, V = padded.shape
        T, U = checked_lengths("pack_logits", _host(logit_lengths), _host(target_lengths))
        if len(T) != B:
            raise ValueError(
                f"For 'pack_logits', the 'logit_lengths' must be of {B} samples, as many as "
                f"'padded' holds, but got {len(T)} samples."
            )
        check_lengths("pack_logits", "logit_lengths", T, 1, max_t, "padded")
        check_steps("pack_logits", "padded", padded.shape, max_u1, U)
        check_lengths("pack_logits", "target_lengths", U, 0, max_u1 - 1, "padded")
        rows = padded_rows("pack_logits", T, U, max_t, max_u1)
    source = _gatherable(padded.reshape((B * max_t * max_u1, V)))
    return ops.gather(source, _index(rows), 0).astype(padded.dtype)


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
        TypeError: If `packed` is no Tensor, or a length no int.
        ValueError: If `packed` is not of rank 2 or has another number of rows than the lengths say.
        RuntimeError: If a graph is compiled.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> from mindspore import Tensor, ops
        >>> from mindspore_rnnt import unpack_logits
        >>> padded = unpack_logits(ops.ones((16, 5)), Tensor([4, 2]), Tensor([2, 1]))
        >>> print(padded.shape, padded[1, 1, 1, 0], padded[1, 1, 2, 0])
        (2, 4, 3, 5) 1.0 0.0
    """
    _refuse_graph("unpack_logits", ops.clamp)
    return _unpacked(packed, logit_lengths, target_lengths, fill)


def _unpacked(packed: Tensor, logit_lengths: Tensor, target_lengths: Tensor, fill: float) -> Tensor:
    with forgetting_on_error():
        _check_tensor("unpack_logits", "packed", packed)
        T, U = checked_lengths("unpack_logits", _host(logit_lengths), _host(target_lengths))
        B, max_t, max_u1 = len(T), int(T.max()), int(U.max()) + 1
        rows = padded_rows("unpack_logits", T, U, max_t, max_u1)
        if packed.ndim != 2 or len(packed) != len(rows):
            raise ValueError(
                f"For 'unpack_logits', the 'packed' must have shape ({len(rows)}, V), as the "
                f"lengths add up to {len(rows)} rows, but got {packed.shape}."
            )
    # Each cell of the padded batch takes its packed row, or the last row: one row of `fill`.
    source = np.full(B * max_t * max_u1, len(rows))
    source[rows] = np.arange(len(rows))
    V = packed.shape[1]
    rows = _gatherable(packed)
    with_fill = ops.concat((rows, ops.full((1, V), fill, dtype=rows.dtype)))
    padded = ops.gather(with_fill, _index(source), 0).reshape((B, max_t, max_u1, V))
    return padded.astype(packed.dtype)


def _check_tensor(function: str, name: str, value: object) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"For '{function}', the '{name}' must be a Tensor, but got {type(value).__name__}."
        )


def _host(lengths: Any) -> np.ndarray:
    return lengths.asnumpy() if isinstance(lengths, Tensor) else np.asarray(lengths)


def _gatherable(x: Tensor) -> Tensor:
    """MindSpore has hardly an operator for bfloat16 on CPU. The way through float32 is exact."""
    if x.dtype == ms.bfloat16 and ms.get_context("device_target") == "CPU":
        return x.astype(ms.float32)
    return x


def _index(rows: np.ndarray) -> Tensor:
    return Tensor(rows, ms.int64 if len(rows) and rows.max() >= 2**31 else ms.int32)


@ms.constexpr(check=False)
def _refuse_graph(caller: str, any_function: Any) -> None:
    """A graph has no constant for a function, so there it comes as None."""
    if any_function is None:
        raise RuntimeError(
            f"For '{caller}', a graph cannot be compiled: the values of the lengths fix its "
            "shapes. Call it in PyNative mode."
        )
