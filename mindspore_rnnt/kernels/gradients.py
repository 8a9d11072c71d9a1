# SPDX-License-Identifier: Apache-2.0
"""How the operators are differentiated. Only logits have a gradient; MindSpore drops the zeros.

A graph wants every bprop with exactly its operator's inputs, then `out` and `dout`.
"""

from mindspore import ops


def fused_bprop(scale_grad):
    """RnntFused made the gradient of the unit-upstream loss already: scale it per sample."""

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


def _zeros(targets, logit_lengths, target_lengths, params):
    return (
        ops.zeros_like(targets),
        ops.zeros_like(logit_lengths),
        ops.zeros_like(target_lengths),
        ops.zeros_like(params),
    )


def refuse_double_backward(caller):
    """Without a bprop that raises, MindSpore would return zeros."""
    raise RuntimeError(f"{caller} does not support double backward")


def refuse_gradient(caller):
    """In the bprop of what has no gradient; without it, MindSpore would differentiate the parts."""
    raise RuntimeError(
        f"{caller} is not differentiable. In a function that is differentiated, wrap what it "
        "returns in ops.stop_gradient."
    )


def scale_grad_bprop(grad, logit_lengths, target_lengths, dloss, out, dout):
    refuse_double_backward("rnnt_loss")


def backward_bprop(logits, targets, logit_lengths, target_lengths, params, state, dloss, out, dout):
    refuse_double_backward("rnnt_loss")


def row_stats_bprop(logits, row_labels, params, out, dout):
    refuse_double_backward("JoinerRNNTLoss")


def lattice_bprop(stats, logit_lengths, target_lengths, params, out, dout):
    refuse_double_backward("JoinerRNNTLoss")


def row_grad_bprop(logits, row_labels, stats, coefficients, row_dloss, params, out, dout):
    refuse_double_backward("JoinerRNNTLoss")


def tdt_lattice_bprop(
    stats, duration_log_probs, logit_lengths, target_lengths, durations, params, out, dout
):
    refuse_double_backward("tdt_loss")


def align_bprop(stats, logit_lengths, target_lengths, targets, params, out, dout):
    refuse_gradient("rnnt_align")
