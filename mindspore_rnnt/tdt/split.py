# SPDX-License-Identifier: Apache-2.0
"""split_tdt_logits: from one output that holds both heads to two."""

from numbers import Integral

import mindspore as ms
from mindspore import Tensor

from ..checks import refuse

_CALLER = "split_tdt_logits"


def split_tdt_logits(logits: Tensor, num_durations: int) -> tuple[Tensor, Tensor]:
    """
    The two heads of a joint network that writes them side by side, as NeMo's does: the classes
    first, the durations last.

    Both parts are copies. A joiner with two outputs, as
    :class:`mindspore_rnnt.PackedJoiner` with `num_durations`, needs none.

    Args:
        logits (Tensor): of shape :math:`(.., V + D)`.
        num_durations (int): Number :math:`D` of durations.

    Returns:
        Two Tensors, of shape :math:`(.., V)` and :math:`(.., D)`.

    Raises:
        TypeError: If an argument is of the wrong type.
        ValueError: If `logits` does not have more than `num_durations` entries on its last axis.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> from mindspore import ops
        >>> from mindspore_rnnt import split_tdt_logits
        >>> tokens, durations = split_tdt_logits(ops.zeros((2, 6, 4, 11 + 5)), num_durations=5)
        >>> print(tokens.shape, durations.shape)
        (2, 6, 4, 11) (2, 6, 4, 5)
    """
    _check(logits.shape, num_durations)
    return logits[..., :-num_durations], logits[..., -num_durations:]


@ms.constexpr(check=False)
def _check(shape: tuple, num_durations: int) -> None:
    if not isinstance(num_durations, Integral) or isinstance(num_durations, bool):
        refuse(_CALLER, TypeError, "num_durations", "an int", type(num_durations).__name__)
    if num_durations < 1:
        refuse(_CALLER, ValueError, "num_durations", "at least 1", num_durations)
    if shape[-1] is not None and not shape[-1] > num_durations:
        expected = f"of more than {num_durations} entries on the last axis, the durations'"
        refuse(_CALLER, ValueError, "logits", expected, f"shape {shape}")
