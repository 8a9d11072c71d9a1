# SPDX-License-Identifier: Apache-2.0
"""RNNTLoss: rnnt_loss as a Cell."""

from mindspore import Tensor, nn

from .checks import check_options, check_switches, describe_options
from .functional import checked_loss
from .kernels import prepare_ops
from .native.params import float32_clamp


class RNNTLoss(nn.LossBase):
    r"""
    The RNN-T (transducer) loss, minus the log-probability of the targets summed over all
    alignments.

    The source is `Sequence Transduction with Recurrent Neural Networks
    <https://arxiv.org/abs/1211.3711>`_ .

    Args:
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
        fused_grad (bool, optional): while the Cell is training, make the gradient along with the
            loss. Otherwise, and when the Cell is not training, the backward pass reads the logits
            again: as exact, one buffer of the logits' size less. Default: ``True`` .
        validate (bool, optional): in PyNative mode, look at the values of lengths and labels first,
            which waits for them. Without it, and in compiled graphs, a sample with a length or
            label outside its tensor gets loss NaN and gradient 0. Default: ``True`` .

    Inputs:
        - **logits** (Tensor) - float32, float16 or bfloat16. Padded: of shape
          :math:`(B, max_T, max_U + 1, V)`; the padding is never read. Packed: of shape
          :math:`(\sum_b T_b (U_b + 1), V)`, sample after sample, row :math:`t (U_b + 1) + u` of a
          sample for frame :math:`t` after :math:`u` labels.
        - **targets** (Tensor) - labels, int32 or int64 of shape :math:`(B, max_U)`; entries
          beyond a sample's length are never read.
        - **logit_lengths** (Tensor) - frames :math:`T_b \ge 1`, int32 or int64 of shape
          :math:`(B,)`.
        - **target_lengths** (Tensor) - labels :math:`U_b \ge 0`, int32 or int64 of shape
          :math:`(B,)`.

    Outputs:
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
        >>> from mindspore_rnnt import RNNTLoss
        >>> loss_fn = RNNTLoss(blank=0, reduction="none").set_train()
        >>> packed = Tensor(np.zeros((3 * 3 + 2 * 2, 5)), ms.float32)
        >>> targets = Tensor([[1, 2], [3, -1]], ms.int32)
        >>> loss = loss_fn(packed, targets, Tensor([3, 2]), Tensor([2, 1]))
        >>> print(np.round(loss.asnumpy(), 4))
        [6.2554 4.1352]
    """

    def __init__(
        self,
        blank: int = -1,
        clamp: float = -1.0,
        reduction: str = "mean",
        fused_log_softmax: bool = True,
        *,
        fastemit_lambda: float = 0.0,
        zero_infinity: bool = False,
        fused_grad: bool = True,
        validate: bool = True,
    ) -> None:
        super().__init__(reduction)
        self.reduction = reduction
        options = (fused_log_softmax, fastemit_lambda, zero_infinity)
        check_options("RNNTLoss", blank, clamp, *options)
        self.options = (blank, float32_clamp(clamp), *options)
        check_switches("RNNTLoss", fused_grad=fused_grad, validate=validate)
        prepare_ops()
        self.fused_grad = fused_grad
        self.validate = validate

    def construct(
        self, logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor
    ) -> Tensor:
        return checked_loss(
            "RNNTLoss",
            logits,
            targets,
            logit_lengths,
            target_lengths,
            self.options,
            self.reduction,
            self.fused_grad and self.training,
            self.validate,
        )

    def extend_repr(self) -> str:
        options = describe_options(*self.options)
        switches = f"fused_grad={self.fused_grad}, validate={self.validate}"
        return f"{options}, reduction={self.reduction!r}, {switches}"
