# SPDX-License-Identifier: Apache-2.0
"""RnntFused with one output, for PyNative mode. Called as a primitive, its unused second output
would get a gradient of zeros as large as the logits, allocated and filled on every step. MindSpore
has functions with a backward pass of their own in a private module only; without it the primitive
serves.
"""

from typing import Any, NoReturn

from mindspore import Tensor

from . import get_ops
from .gradients import RNNT_LOSS, refuse_double_backward

try:
    from mindspore.common._grad_function import _Function
except ImportError:

    class FusedLoss:
        @staticmethod
        def apply(
            logits: Tensor,
            targets: Tensor,
            logit_lengths: Tensor,
            target_lengths: Tensor,
            params: Tensor,
        ) -> Tensor:
            return get_ops().fused(logits, targets, logit_lengths, target_lengths, params)[0]

else:

    class FusedLoss(_Function):  # type: ignore[no-redef]
        """The loss of each sample, (B,); its gradient is made along with it."""

        @staticmethod
        def forward(
            ctx: Any,
            logits: Tensor,
            targets: Tensor,
            logit_lengths: Tensor,
            target_lengths: Tensor,
            params: Tensor,
        ) -> Tensor:
            loss, grad = get_ops().fused(logits, targets, logit_lengths, target_lengths, params)
            ctx.save_for_backward(grad, logit_lengths, target_lengths, logits)
            return loss

        @staticmethod
        def backward(ctx: Any, dloss: Tensor) -> tuple:
            grad, logit_lengths, target_lengths, logits = ctx.saved_tensors
            dlogits = _ScaledGrad.apply(grad, logit_lengths, target_lengths, dloss, logits)
            return dlogits, None, None, None, None

    class _ScaledGrad(_Function):
        """`logits` are no input of the operator. With them a second differentiation reaches the
        error; without them it would end at `grad` and return zeros."""

        @staticmethod
        def forward(
            ctx: Any,
            grad: Tensor,
            logit_lengths: Tensor,
            target_lengths: Tensor,
            dloss: Tensor,
            logits: Tensor,
        ) -> Tensor:
            return get_ops().scale_grad(grad, logit_lengths, target_lengths, dloss)

        @staticmethod
        def backward(ctx: Any, ddlogits: Tensor) -> NoReturn:
            refuse_double_backward(RNNT_LOSS)
