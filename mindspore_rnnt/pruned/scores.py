# SPDX-License-Identifier: Apache-2.0
"""Scores of the arcs of the simple joiner, am + lm, and their gradients.

The score of class k in cell (t, u), with scales l (lm only) and a (am only):

    (1 - l - a) (am[t, k] + lm[u, k] - z(t, u)) + l log_softmax(lm[u])[k]
                                                + a log_softmax(am[t] + log m)[k]

    m[k] = mean of softmax(lm[u])[k] over the sample's U + 1 steps

Shapes: am (B, max_T, V) and lm (B, max_U1, V) float32; labels of frames (B, max_T), NO_LABEL_ARC or
NO_CELL in padding; labels of steps (B, max_U1); z and all of cells (B, max_T, max_U1).
"""

import math

import mindspore as ms
from mindspore import Tensor, ops

from .normaliser import Normaliser


class _Scores(Normaliser):
    def __init__(self, scales: tuple, blank: int) -> None:
        super().__init__(blank)
        self.lm_only, self.am_only = scales
        self.combined = 1.0 - self.lm_only - self.am_only
        self.blank = blank
        self.total_of = ops.ReduceSum(keep_dims=True)
        self.largest = ops.ReduceMax(keep_dims=True)
        self.one_hot = ops.OneHot()

    def exp(self, x: Tensor, labels: Tensor, stats: Tensor) -> Tensor:
        """exp(x - row_max), 0 in padding."""
        return self.softmax(x, labels, stats, stats[:, :, 1])

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
    """-> scores of the blank and of the label that leave each cell, -inf where no label does; P"""

    def construct(
        self, am: Tensor, lm: Tensor, am_labels: Tensor, lm_labels: Tensor, padding: Tensor
    ) -> tuple:
        am_stats, lm_stats = self.stats(am, am_labels), self.stats(lm, lm_labels)
        am_exp, lm_exp = self.exp(am, am_labels, am_stats), self.exp(lm, lm_labels, lm_stats)
        P, log_sums = self.log_sums(am, lm, am_stats, lm_stats, am_exp, lm_exp, padding)
        lm_blank, lm_label = self.row(lm_stats[:, :, 2]), self.row(lm_stats[:, :, 3])
        am_blank, am_label = self.of_frames(am, am_stats, lm_labels)
        of_blank = self.combined * (am_blank + lm_blank - log_sums)
        of_label = self.combined * (am_label + lm_label - log_sums)
        if self.combined <= 0:  # 0 * -inf is NaN
            of_blank, of_label = 0.0 * P, 0.0 * P
        if self.lm_only > 0:
            log_sum = self.row(self.log(lm_stats[:, :, 1]))
            of_blank = of_blank + self.lm_only * (lm_blank - log_sum)
            of_label = of_label + self.lm_only * (lm_label - log_sum)
        if self.am_only > 0:
            log_mean, _ = self.log_mean(lm, lm_stats, lm_labels)
            alone = am + log_mean
            stats = self.stats(alone, am_labels)
            am_blank, am_label = self.of_frames(alone, stats, lm_labels)
            log_sum = self.log(stats[:, :, 1:2])
            of_blank = of_blank + self.am_only * (am_blank - log_sum)
            of_label = of_label + self.am_only * (am_label - log_sum)
        return of_blank, ops.masked_fill(of_label, self.row(lm_labels) < 0, -math.inf), P

    def row(self, x: Tensor) -> Tensor:
        """(B, max_U1) -> (B, 1, max_U1)"""
        return ops.expand_dims(x, 1)

    def of_frames(self, x: Tensor, stats: Tensor, labels: Tensor) -> tuple:
        """Gaps of blank, (B, max_T, 1), and of the label of each step, (B, max_T, max_U1)."""
        of_label = ops.gather(x, ops.maximum(labels, 0), 2, 1) - stats[:, :, 0:1]
        return stats[:, :, 2:3], of_label


class ScoreGradients(_Scores):
    """-> gradients of am and lm for those of the scores; 0 in padding"""

    def construct(
        self,
        am: Tensor,
        lm: Tensor,
        am_labels: Tensor,
        lm_labels: Tensor,
        P: Tensor,
        of_blank: Tensor,
        of_label: Tensor,
    ) -> tuple:
        am_stats, lm_stats = self.stats(am, am_labels), self.stats(lm, lm_labels)
        of_cell = of_blank + of_label
        blanks, labels = self.total(of_blank, 1), self.total(of_label, 1)
        # Of the entries that the scores take: [k = blank] and [k = label].
        one, zero = ms.Tensor(1, ms.float32), ms.Tensor(0, ms.float32)
        # The blank is one more step: sums and products of tensors of am's size would take several.
        blank = ops.full((am.shape[0], 1), self.blank, dtype=ms.int32)
        entries = self.one_hot(ops.cat((lm_labels, blank), 1), am.shape[-1], one, zero)
        of_entries = ops.cat((of_label, self.total_of(of_blank, 2)), 2)
        dam, dlm = 0.0, 0.0
        if self.combined > 0:
            am_exp, lm_exp = self.exp(am, am_labels, am_stats), self.exp(lm, lm_labels, lm_stats)
            of_product = am, lm, am_stats, lm_stats, am_exp, lm_exp
            z_frames, z_steps = self.gradients(*of_product, P, self.combined * of_cell)
            is_label, is_blank = entries[:, :-1], entries[:, -1:]
            steps = ops.expand_dims(blanks, 2) * is_blank + ops.expand_dims(labels, 2) * is_label
            dam = self.product(self.combined * of_entries, entries) - z_frames
            dlm = self.combined * steps - z_steps
        if self.lm_only > 0:
            alone = self.gradient(lm, lm_labels, lm_stats, blanks + labels, blanks, labels)
            dlm = dlm - self.lm_only * alone
        if self.am_only > 0:
            log_mean, share = self.log_mean(lm, lm_stats, lm_labels)
            x = am + log_mean
            of_sum = self.softmax(x, am_labels, self.stats(x, am_labels), self.total(of_cell, 2))
            alone = self.product(self.am_only * of_entries, entries) - self.am_only * of_sum
            dam = dam + alone
            # Through m: d log m[k] / d log softmax(lm[u])[k] = share[u, k].
            through = share * self.total_of(alone, 1)
            of_sum = self.softmax(lm, lm_labels, lm_stats, self.total(through, 2))
            dlm = dlm + through - of_sum
        return dam, dlm
