# SPDX-License-Identifier: Apache-2.0
"""tdt_loss: the loss of a transducer that predicts a token and how many frames it takes."""

from collections.abc import Sequence
from typing import Any

import mindspore as ms
from mindspore import Tensor, ops

from ..checks import refuse
from ..launch import checked_batch, is_compiled, launch, reduce_losses
from .checks import check_duration_logits, check_tdt_options
from .phases import tdt_phases


def tdt_loss(
    logits: Tensor,
    duration_logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    durations: Sequence[int],
    blank: int = -1,
    clamp: float = -1.0,
    reduction: str = "mean",
    *,
    sigma: float = 0.0,
    fastemit_lambda: float = 0.0,
    zero_infinity: bool = False,
    validate: bool = True,
) -> Tensor:
    r"""
    The loss of a token-and-duration transducer (TDT), minus the log-probability of the targets
    summed over all alignments.

    The joint network has two heads with a softmax each: over the classes, and over the durations,
    the numbers of frames that the decoder moves on. From cell :math:`(t, u)` a blank arc leads to
    :math:`(t + d, u)` for each duration :math:`d > 0`, a label arc to :math:`(t + d, u + 1)` for
    each :math:`d \ge 0` that stays before the last frame's end; a path ends with a blank arc that
    lands exactly on :math:`T`. The source is `Efficient Sequence Transduction by Jointly Predicting
    Tokens and Durations <https://arxiv.org/abs/2304.06795>`_ .

    Args:
        logits (Tensor): of the token head, blank included: float32, float16 or bfloat16, padded or
            packed as in :func:`mindspore_rnnt.rnnt_loss` .
        duration_logits (Tensor): of the duration head, float32, float16 or bfloat16 of the cells'
            shape and :math:`D`: padded :math:`(B, max_T, max_U + 1, D)` or packed
            :math:`(\sum_b T_b (U_b + 1), D)`, as `logits` is. Padding is never read.
        targets, logit_lengths, target_lengths: as in :func:`mindspore_rnnt.rnnt_loss` .
        durations (Sequence[int]): the :math:`D` durations in frames, distinct, in any order, at
            least 0 and one above 0; on Ascend at most 32, none above 256.
        blank (int, optional): class of the blank, in :math:`[-V, V - 1]`; a negative one counts
            from the end. Default: ``-1`` .
        clamp (float, optional): if positive, the gradients of each sample's own loss, of both
            heads, are clipped to :math:`[-clamp, clamp]`, before any factor from outside.
            Default: ``-1.0`` .
        reduction (str, optional): ``'none'`` , ``'mean'`` (over the batch, not divided by any
            length) or ``'sum'`` . Default: ``'mean'`` .
        sigma (float, optional): is subtracted from the log-probabilities of tokens, so that paths
            of few long arcs gain. Default: ``0.0`` .
        fastemit_lambda (float, optional): FastEmit: the posteriors of labels count
            :math:`1 + \lambda` times in the gradients; the loss stays as it is. Default: ``0.0`` .
        zero_infinity (bool, optional): a sample without any possible path has loss 0 instead of
            infinity; its gradient is 0 either way. Default: ``False`` .
        validate (bool, optional): in PyNative mode, look at the values of lengths and labels first,
            which waits for them. Without it, and in compiled graphs, a sample with a length or
            label outside its tensor gets loss NaN and gradient 0. Default: ``True`` .

    Returns:
        Tensor, float32: the loss, a scalar, or of shape :math:`(B,)` if `reduction` is ``'none'`` .

    Raises:
        TypeError: If an argument is of the wrong type or dtype.
        ValueError: If a rank, size, option, duration, length or label does not fit.
        RuntimeError: If the gradient is differentiated again.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> from mindspore import Tensor, ops
        >>> from mindspore_rnnt import tdt_loss
        >>> logits, duration_logits = ops.zeros((1, 3, 3, 5)), ops.zeros((1, 3, 3, 2))
        >>> loss = tdt_loss(logits, duration_logits, Tensor([[1, 2]]), Tensor([3]), Tensor([2]),
        ...                 durations=(0, 1))
        >>> print(f"{float(loss):.4f}")
        6.4009
    """
    return checked_tdt_loss(
        "tdt_loss",
        (logits, duration_logits, targets, logit_lengths, target_lengths),
        durations,
        (blank, clamp, True, fastemit_lambda, zero_infinity),
        reduction,
        sigma,
        validate,
    )


def checked_tdt_loss(
    caller: str,
    inputs: tuple[Tensor, ...],
    durations: Sequence[int],
    options: tuple,
    reduction: str,
    sigma: float,
    validate: bool,
) -> Tensor:
    """What tdt_loss and TDTLoss share. `options` are what `check_options` takes; errors are those
    of the function or class named `caller`."""
    logits, head, targets, logit_lengths, target_lengths = inputs
    compiled = is_compiled(ops.clamp)
    steps = _checked_options(caller, durations, reduction, sigma)
    if not compiled and not isinstance(head, Tensor):
        refuse(caller, TypeError, "duration_logits", "a Tensor", type(head).__name__)
    batch = checked_batch(
        caller, logits, targets, logit_lengths, target_lengths, options, validate, compiled
    )
    _check_head(caller, head.dtype, head.shape, logits.shape, steps)

    def reduced() -> Tensor:
        losses = tdt_phases(caller, steps, options, sigma)(logits, head, *batch[1:])[0]
        return reduce_losses(losses, reduction)

    return launch(reduced)


@ms.constexpr(check=False)
def _checked_options(caller: str, durations: Any, reduction: str, sigma: float) -> tuple[int, ...]:
    return check_tdt_options(caller, durations, reduction, sigma)


@ms.constexpr(check=False)
def _check_head(caller: str, dtype: Any, shape: tuple, logits_shape: tuple, steps: tuple) -> None:
    check_duration_logits(caller, dtype, shape, logits_shape, steps)
