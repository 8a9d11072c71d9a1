# SPDX-License-Identifier: Apache-2.0
"""The loss of the simple joiner: scores of its arcs, the lattice, and gradients."""

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
    """What SimplePhases takes: am and lm in float32; labels of frames and of steps, NO_CELL in
    padding, which may hold anything. Of a sample with a wrong length all is padding."""
    max_t, max_u1 = am.shape[1], lm.shape[1]
    valid = ops.logical_and(logit_lengths <= max_t, target_lengths < max_u1)
    T = ops.expand_dims(ops.where(valid, logit_lengths, 0), 1)
    U = ops.expand_dims(ops.where(valid, target_lengths, -1), 1)
    frames, steps = ops.range(0, max_t, 1) < T, ops.range(0, max_u1, 1) <= U
    am_labels = ops.where(frames, NO_LABEL_ARC, NO_CELL).astype(ms.int32)
    lm_labels = ops.where(steps, labels, NO_CELL)
    return am.astype(ms.float32), lm.astype(ms.float32), am_labels, lm_labels


class SimplePhases(InGivenPrecision):
    """-> loss (B,); then coefficients (B, max_T, max_U1, 3) and stats (B, max_T, max_U1, 4), which
    are for `bprop` and for posteriors and have no gradient.

    Inputs: what `simple_inputs` returns, and the lengths (B,). `scales` are (lm_only_scale,
    am_only_scale); the blank of `options` counts from the front.
    """

    def __init__(self, caller: str, scales: tuple, options: tuple) -> None:
        super().__init__()
        self.caller = caller
        self.options = options
        self.scores = ArcScores(scales, options[0])
        self.gradients = _SimpleGradients(caller, scales, options[0])

    def construct(
        self,
        am: Tensor,
        lm: Tensor,
        am_labels: Tensor,
        lm_labels: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
    ) -> tuple:
        arcs, stats = self.scores(am, lm, am_labels, lm_labels)
        params = params_tensor(self.options, False)
        loss, coefficients = get_ops().lattice(arcs, logit_lengths, target_lengths, params)
        return loss, coefficients, stats

    def bprop(
        self,
        am: Tensor,
        lm: Tensor,
        am_labels: Tensor,
        lm_labels: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        out: Any,
        dout: Any,
    ) -> tuple[Tensor, ...]:
        refuse_recorded_bprop(ops.gather, self.caller)
        dam, dlm = self.gradients(am, lm, am_labels, lm_labels, out[2], out[1], dout[0])
        return dam, dlm, am_labels, lm_labels, logit_lengths, target_lengths


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
        stats: Tensor,
        coefficients: Tensor,
        dloss: Tensor,
    ) -> tuple:
        return self.gradients(am, lm, am_labels, lm_labels, stats, coefficients, dloss)

    def bprop(
        self,
        am: Tensor,
        lm: Tensor,
        am_labels: Tensor,
        lm_labels: Tensor,
        stats: Tensor,
        coefficients: Tensor,
        dloss: Tensor,
        out: Any,
        dout: Any,
    ) -> NoReturn:
        refuse_double_backward(self.caller)
