# SPDX-License-Identifier: Apache-2.0
"""RnntFused with one output, for PyNative mode. Called as a primitive, its unused second output
would get a gradient of zeros as large as the logits, allocated and filled on every step. MindSpore
has functions with a backward pass of their own in a private module only; without it the primitive
serves.
"""

from . import get_ops
from .gradients import refuse_double_backward

try:
    from mindspore.common._grad_function import _Function
except ImportError:

    class FusedLoss:
        @staticmethod
        def apply(logits, targets, logit_lengths, target_lengths, params):
            return get_ops().fused(logits, targets, logit_lengths, target_lengths, params)[0]

else:

    class FusedLoss(_Function):
        """The loss of each sample, (B,); its gradient is made along with it."""

        @staticmethod
        def forward(ctx, logits, targets, logit_lengths, target_lengths, params):
            loss, grad = get_ops().fused(logits, targets, logit_lengths, target_lengths, params)
            ctx.save_for_backward(grad, logit_lengths, target_lengths, logits)
            return loss

        @staticmethod
        def backward(ctx, dloss):
            grad, logit_lengths, target_lengths, logits = ctx.saved_tensors
            dlogits = _ScaledGrad.apply(grad, logit_lengths, target_lengths, dloss, logits)
            return dlogits, None, None, None, None

    class _ScaledGrad(_Function):
        """`logits` are no input of the operator. With them a second differentiation reaches the
        error; without them it would end at `grad` and return zeros."""

        @staticmethod
        def forward(ctx, grad, logit_lengths, target_lengths, dloss, logits):
            return get_ops().scale_grad(grad, logit_lengths, target_lengths, dloss)

        @staticmethod
        def backward(ctx, ddlogits):
            refuse_double_backward("rnnt_loss")
