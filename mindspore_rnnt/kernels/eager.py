# SPDX-License-Identifier: Apache-2.0
"""RnntFused in PyNative mode. Called as a primitive, its unused second output would get a gradient
of zeros as large as the logits, allocated and filled on every step; a function with one output does
not. MindSpore has such functions in a private module only; without it the primitive serves."""

from . import get_ops

try:
    from mindspore.common._grad_function import _Function
except ImportError:
    _Function = None


def fused_loss(logits, targets, logit_lengths, target_lengths, params):
    """The loss of each sample, (B,); its gradient is made along with it."""
    if _Function is None:
        return get_ops().fused(logits, targets, logit_lengths, target_lengths, params)[0]
    return _FusedLoss.apply(logits, targets, logit_lengths, target_lengths, params)


if _Function is not None:

    class _FusedLoss(_Function):
        @staticmethod
        def forward(ctx, logits, targets, logit_lengths, target_lengths, params):
            loss, grad = get_ops().fused(logits, targets, logit_lengths, target_lengths, params)
            ctx.save_for_backward(grad, logit_lengths, target_lengths)
            return loss

        @staticmethod
        def backward(ctx, dloss):
            dlogits = get_ops().scale_grad(*ctx.saved_tensors, dloss)
            return dlogits, None, None, None, None
