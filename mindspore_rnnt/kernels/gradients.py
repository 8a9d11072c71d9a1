# SPDX-License-Identifier: Apache-2.0
"""How the operators are differentiated. Only logits have a gradient; MindSpore drops the zeros."""

from mindspore import ops


def fused_bprop(scale_grad):
    """RnntFused has the unit-upstream gradient at hand: scale it per sample."""

    def bprop(logits, targets, logit_lengths, target_lengths, params, out, dout):
        dlogits = scale_grad(out[1], logit_lengths, target_lengths, dout[0])
        return dlogits, *_zeros(targets, logit_lengths, target_lengths, params)

    return bprop


def forward_bprop(backward):
    """RnntForward kept no more than its state: read the logits again."""

    def bprop(logits, targets, logit_lengths, target_lengths, params, out, dout):
        dlogits = backward(logits, targets, logit_lengths, target_lengths, params, out[1], dout[0])
        return dlogits, *_zeros(targets, logit_lengths, target_lengths, params)

    return bprop


def no_gradient(*_):
    """Without it MindSpore would return zeros."""
    raise RuntimeError("rnnt_loss does not support double backward")


def _zeros(targets, logit_lengths, target_lengths, params):
    return (
        ops.zeros_like(targets),
        ops.zeros_like(logit_lengths),
        ops.zeros_like(target_lengths),
        ops.zeros_like(params),
    )
