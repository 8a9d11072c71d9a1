# SPDX-License-Identifier: Apache-2.0
"""rnnt_loss: check, launch one operator, reduce."""

import mindspore as ms
from mindspore import Tensor, ops

from .checks import check_reduction, check_switches
from .kernels import get_ops
from .kernels.pynative import FusedLoss
from .launch import checked_batch, is_compiled, launch, params_tensor, reduce_losses, with_a_column


def rnnt_loss(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = -1,
    clamp: float = -1.0,
    reduction: str = "mean",
    fused_log_softmax: bool = True,
    *,
    fastemit_lambda: float = 0.0,
    zero_infinity: bool = False,
    fused_grad: bool = True,
    validate: bool = True,
) -> Tensor:
    r"""
    The RNN-T (transducer) loss, minus the log-probability of the targets summed over all
    alignments.

    The positional arguments are those of `torchaudio.functional.rnnt_loss`: a call can be replaced
    word for word. The source is `Sequence Transduction with Recurrent Neural Networks
    <https://arxiv.org/abs/1211.3711>`_ .

    Args:
        logits (Tensor): output of the joint network, float32, float16 or bfloat16. Padded: of shape
            :math:`(B, max_T, max_U + 1, V)`; the padding is never read. Packed: of shape
            :math:`(\sum_b T_b (U_b + 1), V)`, sample after sample, row :math:`t (U_b + 1) + u` of a
            sample for frame :math:`t` after :math:`u` labels.
        targets (Tensor): labels, int32 or int64 of shape :math:`(B, max_U)`; entries beyond
            a sample's length are never read.
        logit_lengths (Tensor): frames :math:`T_b \ge 1`, int32 or int64 of shape :math:`(B,)`.
        target_lengths (Tensor): labels :math:`U_b \ge 0`, int32 or int64 of shape :math:`(B,)`.
        blank (int, optional): class of the blank, in :math:`[-V, V - 1]`; a negative one counts
            from the end. Default: ``-1`` .
        clamp (float, optional): if positive, the gradient of each sample's own loss is clipped to
            :math:`[-clamp, clamp]`, before any factor from outside. Default: ``-1.0`` .
        reduction (str, optional): ``'none'`` , ``'mean'`` (over the batch, not divided by any
            length) or ``'sum'`` . Default: ``'mean'`` .
        fused_log_softmax (bool, optional): ``False`` if `logits` already holds log-probabilities.
            Default: ``True`` .
        fastemit_lambda (float, optional): FastEmit: the posteriors of labels count
            :math:`1 + \lambda` times in the gradient; the loss stays as it is. Default: ``0.0`` .
        zero_infinity (bool, optional): a sample without any possible path has loss 0 instead of
            infinity; its gradient is 0 either way. Default: ``False`` .
        fused_grad (bool, optional): make the gradient along with the loss and keep it for the
            backward pass. ``False`` reads the logits again in the backward pass instead: as exact,
            one buffer of the logits' size less, and no gradient work when none is asked for.
            Default: ``True`` .
        validate (bool, optional): in PyNative mode, look at the values of lengths and labels first,
            which waits for them. Without it, and in compiled graphs, a sample with a length or
            label outside its tensor gets loss NaN and gradient 0. Default: ``True`` .

    Returns:
        Tensor, float32: the loss, a scalar, or of shape :math:`(B,)` if `reduction` is ``'none'`` .

    Raises:
        TypeError: If an argument is of the wrong type or dtype.
        ValueError: If a rank, size, option, length or label does not fit; the message says which,
            in which sample.
        RuntimeError: If the gradient is differentiated again.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> import mindspore as ms
        >>> import numpy as np
        >>> from mindspore import Tensor
        >>> from mindspore_rnnt import rnnt_loss
        >>> logits = Tensor(np.zeros((1, 3, 3, 5)), ms.float32)
        >>> targets = Tensor([[1, 2]], ms.int32)
        >>> loss = rnnt_loss(logits, targets, Tensor([3]), Tensor([2]))
        >>> print(f"{float(loss):.4f}")
        6.2554
        >>> gradient = ms.grad(rnnt_loss)(logits, targets, Tensor([3]), Tensor([2]))
        >>> print(gradient.shape)
        (1, 3, 3, 5)
    """
    _check_call(reduction, fused_grad, validate)
    options = (blank, clamp, fused_log_softmax, fastemit_lambda, zero_infinity)
    return checked_loss(
        "rnnt_loss",
        logits,
        targets,
        logit_lengths,
        target_lengths,
        options,
        reduction,
        fused_grad,
        validate,
    )


def checked_loss(
    caller: str,
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    options: tuple,
    reduction: str,
    fused_grad: bool,
    validate: bool,
) -> Tensor:
    """What rnnt_loss and RNNTLoss share. `options` are what `check_options` takes; errors are those
    of the function or class named `caller`."""
    compiled = is_compiled(ops.clamp)
    inputs = (logits, targets, logit_lengths, target_lengths)
    logits, targets, logit_lengths, target_lengths = checked_batch(
        caller, *inputs, options, validate, compiled
    )
    params = params_tensor(options, not compiled)
    batch = (logits, with_a_column(targets), logit_lengths, target_lengths, params)

    def reduced() -> Tensor:
        if not fused_grad:
            losses = get_ops().forward(*batch)[0]
        elif compiled:
            losses = get_ops().fused(*batch)[0]
        else:
            losses = FusedLoss.apply(*batch)
        return reduce_losses(losses, reduction)

    return launch(reduced)


@ms.constexpr(check=False)
def _check_call(reduction: str, fused_grad: bool, validate: bool) -> None:
    check_reduction("rnnt_loss", reduction)
    check_switches("rnnt_loss", fused_grad=fused_grad, validate=validate)
