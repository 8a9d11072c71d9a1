# SPDX-License-Identifier: Apache-2.0
"""The phases of a token-and-duration transducer on logits that are kept.

row_stats   of tokens (.., V); log-probs of durations (.., D)
lattice     once
row_grad    of both heads
"""

from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
from mindspore import Tensor, nn, ops

from ..kernels import get_ops
from ..kernels.gradients import refuse_double_backward
from ..kernels.recorder import refuse_recorded_bprop
from ..launch import params_tensor
from ..row_labels import at_least


@lru_cache
def tdt_phases(caller: str, durations: tuple, options: tuple, sigma: float) -> "TdtPhases":
    """The Cell for these options; a graph takes it as it is, too."""
    return TdtPhases(caller, durations, options, sigma)


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
        log_probs = get_ops().duration_log_probs(duration_logits, row_labels)
        loss, coefficients, posteriors = get_ops().tdt_lattice(
            stats,
            log_probs,
            logit_lengths,
            target_lengths,
            self.durations,
            params_tensor(self.options, False, 0.0, False, self.sigma),
        )
        of_rows = row_labels, row_samples, stats, coefficients, posteriors
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
        of_rows = out[1], out[3], out[4], out[5], row_dloss
        dlogits, dhead = self.gradients(logits, duration_logits, *of_rows)
        return dlogits, dhead, targets, logit_lengths, target_lengths


class _TdtGradients(nn.Cell):
    """-> gradients of both heads' logits, in their dtypes"""

    def __init__(self, caller: str, options: tuple) -> None:
        super().__init__()
        self.caller = caller
        self.options = options

    def construct(
        self,
        logits: Tensor,
        duration_logits: Tensor,
        row_labels: Tensor,
        stats: Tensor,
        coefficients: Tensor,
        posteriors: Tensor,
        row_dloss: Tensor,
    ) -> tuple[Tensor, Tensor]:
        params = params_tensor(self.options, False)
        dlogits = get_ops().row_grad(logits, row_labels, stats, coefficients, row_dloss, params)
        of_cells = coefficients, posteriors, row_dloss, params
        return dlogits, get_ops().duration_grad(duration_logits, row_labels, *of_cells)

    def bprop(
        self,
        logits: Tensor,
        duration_logits: Tensor,
        row_labels: Tensor,
        stats: Tensor,
        coefficients: Tensor,
        posteriors: Tensor,
        row_dloss: Tensor,
        out: Any,
        dout: Any,
    ) -> NoReturn:
        refuse_double_backward(self.caller)
