# SPDX-License-Identifier: Apache-2.0
"""PrunedRNNTLoss: the simple joiner on the whole lattice, the real one where it matters."""

import math
from collections.abc import Sequence
from typing import Any

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops

from ..checks import check_dims, check_labels, check_lengths, describe_options
from ..joiner.protocol import OwnsJoiner
from ..kernels.recorder import in_given_precision
from ..launch import (
    InGivenPrecision,
    as_int32,
    at_least_zero,
    dtypes_and_shapes,
    is_compiled,
    reduce_losses,
)
from ..row_labels import step_labels
from .checks import check_prune_range, check_scales, check_schedule, check_vocab_size
from .ranges import window_starts
from .simple_phases import SimplePhases, simple_inputs
from .window_phases import WindowPhases
from .windows import window_steps, with_no_cell

_CALLER = "PrunedRNNTLoss"
_DIMS = {
    "encoder_out": ("B", "max_T", "De"),
    "predictor_out": ("B", "max_U + 1", "Dp"),
    "targets": ("B", "max_U"),
    "logit_lengths": ("B",),
    "target_lengths": ("B",),
}
_INPUTS = tuple(_DIMS)


class PrunedRNNTLoss(OwnsJoiner):
    r"""
    The pruned loss of `Pruned RNN-T for fast, memory-efficient ASR training
    <https://arxiv.org/abs/2206.13236>`_ , from the outputs of encoder and predictor: a joiner that
    only adds finds a window of `prune_range` steps for each frame, the real one runs there only.

    .. math::
        loss = a \cdot simple + b \cdot pruned

    In training call :math:`n < W` of :math:`W` `warmup_steps`
    :math:`a = 1 - (n / W)(1 - simple\_scale)` and :math:`b = 0.1 + 0.9\, n / W`, afterwards
    `simple_scale` and 1. The Cell owns the two projections of the simple joiner and counts
    :math:`n` in a Parameter without gradient, so that all are in checkpoints. It never holds the
    logits of all windows, see `memory_budget`.

    Args:
        joiner (Cell): a :class:`mindspore_rnnt.PackedJoiner` , or any Cell like it: see the
            protocol in :class:`mindspore_rnnt.JoinerRNNTLoss` .
        vocab_size (int): classes, blank included: those of the joiner.
        prune_range (int, optional): steps of a window, at least 2. Default: ``5`` .
        lm_only_scale, am_only_scale (float, optional): as in
            :func:`mindspore_rnnt.rnnt_loss_simple` . Default: ``0.25`` , ``0.0`` .
        simple_scale (float, optional): weight of the simple loss after the warm-up, at least 0.
            Default: ``0.5`` .
        warmup_steps (int, optional): training calls in which the windows are not yet to be relied
            on. Default: ``2000`` .
        memory_budget, blank, clamp, reduction, fastemit_lambda, zero_infinity, validate: as in
            :class:`mindspore_rnnt.JoinerRNNTLoss` ; half of the budget is for rows of the joiner;
            `clamp` and `fastemit_lambda` are of the pruned loss alone.

    Inputs:
        - **encoder_out** (Tensor) - of shape :math:`(B, max_T, D_e)`.
        - **predictor_out** (Tensor) - of shape :math:`(B, max_U + 1, D_p)`.
        - **targets** (Tensor) - labels, int32 or int64 of shape :math:`(B, max_U)`.
        - **logit_lengths** (Tensor) - frames, int32 or int64 of shape :math:`(B,)`.
        - **target_lengths** (Tensor) - labels, int32 or int64 of shape :math:`(B,)`.

    Outputs:
        Tensor, float32: the loss, a scalar, or of shape :math:`(B,)` if `reduction` is ``'none'`` .

    Raises:
        TypeError: If an argument is of the wrong type or dtype.
        ValueError: If a rank, size, option, length or label does not fit, or if `vocab_size` is not
            the joiner's.
        RuntimeError: If the gradient is differentiated again.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> import mindspore as ms
        >>> from mindspore import Tensor, ops
        >>> from mindspore_rnnt import PackedJoiner, PrunedRNNTLoss
        >>> joiner = PackedJoiner(encoder_dim=8, predictor_dim=6, joiner_dim=16, vocab_size=10)
        >>> loss_fn = PrunedRNNTLoss(joiner, vocab_size=10, prune_range=2, blank=0).set_train()
        >>> encoder_out, predictor_out = ops.ones((2, 4, 8)), ops.ones((2, 3, 6))
        >>> targets = Tensor([[1, 2], [3, -1]], ms.int32)
        >>> loss = loss_fn(encoder_out, predictor_out, targets, Tensor([4, 3]), Tensor([2, 1]))
        >>> print(loss.shape, loss_fn.training_calls.asnumpy())
        () 1
    """

    def __init__(
        self,
        joiner: nn.Cell,
        vocab_size: int,
        prune_range: int = 5,
        lm_only_scale: float = 0.25,
        am_only_scale: float = 0.0,
        simple_scale: float = 0.5,
        warmup_steps: int = 2000,
        memory_budget: str | int = "256MB",
        blank: int = -1,
        clamp: float = -1.0,
        reduction: str = "mean",
        *,
        fastemit_lambda: float = 0.0,
        zero_infinity: bool = False,
        validate: bool = True,
    ) -> None:
        super().__init__()
        options = (blank, clamp, True, fastemit_lambda, zero_infinity)
        self.own(_CALLER, joiner, memory_budget, options, reduction, validate)
        scales = (lm_only_scale, am_only_scale)
        check_scales(_CALLER, *scales)
        check_schedule(_CALLER, simple_scale, warmup_steps)
        check_prune_range(_CALLER, prune_range)
        check_vocab_size(_CALLER, vocab_size, self.classes)
        self.prune_range = int(prune_range)
        self.schedule = _Schedule(float(simple_scale), int(warmup_steps))
        self.simple_am_proj = nn.Dense(self.widths[0], self.classes)
        self.simple_lm_proj = nn.Dense(self.widths[1], self.classes)
        self.training_calls = Parameter(
            Tensor(0, ms.int32), name="training_calls", requires_grad=False
        )
        simple_options = (self.blank, -1.0, True, 0.0, zero_infinity)
        self.simple_phases = SimplePhases(_CALLER, tuple(map(float, scales)), simple_options)
        # The other half is for the simple joiner, which holds several tensors of (B, max_T, V).
        self.chunk_rows = max(1, self.chunk_rows // 2)
        self.pruned_phases = self.phases_of(WindowPhases)
        self.described = (
            f"prune_range={prune_range}, lm_only_scale={lm_only_scale}, "
            f"am_only_scale={am_only_scale}, simple_scale={simple_scale}, "
            f"warmup_steps={warmup_steps}, memory_budget={memory_budget!r}, "
            f"{describe_options(*options)}, reduction={reduction!r}, validate={validate}"
        )

    def construct(
        self,
        encoder_out: Tensor,
        predictor_out: Tensor,
        targets: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
    ) -> Tensor:
        inputs = (encoder_out, predictor_out, targets, logit_lengths, target_lengths)
        dtypes, shapes = dtypes_and_shapes(_CALLER, _INPUTS, inputs)
        _check_tensors(dtypes, shapes, self.widths)
        if is_compiled(ops.clamp):
            return self.loss(*inputs)
        if self.validate:
            labels, T, U = (x.asnumpy() for x in inputs[2:])
            check_lengths(_CALLER, "logit_lengths", T, 1, encoder_out.shape[1], "encoder_out")
            check_lengths(_CALLER, "target_lengths", U, 0, predictor_out.shape[1] - 1, "targets")
            check_labels(_CALLER, labels, U, self.classes, "the joiner")
        return in_given_precision(self.loss, *inputs)

    def extend_repr(self) -> str:
        return self.described

    def loss(
        self,
        encoder_out: Tensor,
        predictor_out: Tensor,
        targets: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
    ) -> Tensor:
        lengths = as_int32(logit_lengths), as_int32(target_lengths)
        max_u1 = predictor_out.shape[1]
        labels, fits = step_labels(as_int32(targets), lengths[1], self.classes, max_u1)
        am, lm = self.simple_am_proj(encoder_out), self.simple_lm_proj(predictor_out)
        simple, coefficients, _ = self.simple_phases(
            *simple_inputs(am, lm, labels, *lengths), *lengths
        )
        coefficients = ops.stop_gradient(coefficients)
        starts = window_starts(
            coefficients[:, :, :, 1], coefficients[:, :, :, 2], *lengths, self.prune_range
        )
        pruned = self.pruned_loss(encoder_out, predictor_out, starts, labels, lengths)
        simple = at_least_zero(simple, labels, self.blank)
        losses = self.schedule(simple, pruned, self.training_calls + 0)
        if self.training:
            ops.assign_add(self.training_calls, ms.Tensor(1, ms.int32))
        losses = ops.select(fits, losses, ops.full_like(losses, math.nan))
        return reduce_losses(losses, self.reduction)

    def pruned_loss(
        self,
        encoder_out: Tensor,
        predictor_out: Tensor,
        starts: Tensor,
        labels: Tensor,
        lengths: tuple[Tensor, Tensor],
    ) -> Tensor:
        """Of the joiner on the windows, which has one more step than the predictor: of no cell."""
        B, max_t, max_u1 = encoder_out.shape[0], encoder_out.shape[1], predictor_out.shape[1]
        S = _window(self.prune_range, max_u1)
        window = window_steps(ops.stop_gradient(starts), lengths[0], lengths[1], S, max_u1)
        samples = ops.range(0, B, 1).reshape((-1, 1, 1))
        step_rows = samples * (max_u1 + 1) + window
        frame_rows = ops.range(0, B * max_t, 1).reshape((B, max_t, 1)) + 0 * window
        frames, steps, weight = self.joined(encoder_out, predictor_out)
        steps = steps.reshape((B, max_u1, -1))
        steps = ops.cat((steps, ops.zeros((B, 1, steps.shape[2]), steps.dtype)), 1)
        losses, _, _ = self.pruned_phases(
            frames,
            steps.reshape((-1, steps.shape[2])),
            weight,
            with_no_cell(labels).reshape((-1,)),
            frame_rows.reshape((-1,)).astype(ms.int32),
            step_rows.reshape((-1,)).astype(ms.int32),
            *lengths,
        )
        return losses


class _Schedule(InGivenPrecision):
    """a * simple + b * pruned, for the number of training calls so far. A factor of 0 leaves its
    term out, whatever the loss."""

    def __init__(self, simple_scale: float, warmup_steps: int) -> None:
        super().__init__()
        self.simple_scale, self.warmup_steps = simple_scale, warmup_steps

    def construct(self, simple: Tensor, pruned: Tensor, calls: Tensor) -> Tensor:
        if self.warmup_steps == 0:
            return pruned + self.simple_scale * simple if self.simple_scale > 0.0 else pruned
        part = ops.minimum(calls.astype(ms.float32) / self.warmup_steps, 1.0)
        a, b = 1.0 - part * (1.0 - self.simple_scale), 0.1 + 0.9 * part
        return ops.where(a > 0, a * simple, 0.0) + b * pruned


@ms.constexpr(check=False)
def _window(prune_range: int, max_u1: int | None) -> int:
    """Steps of a window: never more than there are, unless a graph has yet to learn how many."""
    return prune_range if max_u1 is None else min(prune_range, max_u1)


@ms.constexpr(check=False)
def _check_tensors(dtypes: Sequence[Any], shapes: Sequence[Any], widths: tuple) -> None:
    check_dims(_CALLER, _DIMS, dtypes, shapes, De=widths[0], Dp=widths[1])
