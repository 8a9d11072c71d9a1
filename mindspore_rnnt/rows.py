# SPDX-License-Identifier: Apache-2.0
"""Where the rows of a batch are. NumPy only, so that data workers need no MindSpore.

Sample b with T frames and U labels owns T * U1 rows, U1 = U + 1:
row(t, u) = row_base[b] + t * U1 + u.
"""

from numbers import Integral
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike


def packed_indices(
    logit_lengths: ArrayLike,
    target_lengths: ArrayLike,
    max_t: int | None = None,
    max_u: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """From every packed row to the encoder frame and to the predictor step that make it.

    Args:
        logit_lengths (array of int): frames of each sample, :math:`(B,)`.
        target_lengths (array of int): labels of each sample, :math:`(B,)`.
        max_t (int, optional): frames in the padded encoder output. Default: ``None`` , the longest
            sample's.
        max_u (int, optional): labels in the padded targets; the predictor output has one step more.
            Default: ``None`` , the longest sample's.

    Returns:
        frame_rows and step_rows, both int32 of shape :math:`(\\sum_b T_b (U_b + 1),)`: row
        :math:`(b, t, u)` holds :math:`b\\,max_t + t` and :math:`b (max_u + 1) + u`.

    Raises:
        TypeError: If a length or a size is no int.
        ValueError: If a length does not fit into `max_t` or `max_u`, or is too small.

    Examples:
        >>> from mindspore_rnnt import packed_indices
        >>> frame_rows, step_rows = packed_indices([2, 1], [1, 2])
        >>> print(frame_rows, step_rows)
        [0 0 1 1 2 2 2] [0 1 0 1 3 4 5]
    """
    b, t, u, max_t, max_u = _cells("packed_indices", logit_lengths, target_lengths, max_t, max_u)
    for name, size, more in (("max_t", max_t, 0), ("max_u", max_u, 1)):
        most = 2**31 // np.size(logit_lengths) - more
        if size > most:
            raise ValueError(
                f"For 'packed_indices', the '{name}' must be at most {most}, as the indices are "
                f"int32, but got {size}."
            )
    return (b * max_t + t).astype(np.int32), (b * (max_u + 1) + u).astype(np.int32)


def padded_rows(
    caller: str, logit_lengths: ArrayLike, target_lengths: ArrayLike, max_t: int, max_u1: int
) -> np.ndarray:
    """From every packed row to its row of the padded logits seen as (B * max_t * max_u1, V).

    Errors are those of the function named `caller`.
    """
    b, t, u, max_t, max_u = _cells(caller, logit_lengths, target_lengths, max_t, max_u1 - 1)
    return (b * max_t + t) * (max_u + 1) + u


def row_count(logit_lengths: np.ndarray, target_lengths: np.ndarray) -> int:
    """The number of rows of a packed batch."""
    # Python's ints do not overflow: 2**62 frames must not become a number of rows that fits.
    return sum(int(T) * (int(U) + 1) for T, U in zip(logit_lengths, target_lengths))


def checked_lengths(
    caller: str, logit_lengths: ArrayLike, target_lengths: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Both as int64, (B,)."""
    T = _lengths(caller, "logit_lengths", logit_lengths, 1)
    U = _lengths(caller, "target_lengths", target_lengths, 0)
    if len(T) != len(U):
        raise ValueError(
            f"For '{caller}', the 'logit_lengths' and 'target_lengths' must have the same "
            f"length, but got {len(T)} and {len(U)}."
        )
    return T, U


def _cells(
    caller: str,
    logit_lengths: ArrayLike,
    target_lengths: ArrayLike,
    max_t: int | None,
    max_u: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, int]:
    """b, t, u of every packed row, and the padded sizes."""
    T, U = checked_lengths(caller, logit_lengths, target_lengths)
    max_t = _size(caller, "max_t", max_t, "logit_lengths", T)
    max_u = _size(caller, "max_u", max_u, "target_lengths", U)
    rows = T * (U + 1)
    b = np.repeat(np.arange(len(T)), rows)
    row = np.arange(rows.sum()) - np.repeat(np.cumsum(rows) - rows, rows)
    t, u = np.divmod(row, (U + 1)[b])
    return b, t, u, max_t, max_u


def _lengths(caller: str, name: str, lengths: ArrayLike, least: int) -> np.ndarray:
    lengths = np.asarray(lengths)
    if lengths.ndim != 1 or not len(lengths):
        raise ValueError(
            f"For '{caller}', the '{name}' must have shape (B,) with B >= 1, "
            f"but got {lengths.shape}."
        )
    if lengths.dtype.kind not in "iu":
        raise TypeError(f"For '{caller}', the '{name}' must hold ints, but got {lengths.dtype}.")
    # One branch on values: a graph by bytecode, which follows Python into here, fails at a second.
    bad = (lengths < least) | (lengths > 2**31 - 1)
    if bad.any():
        _refuse_length(caller, name, lengths, int(bad.argmax()), least)
    return lengths.astype(np.int64)


def _refuse_length(caller: str, name: str, lengths: np.ndarray, b: int, least: int) -> NoReturn:
    wanted = f"at least {least}" if lengths[b] < least else "at most 2**31 - 1"
    raise ValueError(
        f"For '{caller}', the '{name}' must be {wanted}, but got {lengths[b]} in sample {b}."
    )


def _size(caller: str, name: str, size: int | None, lengths_name: str, lengths: np.ndarray) -> int:
    longest = int(lengths.max())
    if size is None:
        return longest
    if not isinstance(size, Integral) or isinstance(size, bool):
        raise TypeError(
            f"For '{caller}', the '{name}' must be an int, but got {type(size).__name__}."
        )
    if longest > size:
        raise ValueError(
            f"For '{caller}', the '{lengths_name}' must be at most {name} = {size}, "
            f"but got {longest} in sample {int(lengths.argmax())}."
        )
    return int(size)
