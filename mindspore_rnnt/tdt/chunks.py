# SPDX-License-Identifier: Apache-2.0
"""The chunked phases of a token-and-duration transducer.

    row_stats   for each chunk: hidden -> logits of tokens -> stats      (n, V) -> (n, 4)
                                hidden -> logits of durations, kept      (n, D)
    lattice     once, for all rows               (N, 4) and (N, D) -> (B,), (N, 3) and (N, D)
    row_grad    for each chunk, of both heads    (n, V) and (n, D) -> gradients

The weight has the rows of both heads, (V + D, J), the durations' last.
"""

from collections.abc import Callable

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

from ..joiner.chunks import ChunkedGradients, ChunkedPhases
from ..kernels import get_ops, prepare_ops
from ..launch import params_tensor

_STATS, _COEFFICIENTS = 4, 3  # columns of a row; those of its durations follow


class TdtChunks(ChunkedPhases):
    """-> loss (B,); then, for `bprop` only,

    stats (N, 4 + D)             of tokens | logits of durations
    coefficients (N, 3 + D)      of tokens | posteriors of durations
    """

    def __init__(
        self,
        chunk_rows: int,
        activation: nn.Cell,
        activation_grad: Callable,
        options: tuple,
        caller: str,
        durations: tuple[int, ...],
        sigma: float,
    ) -> None:
        super().__init__(chunk_rows, activation, activation_grad, options, caller)
        self.lattice = prepare_ops().tdt_lattice
        self.num_durations = len(durations)
        self.stats_columns = _STATS + self.num_durations
        self.durations = Tensor(np.array(durations, np.int32))
        self.sigma = sigma

    def gradients_type(self) -> type[ChunkedGradients]:
        return TdtChunkedGradients

    def stats_of(
        self,
        frames: Tensor,
        steps: Tensor,
        weight: Tensor,
        frame: Tensor,
        step: Tensor,
        labels: Tensor,
    ) -> Tensor:
        hidden = self.hidden(frames, steps, frame, step)
        weight = weight.astype(hidden.dtype)
        V = weight.shape[0] - self.num_durations
        stats = self.row_stats(self.matmul_nt(hidden, weight[:V]), labels, self.params())
        of_durations = self.matmul_nt(hidden, weight[V:])
        return ops.cat((stats, of_durations.astype(ms.float32)), 1)

    def lattice_of(
        self,
        stats: Tensor,
        frames: Tensor,
        steps: Tensor,
        frame_rows: Tensor,
        step_rows: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
    ) -> tuple[Tensor, Tensor]:
        all_are_cells = self.zeros_like(frame_rows)
        log_probs = get_ops().duration_log_probs(stats[:, _STATS:], all_are_cells)
        loss, coefficients, posteriors = self.lattice(
            stats[:, :_STATS],
            log_probs,
            logit_lengths,
            target_lengths,
            self.durations,
            params_tensor(self.options, False, 0.0, False, self.sigma),
        )
        return loss, ops.cat((coefficients, posteriors), 1)


class TdtChunkedGradients(ChunkedGradients):
    """-> gradients of frames, steps and weight, summed in float32."""

    def gradients_of(
        self,
        frames: Tensor,
        steps: Tensor,
        weight: Tensor,
        frame: Tensor,
        step: Tensor,
        of_rows: tuple[Tensor, ...],
    ) -> tuple[Tensor, Tensor]:
        """Gradients of a chunk: of frames + steps for each row (n, J), and of weight."""
        labels, stats, coefficients, row_dloss = of_rows
        hidden = self.hidden(frames, steps, frame, step)
        weight = weight.astype(hidden.dtype)
        D = stats.shape[1] - _STATS
        of_tokens, of_durations = weight[:-D], weight[-D:]
        of_arcs = coefficients[:, :_COEFFICIENTS]
        dhead = (
            get_ops()
            .duration_grad(
                stats[:, _STATS:],
                labels,
                of_arcs,
                coefficients[:, _COEFFICIENTS:],
                row_dloss,
                self.params(),
            )
            .astype(hidden.dtype)
        )
        logits = self.matmul_nt(hidden, of_tokens)
        tokens = labels, stats[:, :_STATS], of_arcs, row_dloss
        dlogits = self.row_grad(logits, *tokens, self.params())
        dhidden = self.matmul(dlogits, of_tokens) + self.matmul(dhead, of_durations)
        dweight = ops.cat((self.matmul_tn(dlogits, hidden), self.matmul_tn(dhead, hidden)), 0)
        dsum = self.activation_grad(hidden, dhidden)
        return dsum.astype(ms.float32), dweight.astype(ms.float32)
