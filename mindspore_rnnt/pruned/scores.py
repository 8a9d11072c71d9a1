# SPDX-License-Identifier: Apache-2.0
"""Scores of the arcs of the simple joiner, am + lm, and their gradients.

The score of class k in cell (t, u), with scales l (lm only) and a (am only):

    (1 - l - a) log_softmax(am[t] + lm[u])[k] + l log_softmax(lm[u])[k]
                                              + a log_softmax(am[t] + log m)[k]

    m[k] = mean of softmax(lm[u])[k] over the sample's U + 1 steps

Shapes: am (B, max_T, V) and lm (B, max_U1, V) float32; labels of frames (B, max_T), NO_LABEL_ARC or
NO_CELL in padding; labels of steps (B, max_U1); stats and all of cells (B, max_T, max_U1, ..).
"""

import math

import mindspore as ms
from mindspore import Tensor, ops

from ..divergence import precise_dtype
from ..kernels import get_ops
from ..launch import InGivenPrecision, params_tensor


class _Scores(InGivenPrecision):
    """Cells within a `bprop` use methods and primitives only: a graph does not compile a Python
    function there that the forward pass had."""

    def __init__(self, scales: tuple, blank: int) -> None:
        super().__init__()
        self.lm_only, self.am_only = scales
        self.combined = 1.0 - self.lm_only - self.am_only
        self.blank = blank
        self.options = (blank, -1.0, True, 0.0, False)
        self.stack = ops.Stack(-1)
        self.either, self.zeros_like = ops.LogicalOr(), ops.ZerosLike()
        self.total = ops.ReduceSum()
        self.total_of = ops.ReduceSum(keep_dims=True)
        self.largest = ops.ReduceMax(keep_dims=True)
        self.one_hot = ops.OneHot()
        self.product = ops.BatchMatMul()

    def params(self) -> Tensor:
        return params_tensor(self.options, False)

    def stats(self, x: Tensor, labels: Tensor) -> Tensor:
        return get_ops().row_stats(x, labels, self.params())

    def gradient(
        self,
        x: Tensor,
        labels: Tensor,
        stats: Tensor,
        occupation: Tensor,
        of_blank: Tensor,
        of_label: Tensor,
    ) -> Tensor:
        """softmax(x) occupation - [k = blank] of_blank - [k = label] of_label"""
        coefficients = self.stack((occupation, of_blank, of_label))
        ones = ops.ones(labels.shape, ms.float32)
        return get_ops().row_grad(x, labels, stats, coefficients, ones, self.params())

    def log(self, x: Tensor) -> Tensor:
        return ops.log(x.astype(precise_dtype())).astype(ms.float32)

    def log_mean(self, lm: Tensor, lm_stats: Tensor, labels: Tensor) -> tuple:
        """log m (B, 1, V); and the part of each step in m, (B, max_U1, V), which adds up to 1."""
        padding = ops.expand_dims(labels < -1, 2)
        log_sum = lm_stats[:, :, 0:1] + self.log(lm_stats[:, :, 1:2])
        log_probs = ops.masked_fill(lm - log_sum, padding, -math.inf)
        top = self.largest(log_probs, 1)
        top = ops.masked_fill(top, top == -math.inf, 0.0)
        weights = ops.exp(log_probs - top)
        total = self.total_of(weights, 1)
        count = self.total_of(1.0 - padding.astype(ms.float32), 1)
        share = ops.masked_fill(weights / total, total == 0.0, 0.0)
        return top + self.log(total / count), share


class ArcScores(_Scores):
    """-> for the lattice, stats of rows of log-probs (row_max 0, row_sum 1) that are the scores of
    blank and label, -inf where no label leaves a cell; and the stats of am + lm"""

    def construct(self, am: Tensor, lm: Tensor, am_labels: Tensor, lm_labels: Tensor) -> tuple:
        stats = get_ops().simple_stats(am, lm, am_labels, lm_labels, self.params())
        ones = ops.ones((*am_labels.shape, lm_labels.shape[1]), ms.float32)
        of_blank, of_label = 0.0 * ones, 0.0 * ones
        if self.combined > 0:  # 0 * -inf is NaN
            log_sum = self.log(stats[:, :, :, 1])
            of_blank = self.combined * (stats[:, :, :, 2] - log_sum)
            of_label = self.combined * (stats[:, :, :, 3] - log_sum)
        if self.lm_only > 0:
            lm_stats = self.stats(lm, lm_labels)
            log_sum = self.log(lm_stats[:, :, 1])
            of_blank = of_blank + self.lm_only * self.row(lm_stats[:, :, 2] - log_sum)
            of_label = of_label + self.lm_only * self.row(lm_stats[:, :, 3] - log_sum)
        if self.am_only > 0:
            log_mean, _ = self.log_mean(lm, self.stats(lm, lm_labels), lm_labels)
            alone = am + log_mean
            am_stats = self.stats(alone, am_labels)
            log_sum = self.log(am_stats[:, :, 1:2])
            am_label = ops.gather(alone, ops.maximum(lm_labels, 0), 2, 1) - am_stats[:, :, 0:1]
            of_blank = of_blank + self.am_only * (am_stats[:, :, 2:3] - log_sum)
            of_label = of_label + self.am_only * (am_label - log_sum)
        of_label = ops.masked_fill(of_label, self.row(lm_labels) < 0, -math.inf)
        return self.stack((0.0 * ones, ones, of_blank, of_label)), stats

    def row(self, x: Tensor) -> Tensor:
        """(B, max_U1) -> (B, 1, max_U1)"""
        return ops.expand_dims(x, 1)


class ScoreGradients(_Scores):
    """-> gradients of am and lm for the lattice's coefficients; 0 in padding"""

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
        if self.combined > 0:
            inputs = am, lm, am_labels, lm_labels, stats, self.combined * coefficients, dloss
            dam, dlm = get_ops().simple_grad(*inputs, self.params())
        else:
            dam, dlm = self.zeros_like(am), self.zeros_like(lm)
        of_blank = self.of_scores(coefficients[:, :, :, 1], dloss)
        of_label = self.of_scores(coefficients[:, :, :, 2], dloss)
        if self.lm_only > 0:
            blanks, labels = self.total(of_blank, 1), self.total(of_label, 1)
            of_steps = blanks + labels, blanks, labels
            alone = self.gradient(lm, lm_labels, self.stats(lm, lm_labels), *of_steps)
            dlm = dlm - self.lm_only * alone
        if self.am_only > 0:
            dropped = dloss.reshape((-1, 1, 1)) == 0
            of_am, of_lm = self.of_am_only(am, lm, am_labels, lm_labels, of_blank, of_label)
            dam = dam + ops.masked_fill(of_am, dropped, 0.0)
            no_step = self.either(dropped, ops.expand_dims(lm_labels < -1, 2))
            dlm = dlm + ops.masked_fill(of_lm, no_step, 0.0)  # NaN of am is not for padding
        return dam, dlm

    def of_scores(self, posteriors: Tensor, dloss: Tensor) -> Tensor:
        """0 stays 0, also under an upstream gradient that is not finite; one of 0 drops a sample,
        NaN or not."""
        dloss = dloss.reshape((-1, 1, 1))
        none = self.either(posteriors == 0, dloss == 0)
        return ops.masked_fill(-posteriors * dloss, none, 0.0)

    def of_am_only(
        self,
        am: Tensor,
        lm: Tensor,
        am_labels: Tensor,
        lm_labels: Tensor,
        of_blank: Tensor,
        of_label: Tensor,
    ) -> tuple:
        lm_stats = self.stats(lm, lm_labels)
        log_mean, share = self.log_mean(lm, lm_stats, lm_labels)
        x = am + log_mean
        of_frames = self.total(of_blank + of_label, 2)
        none = 0.0 * of_frames
        alone = self.gradient(x, am_labels, self.stats(x, am_labels), -of_frames, none, none)
        # The blank is one more step.
        one, zero = ms.Tensor(1, ms.float32), ms.Tensor(0, ms.float32)
        blank = ops.full((am.shape[0], 1), self.blank, dtype=ms.int32)
        entries = self.one_hot(ops.cat((lm_labels, blank), 1), am.shape[-1], one, zero)
        of_entries = ops.cat((of_label, self.total_of(of_blank, 2)), 2)
        alone = self.am_only * (self.product(of_entries, entries) + alone)
        # Through m: d log m[k] / d log softmax(lm[u])[k] = share[u, k].
        through = share * self.total_of(alone, 1)
        of_steps = self.total(through, 2)
        none = 0.0 * of_steps
        return alone, through - self.gradient(lm, lm_labels, lm_stats, of_steps, none, none)
