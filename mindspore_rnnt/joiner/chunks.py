# SPDX-License-Identifier: Apache-2.0
"""The three phases over logits that exist a chunk of rows at a time.

    row_stats   for each chunk: hidden -> logits -> stats                 (n, V) -> (n, 4)
    lattice     once, for all rows                                        (N, 4) -> (B,) and (N, 3)
    row_grad    for each chunk: hidden -> logits -> dlogits -> gradients  (n, V) -> (n, V)

Kept logits would cost N * V values and save one product of four, the second hidden -> logits.
"""

from collections.abc import Callable
from typing import Any, NoReturn

import mindspore as ms
from mindspore import Tensor, nn, ops

from ..kernels import prepare_ops
from ..kernels.gradients import refuse_double_backward
from ..kernels.recorder import refuse_recorded_bprop
from ..launch import InGivenPrecision, is_compiled, params_tensor


class Chunks(InGivenPrecision):
    """What both passes over the chunks share.

    Inputs of both:
        frames (B * max_T, J), steps (B * max_U1, J): what is added for each row
        weight (V, J), or (V + D, J) of a joiner that predicts durations
        step_labels (B * max_U1,) int32: the label that may follow a step, or -1
        frame_rows, step_rows (N,) int32: from each row into frames and steps

    Both have a `bprop` of their own and therefore no parameter: such a Cell has gradients for its
    inputs only. Loops count in Tensors and take sizes from shapes, so that one graph serves every
    number of rows, and they hold no branch, which a loop in a compiled `bprop` cannot have.
    """

    def __init__(self, chunk_rows: int, activation: nn.Cell, options: tuple, caller: str) -> None:
        super().__init__()
        self.caller = caller
        self.chunk_rows = chunk_rows
        self.activation = activation
        self.options = options
        self.range = ops.Range()
        self.zeros_like = ops.ZerosLike()
        self.matmul = ops.MatMul()
        self.matmul_nt = ops.MatMul(transpose_b=True)
        self.matmul_tn = ops.MatMul(transpose_a=True)

    def chunks(self, frame_rows: Tensor) -> tuple:
        """All rows N, rows of a chunk n, their offsets in the chunk, and the first row of all.

        Chunks are equal, of `chunk_rows` at most. The last one is moved forward to end at N: less
        than one row per chunk is computed twice, and counted once.
        """
        N = frame_rows.shape[0]
        count = N // self.chunk_rows + 1
        n = (N + count - 1) // count
        zero, one = ms.Tensor(0, ms.int32), ms.Tensor(1, ms.int32)
        return N, n, self.range(zero, ops.scalar_to_tensor(n, ms.int32), one), zero

    def hidden(self, frames: Tensor, steps: Tensor, frame: Tensor, step: Tensor) -> Tensor:
        return self.activation(ops.gather(frames, frame, 0) + ops.gather(steps, step, 0))

    def params(self) -> Tensor:
        return params_tensor(self.options, not is_compiled(ops.gather))


class ChunkedPhases(Chunks):
    """-> loss (B,); then stats (N, 4) and coefficients (N, 3), which are for `bprop` only.

    The blank of `options` counts from the front. A subclass may have more columns of stats and of
    coefficients, if its gradients read them.
    """

    stats_columns = 4

    def __init__(
        self,
        chunk_rows: int,
        activation: nn.Cell,
        activation_grad: Callable,
        options: tuple,
        caller: str,
    ) -> None:
        super().__init__(chunk_rows, activation, options, caller)
        self.row_stats, self.lattice = prepare_ops().row_stats, prepare_ops().lattice
        of_gradients = chunk_rows, activation, activation_grad, options, caller
        self.gradients = self.gradients_type()(*of_gradients)
        self.blank, self.fused_log_softmax = options[0], options[2]

    def construct(
        self,
        frames: Tensor,
        steps: Tensor,
        weight: Tensor,
        step_labels: Tensor,
        frame_rows: Tensor,
        step_rows: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        N, n, offsets, start = self.chunks(frame_rows)
        stats = ops.zeros((N, self.stats_columns), ms.float32)
        while start < N:
            rows = offsets + ops.minimum(start, N - n)
            frame, step = ops.gather(frame_rows, rows, 0), ops.gather(step_rows, rows, 0)
            labels = ops.gather(step_labels, step, 0)
            of_chunk = self.stats_of(frames, steps, weight, frame, step, labels)
            stats = ops.tensor_scatter_update(stats, ops.expand_dims(rows, 1), of_chunk)
            start = start + n
        of_rows = frames, steps, frame_rows, step_rows
        loss, coefficients = self.lattice_of(stats, *of_rows, logit_lengths, target_lengths)
        return self.at_least_zero(loss, step_labels), stats, coefficients

    def gradients_type(self) -> type["ChunkedGradients"]:
        return ChunkedGradients

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
        """Loss (B,) and coefficients (N, 3) of rows that are all cells of the lattice, in order."""
        return self.lattice(stats, logit_lengths, target_lengths, self.params())

    def at_least_zero(self, loss: Tensor, step_labels: Tensor) -> Tensor:
        """Probabilities of paths that exclude each other, as they do unless a label is the blank: a
        sum beyond 1 is rounding. The lattice sees no labels, and in this Cell the bound stops no
        gradient, which is `bprop`."""
        if not self.fused_log_softmax:
            return loss
        no_blank = (step_labels.reshape((loss.shape[0], -1)) != self.blank).all(axis=1)
        return ops.select(ops.logical_and(no_blank, loss < 0), self.zeros_like(loss), loss)

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
        logits = self.matmul_nt(hidden, weight.astype(hidden.dtype))
        return self.row_stats(logits, labels, self.params())

    def bprop(
        self,
        frames: Tensor,
        steps: Tensor,
        weight: Tensor,
        step_labels: Tensor,
        frame_rows: Tensor,
        step_rows: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        out: Any,
        dout: Any,
    ) -> tuple[Tensor, ...]:
        refuse_recorded_bprop(ops.gather, self.caller)
        inputs = frames, steps, weight, step_labels, frame_rows, step_rows
        return (
            *self.gradients(*inputs, *out[1:], dout[0]),
            self.zeros_like(step_labels),
            self.zeros_like(frame_rows),
            self.zeros_like(step_rows),
            self.zeros_like(logit_lengths),
            self.zeros_like(target_lengths),
        )


class ChunkedGradients(Chunks):
    """-> gradients of frames, steps and weight, summed in float32."""

    def __init__(
        self,
        chunk_rows: int,
        activation: nn.Cell,
        activation_grad: Callable,
        options: tuple,
        caller: str,
    ) -> None:
        super().__init__(chunk_rows, activation, options, caller)
        self.row_grad = prepare_ops().row_grad
        self.activation_grad = activation_grad

    def construct(
        self,
        frames: Tensor,
        steps: Tensor,
        weight: Tensor,
        step_labels: Tensor,
        frame_rows: Tensor,
        step_rows: Tensor,
        stats: Tensor,
        coefficients: Tensor,
        dloss: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        step_dloss = _per_step(dloss, steps)
        dframes = ops.zeros(frames.shape, ms.float32)
        dsteps = ops.zeros(steps.shape, ms.float32)
        dweight = ops.zeros(weight.shape, ms.float32)
        N, n, offsets, start = self.chunks(frame_rows)
        while start < N:
            rows = offsets + ops.minimum(start, N - n)
            frame, step = ops.gather(frame_rows, rows, 0), ops.gather(step_rows, rows, 0)
            row_dloss = ops.gather(step_dloss, step, 0)
            row_dloss = ops.select(rows < start, self.zeros_like(row_dloss), row_dloss)
            of_rows = (
                ops.gather(step_labels, step, 0),
                ops.gather(stats, rows, 0),
                ops.gather(coefficients, rows, 0),
                row_dloss,
            )
            dsum, of_weight = self.gradients_of(frames, steps, weight, frame, step, of_rows)
            dframes = dframes + ops.unsorted_segment_sum(dsum, frame, frames.shape[0])
            dsteps = dsteps + ops.unsorted_segment_sum(dsum, step, steps.shape[0])
            dweight = dweight + of_weight
            start = start + n
        return (
            dframes.astype(frames.dtype),
            dsteps.astype(steps.dtype),
            dweight.astype(weight.dtype),
        )

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
        hidden = self.hidden(frames, steps, frame, step)
        weight = weight.astype(hidden.dtype)
        logits = self.matmul_nt(hidden, weight)
        dlogits = self.row_grad(logits, *of_rows, self.params())
        dsum = self.activation_grad(hidden, self.matmul(dlogits, weight))
        dweight = self.matmul_tn(dlogits, hidden)
        return dsum.astype(ms.float32), dweight.astype(ms.float32)

    def bprop(
        self,
        frames: Tensor,
        steps: Tensor,
        weight: Tensor,
        step_labels: Tensor,
        frame_rows: Tensor,
        step_rows: Tensor,
        stats: Tensor,
        coefficients: Tensor,
        dloss: Tensor,
        out: Any,
        dout: Any,
    ) -> NoReturn:
        refuse_double_backward(self.caller)


def _per_step(dloss: Tensor, steps: Tensor) -> Tensor:
    """(B,) -> (B * max_U1,)"""
    B = dloss.shape[0]
    dloss = ops.broadcast_to(ops.expand_dims(dloss, 1), (B, steps.shape[0] // B))
    return dloss.reshape((-1,))
