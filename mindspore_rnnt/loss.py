# SPDX-License-Identifier: Apache-2.0
"""RNNTLoss: rnnt_loss as a Cell."""

from mindspore import Tensor, nn

from .checks import check_options
from .functional import reduce_losses, sample_losses


class RNNTLoss(nn.LossBase):
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
    ):
        super().__init__(reduction)
        self.reduction = reduction
        self.options = (blank, clamp, fused_log_softmax, fastemit_lambda, zero_infinity)
        check_options(*self.options)
        self.fused_grad = fused_grad
        self.validate = validate

    def construct(
        self, logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor
    ) -> Tensor:
        losses = sample_losses(
            logits,
            targets,
            logit_lengths,
            target_lengths,
            self.options,
            self.fused_grad and self.training,
            self.validate,
        )
        return reduce_losses(losses, self.reduction)
