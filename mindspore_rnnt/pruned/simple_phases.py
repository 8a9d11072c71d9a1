# SPDX-License-Identifier: Apache-2.0
"""The loss of the simple joiner: arcs from one matrix product, the lattice, and gradients through
the product."""

from functools import lru_cache
from typing import Any, NoReturn

import mindspore as ms
from mindspore import Tensor, ops

from ..kernels import get_ops
from ..kernels.gradients import refuse_double_backward
from ..kernels.recorder import refuse_recorded_bprop
from ..launch import InGivenPrecision, params_tensor
from ..row_labels import NO_CELL, NO_LABEL_ARC
from .scores import ArcScores, ScoreGradients


@lru_cache
def simple_phases(caller: str, scales: tuple, options: tuple) -> "SimplePhases":
    """The Cell for these options; a graph takes it as it is, too."""
    return SimplePhases(caller, scales, options)


def simple_inputs(
    am: Tensor, lm: Tensor, labels: Tensor, logit_lengths: Tensor, target_lengths: Tensor
) -> tuple:
    """What SimplePhases takes: am and lm in float32, 0 in padding, which may hold anything; labels
    of frames and of steps; the cells that are padding. Of a sample with a wrong length all is."""
    max_t, max_u1 = am.shape[1], lm.shape[1]
    valid = ops.logical_and(logit_lengths <= max_t, target_lengths < max_u1)
    T = ops.expand_dims(ops.where(valid, logit_lengths, 0), 1)
    U = ops.expand_dims(ops.where(valid, target_lengths, -1), 1)
    frames, steps = ops.range(0, max_t, 1) < T, ops.range(0, max_u1, 1) <= U
    cells = ops.logical_and(ops.expand_dims(frames, 2), ops.expand_dims(steps, 1))
    return (
        ops.masked_fill(am.astype(ms.float32), ops.expand_dims(ops.logical_not(frames), 2), 0.0),
        ops.masked_fill(lm.astype(ms.float32), ops.expand_dims(ops.logical_not(steps), 2), 0.0),
        ops.where(frames, NO_LABEL_ARC, NO_CELL).astype(ms.int32),
        ops.where(steps, labels, NO_CELL),
        ops.logical_not(cells),
    )


class SimplePhases(InGivenPrecision):
    """-> loss (B,); then coefficients (B, max_T, max_U1, 3) and P (B, max_T, max_U1), which are for
    `bprop` and for posteriors and have no gradient.

    Inputs: what `simple_inputs` returns, and the lengths (B,). `scales` are (lm_only_scale,
    am_only_scale); the blank of `options` counts from the front.
    """

    def __init__(self, caller: str, scales: tuple, options: tuple) -> None:
        super().__init__()
        self.caller = caller
        self.options = options
        self.stack = ops.Stack(-1)
        self.scores = ArcScores(scales, options[0])
        self.gradients = _SimpleGradients(caller, scales, options[0])

    def construct(
        self,
        am: Tensor,
        lm: Tensor,
        am_labels: Tensor,
        lm_labels: Tensor,
        padding: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
    ) -> tuple:
        of_blank, of_label, P = self.scores(am, lm, am_labels, lm_labels, padding)
        zeros, ones = ops.zeros(P.shape, ms.float32), ops.ones(P.shape, ms.float32)
        stats = self.stack((zeros, ones, of_blank, of_label))
        params = params_tensor(self.options, False)
        loss, coefficients = get_ops().lattice(stats, logit_lengths, target_lengths, params)
        return loss, coefficients, P

    def bprop(
        self,
        am: Tensor,
        lm: Tensor,
        am_labels: Tensor,
        lm_labels: Tensor,
        padding: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        out: Any,
        dout: Any,
    ) -> tuple[Tensor, ...]:
        refuse_recorded_bprop(ops.gather, self.caller)
        dam, dlm = self.gradients(am, lm, am_labels, lm_labels, out[1], out[2], dout[0])
        return dam, dlm, am_labels, lm_labels, padding, logit_lengths, target_lengths


class _SimpleGradients(InGivenPrecision):
    """-> gradients of am and lm"""

    def __init__(self, caller: str, scales: tuple, blank: int) -> None:
        super().__init__()
        self.caller = caller
        self.gradients = ScoreGradients(scales, blank)

    def construct(
        self,
        am: Tensor,
        lm: Tensor,
        am_labels: Tensor,
        lm_labels: Tensor,
        coefficients: Tensor,
        P: Tensor,
        dloss: Tensor,
    ) -> tuple:
        dloss = dloss.reshape((-1, 1, 1))
        of_blank = self.of_scores(coefficients[:, :, :, 1], dloss)
        of_label = self.of_scores(coefficients[:, :, :, 2], dloss)
        dam, dlm = self.gradients(am, lm, am_labels, lm_labels, P, of_blank, of_label)
        # An upstream gradient of 0 drops a sample, NaN or not.
        dropped = dloss == 0
        return ops.masked_fill(dam, dropped, 0.0), ops.masked_fill(dlm, dropped, 0.0)

    def of_scores(self, posteriors: Tensor, dloss: Tensor) -> Tensor:
        """0 stays 0, also under an upstream gradient that is not finite."""
        return ops.masked_fill(-posteriors * dloss, posteriors == 0, 0.0)

    def bprop(
        self,
        am: Tensor,
        lm: Tensor,
        am_labels: Tensor,
        lm_labels: Tensor,
        coefficients: Tensor,
        P: Tensor,
        dloss: Tensor,
        out: Any,
        dout: Any,
    ) -> NoReturn:
        refuse_double_backward(self.caller)
