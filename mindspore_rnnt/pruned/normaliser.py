# SPDX-License-Identifier: Apache-2.0
"""z(t, u) = log sum_k exp(am[t, k] + lm[u, k]) of every cell, without a tensor of cells times V.

    P = exp(am - max am) @ exp(lm - max lm)^T,  z - max am - max lm = log P

Where am and lm peak at different classes, terms of P fall below the least float32 and are lost.
Cells in which that could be seen are summed term by term, _CHUNK cells at a time. Their number is
known only when they are found, so this is a loop, which ends at once if there is none.

MindSpore's exp and log on CPU are off by 5e-6 and 2e-6. Exponentials of rows come from row_grad, as
softmax times row_sum, which are exact to the last bits; logarithms are taken in float64 there.
"""

import mindspore as ms
from mindspore import Tensor, ops

from ..divergence import precise_dtype
from ..kernels import get_ops
from ..launch import InGivenPrecision, params_tensor
from ..row_labels import NO_CELL, NO_LABEL_ARC

_CHUNK = 256
_LEAST = 1.2e-38  # the least normal float32
_PRECISION = 1e-7  # what lost terms, V * _LEAST at most, may make of a sum


class Rows(InGivenPrecision):
    """Operators on rows (.., V): their stats, their softmax. Cells within a `bprop` use methods and
    primitives only: a graph does not compile a Python function there that the forward pass had."""

    def __init__(self, blank: int) -> None:
        super().__init__()
        self.options = (blank, -1.0, True, 0.0, False)

    def stats(self, x: Tensor, labels: Tensor) -> Tensor:
        return get_ops().row_stats(x, labels, params_tensor(self.options, False))

    def softmax(self, x: Tensor, labels: Tensor, stats: Tensor, factor: Tensor) -> Tensor:
        """softmax(x) times a factor for each row (..)."""
        return self.gradient(x, labels, stats, factor, 0.0 * factor, 0.0 * factor)

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
        coefficients = ops.cat(
            [ops.expand_dims(c, -1) for c in (occupation, of_blank, of_label)], -1
        )
        ones = ops.ones(labels.shape, ms.float32)
        params = params_tensor(self.options, False)
        return get_ops().row_grad(x, labels, stats, coefficients, ones, params)

    def log(self, x: Tensor) -> Tensor:
        return ops.log(x.astype(precise_dtype())).astype(ms.float32)


class Normaliser(Rows):
    """am (B, max_T, V) and lm (B, max_U1, V) come with the stats of their rows and with
    exp(am - max am) and exp(lm - max lm), 0 in rows of padding. Cells outside the samples are
    `padding` (B, max_T, max_U1)."""

    def __init__(self, blank: int) -> None:
        super().__init__(blank)
        self.cumsum = ops.CumSum()
        self.search = ops.SearchSorted(ms.int32)
        self.total = ops.ReduceSum()
        self.range = ops.Range()
        self.product = ops.BatchMatMul()
        self.product_nt = ops.BatchMatMul(transpose_b=True)
        self.product_tn = ops.BatchMatMul(transpose_a=True)

    def log_sums(
        self,
        am: Tensor,
        lm: Tensor,
        am_stats: Tensor,
        lm_stats: Tensor,
        am_exp: Tensor,
        lm_exp: Tensor,
        padding: Tensor,
    ) -> tuple:
        """P, 1 in padding; and z - max am - max lm, both (B, max_T, max_U1)."""
        P = ops.masked_fill(self.product_nt(am_exp, lm_exp), padding, 1.0)
        found, total = self.found(self.is_lossy(P, am))
        flat, start = self.with_extra(self.log(P)), ms.Tensor(0, ms.int32)
        while start < total:
            cells, frames, steps = self.next_cells(found, start, P)
            terms = self.terms(am, am_stats, frames) + self.terms(lm, lm_stats, steps)
            stats = self.stats(terms, self.labels(cells, P))
            exact = stats[:, 0] + self.log(stats[:, 1])
            flat = ops.tensor_scatter_update(flat, ops.expand_dims(cells, 1), exact)
            start = start + _CHUNK
        return P, flat[:-1].reshape(P.shape)

    def gradients(
        self,
        am: Tensor,
        lm: Tensor,
        am_stats: Tensor,
        lm_stats: Tensor,
        am_exp: Tensor,
        lm_exp: Tensor,
        P: Tensor,
        dz: Tensor,
    ) -> tuple:
        """sum_u dz exp(am[t] + lm[u] - z) and sum_t dz exp(am[t] + lm[u] - z)."""
        is_lossy = self.is_lossy(P, am)
        share = ops.masked_fill(dz / P, is_lossy, 0.0)
        dam = (am_exp * self.product(share, lm_exp)).reshape((-1, am.shape[-1]))
        dlm = (lm_exp * self.product_tn(share, am_exp)).reshape((-1, lm.shape[-1]))
        found, total = self.found(is_lossy)
        flat_dz, start = self.with_extra(dz), ms.Tensor(0, ms.int32)
        while start < total:
            cells, frames, steps = self.next_cells(found, start, P)
            terms = self.terms(am, am_stats, frames) + self.terms(lm, lm_stats, steps)
            labels = self.labels(cells, P)
            dz = ops.gather(flat_dz, cells, 0)
            of_cells = self.softmax(terms, labels, self.stats(terms, labels), dz)
            dam = dam + ops.unsorted_segment_sum(of_cells, frames, dam.shape[0])
            dlm = dlm + ops.unsorted_segment_sum(of_cells, steps, dlm.shape[0])
            start = start + _CHUNK
        return dam.reshape(am.shape), dlm.reshape(lm.shape)

    def is_lossy(self, P: Tensor, am: Tensor) -> Tensor:
        return (am.shape[-1] + 10) * ms.Tensor(_LEAST / _PRECISION, ms.float32) > P

    def found(self, is_lossy: Tensor) -> tuple:
        """How many of the cells up to each are lossy, and how many there are at all."""
        is_lossy = is_lossy.reshape((-1,)).astype(ms.int32)
        return self.cumsum(is_lossy, 0), self.total(is_lossy)

    def next_cells(self, found: Tensor, start: Tensor, P: Tensor) -> tuple:
        """The next _CHUNK lossy cells, and their rows of am and lm. Behind the last one, the place
        that belongs to no cell."""
        B, max_t, max_u1 = P.shape
        zero, end, one = ms.Tensor(0, ms.int32), ms.Tensor(_CHUNK, ms.int32), ms.Tensor(1, ms.int32)
        numbers = start + one + self.range(zero, end, one)
        cells = self.search(found, numbers.astype(ms.int32))
        cell = ops.minimum(cells, B * max_t * max_u1 - 1)
        frames = cell // max_u1
        return cells, frames, cell - frames * max_u1 + frames // max_t * max_u1

    def terms(self, x: Tensor, stats: Tensor, rows: Tensor) -> Tensor:
        """Rows of x less their maximum, (n, V)."""
        row_max = ops.gather(stats.reshape((-1, 4)), rows, 0)[:, 0:1]
        return ops.gather(x.reshape((-1, x.shape[-1])), rows, 0) - row_max

    def labels(self, cells: Tensor, P: Tensor) -> Tensor:
        """For the operators on rows: no label arc, and no cell in the extra place."""
        B, max_t, max_u1 = P.shape
        is_cell = (cells < B * max_t * max_u1).astype(ms.int32)
        return is_cell * NO_LABEL_ARC + (1 - is_cell) * NO_CELL

    def with_extra(self, x: Tensor) -> Tensor:
        """All cells in a row, and one more place, which belongs to none."""
        return ops.cat((x.reshape((-1,)), ops.zeros((1,), ms.float32)), 0)
