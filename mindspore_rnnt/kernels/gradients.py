# SPDX-License-Identifier: Apache-2.0
"""How the operators are differentiated. Only logits have a gradient; MindSpore drops the zeros.

A graph wants every bprop with exactly its operator's inputs, then `out` and `dout`.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from mindspore import Tensor, ops
from mindspore.ops import Primitive

# One operator serves both, so that equal forwards in a graph are merged, and cannot tell which.
RNNT_LOSS = "rnnt_loss (or RNNTLoss)"


def fused_bprop(scale_grad: Primitive) -> Callable:
    """RnntFused made the gradient of the unit-upstream loss already: scale it per sample."""

    def bprop(
        logits: Tensor,
        targets: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        params: Tensor,
        out: Any,
        dout: Any,
    ) -> tuple[Tensor, ...]:
        dlogits = scale_grad(out[1], logit_lengths, target_lengths, dout[0])
        return dlogits, *_zeros(targets, logit_lengths, target_lengths, params)

    return bprop


def forward_bprop(backward: Primitive) -> Callable:
    """RnntForward kept no more than its state: read the logits again."""

    def bprop(
        logits: Tensor,
        targets: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        params: Tensor,
        out: Any,
        dout: Any,
    ) -> tuple[Tensor, ...]:
        dlogits = backward(logits, targets, logit_lengths, target_lengths, params, out[1], dout[0])
        return dlogits, *_zeros(targets, logit_lengths, target_lengths, params)

    return bprop


def _zeros(
    targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor, params: Tensor
) -> tuple[Tensor, ...]:
    return (
        ops.zeros_like(targets),
        ops.zeros_like(logit_lengths),
        ops.zeros_like(target_lengths),
        ops.zeros_like(params),
    )


def refuse_double_backward(caller: str) -> NoReturn:
    """Without a bprop that raises, MindSpore would return zeros."""
    raise RuntimeError(
        f"{caller} does not support double backward; nor forward mode (jvp, jacfwd), which "
        "MindSpore makes of two backward passes"
    )


def refuse_gradient(caller: str) -> NoReturn:
    """In the bprop of what has no gradient; without it, MindSpore would differentiate the parts.

    Of an operator of one phase it is the operator's name: a loss that calls it has a bprop of its
    own, which names that loss."""
    raise RuntimeError(
        f"{caller} is not differentiable. In a function that is differentiated, wrap what it "
        "returns in ops.stop_gradient."
    )


def scale_grad_bprop(
    grad: Tensor, logit_lengths: Tensor, target_lengths: Tensor, dloss: Tensor, out: Any, dout: Any
) -> NoReturn:
    refuse_double_backward(RNNT_LOSS)


def backward_bprop(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    params: Tensor,
    state: Tensor,
    dloss: Tensor,
    out: Any,
    dout: Any,
) -> NoReturn:
    refuse_double_backward(RNNT_LOSS)


def row_labels_bprop(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    params: Tensor,
    out: Any,
    dout: Any,
) -> NoReturn:
    refuse_gradient("RnntRowLabels")


def row_stats_bprop(
    logits: Tensor, row_labels: Tensor, params: Tensor, out: Any, dout: Any
) -> NoReturn:
    refuse_gradient("RnntRowStats")


def lattice_bprop(
    stats: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    params: Tensor,
    out: Any,
    dout: Any,
) -> NoReturn:
    refuse_gradient("RnntLattice")


def row_grad_bprop(
    logits: Tensor,
    row_labels: Tensor,
    stats: Tensor,
    coefficients: Tensor,
    row_dloss: Tensor,
    params: Tensor,
    out: Any,
    dout: Any,
) -> NoReturn:
    refuse_gradient("RnntRowGrad")


def tdt_lattice_bprop(
    stats: Tensor,
    duration_log_probs: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    durations: Tensor,
    params: Tensor,
    out: Any,
    dout: Any,
) -> NoReturn:
    refuse_gradient("RnntTdtLattice")


def duration_log_probs_bprop(
    duration_logits: Tensor, row_labels: Tensor, out: Any, dout: Any
) -> NoReturn:
    refuse_gradient("RnntDurationLogProbs")


def duration_grad_bprop(
    duration_logits: Tensor,
    row_labels: Tensor,
    coefficients: Tensor,
    duration_posteriors: Tensor,
    row_dloss: Tensor,
    params: Tensor,
    out: Any,
    dout: Any,
) -> NoReturn:
    refuse_gradient("RnntDurationGrad")


def simple_stats_bprop(
    am: Tensor,
    lm: Tensor,
    am_labels: Tensor,
    lm_labels: Tensor,
    params: Tensor,
    out: Any,
    dout: Any,
) -> NoReturn:
    refuse_gradient("RnntSimpleStats")


def simple_grad_bprop(
    am: Tensor,
    lm: Tensor,
    am_labels: Tensor,
    lm_labels: Tensor,
    stats: Tensor,
    coefficients: Tensor,
    dloss: Tensor,
    params: Tensor,
    out: Any,
    dout: Any,
) -> NoReturn:
    refuse_gradient("RnntSimpleGrad")


def distillation_bprop(
    stats: Tensor,
    teacher_stats: Tensor,
    row_labels: Tensor,
    row_samples: Tensor,
    least_loss: Tensor,
    params: Tensor,
    out: Any,
    dout: Any,
) -> NoReturn:
    refuse_gradient("RnntDistillation")


def arc_posteriors_bprop(
    stats: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    least_loss: Tensor,
    params: Tensor,
    out: Any,
    dout: Any,
) -> NoReturn:
    refuse_gradient("RnntArcPosteriors")


def align_bprop(
    stats: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    targets: Tensor,
    least_loss: Tensor,
    params: Tensor,
    out: Any,
    dout: Any,
) -> NoReturn:
    refuse_gradient("RnntAlign")
