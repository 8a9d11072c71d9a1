# SPDX-License-Identifier: Apache-2.0
"""The phases of a token-and-duration transducer on logits that are kept.

    row_stats   of both heads: tokens (.., V) and durations (.., D)
    lattice     once, with log P(duration) of each cell
    row_grad    of both heads

A cell's duration head has as many arcs as entries. Its gradient is

    g_d = softmax_d occupation - post_d,   dlogits_d = clamp(g_d) * dloss

with post_d the posterior of both arcs of duration d. The softmax is that of row_grad with no arc.
"""

from functools import lru_cache
from typing import Any, NoReturn

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

from ..kernels import get_ops
from ..kernels.gradients import refuse_double_backward
from ..kernels.recorder import refuse_recorded_bprop
from ..launch import at_least, params_tensor
from ..row_labels import NO_CELL, NO_LABEL_ARC

_PLAIN = (-1, -1.0, True, 0.0, False)  # options of a head without arcs


@lru_cache
def tdt_phases(caller: str, durations: tuple, options: tuple, sigma: float) -> "TdtPhases":
    """The Cell for these options; a graph takes it as it is, too."""
    return TdtPhases(caller, durations, options, sigma)


class DurationHead(nn.Cell):
    """log P(d) of each cell, and the gradient of the logits that it comes from.

    Methods and primitives only, because a `bprop` uses them."""

    def __init__(self, clamp: float) -> None:
        super().__init__()
        self.clamp = clamp
        self.zeros_like = ops.ZerosLike()
        self.ones_like = ops.OnesLike()

    def construct(self, logits: Tensor, row_labels: Tensor) -> tuple[Tensor, Tensor]:
        """-> log-probs (.., D), 0 where no cell is, and stats (.., 4), of no use there, of float32
        logits. (MindSpore's own log_softmax is off by 5e-6 on CPU.)"""
        cells = ops.minimum(row_labels, NO_LABEL_ARC)
        stats = get_ops().row_stats(logits, cells, params_tensor(_PLAIN, False))
        log_sum = ops.log(stats[..., 1:2].astype(ms.float64)).astype(ms.float32)
        log_probs = logits - stats[..., 0:1] - log_sum
        return ops.masked_fill(log_probs, ops.expand_dims(row_labels, -1) == NO_CELL, 0.0), stats

    def gradient(
        self,
        logits: Tensor,
        row_labels: Tensor,
        stats: Tensor,
        coefficients: Tensor,
        posteriors: Tensor,
        row_dloss: Tensor,
    ) -> Tensor:
        occupation = coefficients[..., 0:1]
        no_arc = self.zeros_like(occupation)
        of_softmax = ops.cat((occupation, no_arc, no_arc), -1)
        ones, params = self.ones_like(row_dloss), params_tensor(_PLAIN, False)
        g = get_ops().row_grad(logits, row_labels, stats, of_softmax, ones, params) - posteriors
        if self.clamp > 0:  # NaN stays NaN
            g = ops.masked_fill(
                ops.masked_fill(g, g > self.clamp, self.clamp), g < -self.clamp, -self.clamp
            )
        dloss = ops.expand_dims(row_dloss, -1)
        # 0 stays 0 under an upstream gradient that is not finite, and one of 0 drops a sample.
        return ops.masked_fill(g * dloss, ops.logical_or(g == 0, dloss == 0), 0.0)


class TdtPhases(nn.Cell):
    """-> loss (B,); then what `bprop` needs, which has no gradient.

    Inputs: both heads' logits, (N, V) and (N, D) or with (B, max_T, max_U1) in place of N; the rest
    of the batch as in `rnnt_loss`.
    """

    def __init__(self, caller: str, durations: tuple, options: tuple, sigma: float) -> None:
        super().__init__()
        self.caller = caller
        self.options = options
        self.sigma = sigma
        self.durations = Tensor(np.array(durations, np.int32))
        self.head = DurationHead(options[1])
        self.gradients = _TdtGradients(caller, options)

    def construct(
        self,
        logits: Tensor,
        duration_logits: Tensor,
        targets: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
    ) -> tuple[Tensor, ...]:
        params = params_tensor(self.options, False)
        row_labels, row_samples, least_loss = get_ops().row_labels(
            logits, targets, logit_lengths, target_lengths, params
        )
        stats = get_ops().row_stats(logits, row_labels, params)
        head = duration_logits.astype(ms.float32)
        log_probs, head_stats = self.head(head, row_labels)
        loss, coefficients, posteriors = get_ops().tdt_lattice(
            stats,
            log_probs,
            logit_lengths,
            target_lengths,
            self.durations,
            params_tensor(self.options, False, 0.0, False, self.sigma),
        )
        of_rows = row_labels, row_samples, stats, head_stats, coefficients, posteriors
        return at_least(loss, least_loss), *of_rows

    def bprop(
        self,
        logits: Tensor,
        duration_logits: Tensor,
        targets: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        out: Any,
        dout: Any,
    ) -> tuple[Tensor, ...]:
        refuse_recorded_bprop(ops.gather, self.caller)
        row_dloss = ops.gather(dout[0], out[2], 0)
        of_rows = out[1], out[3], out[4], out[5], out[6], row_dloss
        dlogits, dhead = self.gradients(logits, duration_logits, *of_rows)
        return dlogits, dhead, targets, logit_lengths, target_lengths


class _TdtGradients(nn.Cell):
    """-> gradients of both heads' logits, in their dtypes"""

    def __init__(self, caller: str, options: tuple) -> None:
        super().__init__()
        self.caller = caller
        self.options = options
        self.head = DurationHead(options[1])

    def construct(
        self,
        logits: Tensor,
        duration_logits: Tensor,
        row_labels: Tensor,
        stats: Tensor,
        head_stats: Tensor,
        coefficients: Tensor,
        posteriors: Tensor,
        row_dloss: Tensor,
    ) -> tuple[Tensor, Tensor]:
        params = params_tensor(self.options, False)
        dlogits = get_ops().row_grad(logits, row_labels, stats, coefficients, row_dloss, params)
        head = duration_logits.astype(ms.float32)
        of_cells = head_stats, coefficients, posteriors, row_dloss
        dhead = self.head.gradient(head, row_labels, *of_cells)
        return dlogits, dhead.astype(duration_logits.dtype)

    def bprop(
        self,
        logits: Tensor,
        duration_logits: Tensor,
        row_labels: Tensor,
        stats: Tensor,
        head_stats: Tensor,
        coefficients: Tensor,
        posteriors: Tensor,
        row_dloss: Tensor,
        out: Any,
        dout: Any,
    ) -> NoReturn:
        refuse_double_backward(self.caller)
