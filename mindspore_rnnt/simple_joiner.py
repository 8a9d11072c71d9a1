# SPDX-License-Identifier: Apache-2.0
"""The operators RnntSimpleStats and RnntSimpleGrad as compositions, for a device without them:
stats and gradients of the rows am[t] + lm[u], without a tensor of cells times V.

    row_sum = exp(am - max am) @ exp(lm - max lm)^T,   row_max = max am + max lm

Where am and lm peak at different classes, terms of the product fall below the least float32 and
are lost. Cells in which that could be seen are summed term by term, _CHUNK cells at a time. Their
number is known only when they are found, so this is a loop, which ends at once if there is none.

MindSpore's exp and log on CPU are off by 5e-6 and 2e-6. Exponentials of rows come from row_grad, as
softmax times row_sum, which are exact to the last bits; logarithms are taken in float64 there.
"""

import math

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.ops import Primitive

from .divergence import precise_dtype
from .native import Param
from .row_labels import NO_CELL, NO_LABEL_ARC

_CHUNK = 256
_LEAST = 1.2e-38  # the least normal float32
_PRECISION = 1e-7  # what lost terms, V * _LEAST at most, may make of a sum


class _Product(nn.Cell):
    """am (B, max_T, V), lm (B, max_U1, V) float32 and labels (B, max_T), (B, max_U1), NO_CELL in
    padding. In a graph's backward pass only methods and primitives are compiled, no Python function
    that the forward pass had; so both passes are Cells."""

    def __init__(self, row_stats: Primitive, row_grad: Primitive) -> None:
        super().__init__()
        self.stats, self.grad = row_stats, row_grad
        self.cumsum = ops.CumSum()
        self.search = ops.SearchSorted(ms.int32)
        self.total = ops.ReduceSum()
        self.total_of = ops.ReduceSum(keep_dims=True)
        self.range = ops.Range()
        self.both, self.either = ops.LogicalAnd(), ops.LogicalOr()
        self.negate = ops.LogicalNot()
        self.stack = ops.Stack(-1)
        self.one_hot = ops.OneHot()
        self.product = ops.BatchMatMul()
        self.product_nt = ops.BatchMatMul(transpose_b=True)
        self.product_tn = ops.BatchMatMul(transpose_a=True)

    def softmax(
        self, x: Tensor, labels: Tensor, stats: Tensor, factor: Tensor, params: Tensor
    ) -> Tensor:
        """softmax(x) times a factor for each row (..)."""
        coefficients = self.stack((factor, 0.0 * factor, 0.0 * factor))
        return self.grad(x, labels, stats, coefficients, ops.ones(labels.shape, ms.float32), params)

    def exp(self, x: Tensor, labels: Tensor, stats: Tensor, params: Tensor) -> Tensor:
        """exp(x - row_max), 0 in padding."""
        return self.softmax(x, labels, stats, stats[:, :, 1], params)

    def row_max(self, am_stats: Tensor, lm_stats: Tensor) -> Tensor:
        return am_stats[:, :, 0:1] + ops.expand_dims(lm_stats[:, :, 0], 1)

    def padding(self, am_labels: Tensor, lm_labels: Tensor) -> Tensor:
        frames, steps = am_labels == NO_CELL, lm_labels == NO_CELL
        return self.either(ops.expand_dims(frames, 2), ops.expand_dims(steps, 1))

    def found(self, is_lossy: Tensor) -> tuple:
        """How many of the cells up to each are lossy, and how many there are at all."""
        is_lossy = is_lossy.reshape((-1,)).astype(ms.int32)
        return self.cumsum(is_lossy, 0), self.total(is_lossy)

    def next_cells(self, found: Tensor, start: Tensor, shape: tuple) -> tuple:
        """The next _CHUNK lossy cells, and their rows of am and lm. Behind the last one, the place
        that belongs to no cell."""
        B, max_t, max_u1 = shape
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

    def labels(self, cells: Tensor, shape: tuple) -> Tensor:
        """For the operators on rows: no label arc, and no cell in the extra place."""
        B, max_t, max_u1 = shape
        is_cell = (cells < B * max_t * max_u1).astype(ms.int32)
        return is_cell * NO_LABEL_ARC + (1 - is_cell) * NO_CELL

    def with_extra(self, x: Tensor) -> Tensor:
        """All cells in a row, and one more place, which belongs to none."""
        return ops.cat((x.reshape((-1,)), ops.zeros((1,), ms.float32)), 0)


class SimpleStats(_Product):
    """-> stats (B, max_T, max_U1, 4)"""

    def construct(
        self, am: Tensor, lm: Tensor, am_labels: Tensor, lm_labels: Tensor, params: Tensor
    ) -> Tensor:
        am_stats, lm_stats = self.stats(am, am_labels, params), self.stats(lm, lm_labels, params)
        am_exp = self.exp(am, am_labels, am_stats, params)
        P = self.product_nt(am_exp, self.exp(lm, lm_labels, lm_stats, params))
        padding = self.padding(am_labels, lm_labels)
        is_lossy = (am.shape[-1] + 10) * ms.Tensor(_LEAST / _PRECISION, ms.float32) > P
        is_lossy = self.both(is_lossy, self.negate(padding))
        found, total = self.found(is_lossy)
        flat, start = self.with_extra(0.0 * P), ms.Tensor(0, ms.int32)
        while start < total:
            cells, frames, steps = self.next_cells(found, start, P.shape)
            terms = self.terms(am, am_stats, frames) + self.terms(lm, lm_stats, steps)
            stats = self.stats(terms, self.labels(cells, P.shape), params)
            log_sums = ops.log(stats[:, 1].astype(precise_dtype())).astype(ms.float32)
            exact = stats[:, 0] + log_sums
            flat = ops.tensor_scatter_update(flat, ops.expand_dims(cells, 1), exact)
            start = start + _CHUNK
        # Lossy cells have the sum 1 beside a maximum far below row_max.
        log_sums = flat[:-1].reshape(P.shape)
        label_gaps = ops.gather(am, ops.maximum(lm_labels, 0), 2, 1) - am_stats[:, :, 0:1]
        label_gaps = label_gaps + ops.expand_dims(lm_stats[:, :, 3], 1) - log_sums
        no_label = ops.expand_dims(lm_labels < 0, 1)
        columns = (
            self.row_max(am_stats, lm_stats) + log_sums,
            ops.masked_fill(P, is_lossy, 1.0),
            am_stats[:, :, 2:3] + ops.expand_dims(lm_stats[:, :, 2], 1) - log_sums,
            ops.masked_fill(label_gaps, no_label, -math.inf),
        )
        return ops.masked_fill(self.stack(columns), ops.expand_dims(padding, 3), 0.0)


class SimpleGrad(_Product):
    """-> gradients of am and lm"""

    def construct(
        self,
        am: Tensor,
        lm: Tensor,
        am_labels: Tensor,
        lm_labels: Tensor,
        stats: Tensor,
        coefficients: Tensor,
        dloss: Tensor,
        params: Tensor,
    ) -> tuple[Tensor, Tensor]:
        dloss = dloss.reshape((-1, 1, 1, 1))
        # 0 stays 0, also under an upstream gradient that is not finite; one of 0 drops a sample.
        none = self.either(coefficients == 0, dloss == 0)
        of_cells = ops.masked_fill(coefficients * dloss, none, 0.0)
        dam, dlm = self.of_softmax(
            am, lm, am_labels, lm_labels, stats, of_cells[:, :, :, 0], params
        )
        # Of the arcs: [k = blank] and [k = label]. The blank is one more step.
        V, of_blank, of_label = am.shape[-1], of_cells[:, :, :, 1], of_cells[:, :, :, 2]
        one, zero = ms.Tensor(1, ms.float32), ms.Tensor(0, ms.float32)
        blank = params[Param.BLANK].astype(ms.int32)
        blank = 0 * lm_labels[:, 0:1] + blank + V * (blank < 0).astype(ms.int32)
        entries = self.one_hot(ops.cat((lm_labels, blank), 1), V, one, zero)
        dam = dam - self.product(ops.cat((of_label, self.total_of(of_blank, 2)), 2), entries)
        blanks, labels = self.total(of_blank, 1), self.total(of_label, 1)
        dlm = dlm - ops.expand_dims(blanks, 2) * entries[:, -1:]
        dlm = dlm - ops.expand_dims(labels, 2) * entries[:, :-1]
        dropped = dloss.reshape((-1, 1, 1)) == 0
        return ops.masked_fill(dam, dropped, 0.0), ops.masked_fill(dlm, dropped, 0.0)

    def of_softmax(
        self,
        am: Tensor,
        lm: Tensor,
        am_labels: Tensor,
        lm_labels: Tensor,
        stats: Tensor,
        dz: Tensor,
        params: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """sum_u dz softmax(am[t] + lm[u]) and sum_t dz softmax(am[t] + lm[u])."""
        am_stats, lm_stats = self.stats(am, am_labels, params), self.stats(lm, lm_labels, params)
        am_exp = self.exp(am, am_labels, am_stats, params)
        lm_exp = self.exp(lm, lm_labels, lm_stats, params)
        padding = self.padding(am_labels, lm_labels)
        is_lossy = stats[:, :, :, 0] < self.row_max(am_stats, lm_stats)
        is_lossy = self.both(is_lossy, self.negate(padding))
        without = self.either(is_lossy, padding)
        share = ops.masked_fill(dz / stats[:, :, :, 1], without, 0.0)
        dam = (am_exp * self.product(share, lm_exp)).reshape((-1, am.shape[-1]))
        dlm = (lm_exp * self.product_tn(share, am_exp)).reshape((-1, lm.shape[-1]))
        found, total = self.found(is_lossy)
        flat_dz, start = self.with_extra(dz), ms.Tensor(0, ms.int32)
        while start < total:
            cells, frames, steps = self.next_cells(found, start, dz.shape)
            terms = self.terms(am, am_stats, frames) + self.terms(lm, lm_stats, steps)
            labels = self.labels(cells, dz.shape)
            factor = ops.gather(flat_dz, cells, 0)
            of_terms = self.stats(terms, labels, params)
            of_cells = self.softmax(terms, labels, of_terms, factor, params)
            dam = dam + ops.unsorted_segment_sum(of_cells, frames, dam.shape[0])
            dlm = dlm + ops.unsorted_segment_sum(of_cells, steps, dlm.shape[0])
            start = start + _CHUNK
        frames, steps = am_labels == NO_CELL, lm_labels == NO_CELL
        return (  # NaN of the other side does not reach padding
            ops.masked_fill(dam.reshape(am.shape), ops.expand_dims(frames, 2), 0.0),
            ops.masked_fill(dlm.reshape(lm.shape), ops.expand_dims(steps, 2), 0.0),
        )
