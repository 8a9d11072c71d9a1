# SPDX-License-Identifier: Apache-2.0
"""rnnt_loss_pruned: the loss on a window of steps for each frame."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NoReturn

import mindspore as ms
from mindspore import Tensor, nn, ops

from ..kernels import get_ops
from ..kernels.gradients import refuse_double_backward
from ..kernels.recorder import refuse_recorded_bprop
from ..launch import (
    as_int32,
    at_least_zero,
    dtypes_and_shapes,
    is_compiled,
    launch,
    params_tensor,
    reduce_losses,
)
from ..row_labels import step_labels
from .checks import PRUNED_INPUTS, check_pruned, check_pruned_values
from .windows import from_lattice, to_lattice, window_steps, with_no_cell

_CALLER = "rnnt_loss_pruned"


def rnnt_loss_pruned(
    logits: Tensor,
    starts: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = -1,
    clamp: float = -1.0,
    reduction: str = "mean",
    *,
    fastemit_lambda: float = 0.0,
    zero_infinity: bool = False,
    validate: bool = True,
) -> Tensor:
    r"""
    The RNN-T loss over the paths that stay inside a window of :math:`S` steps in each frame.

    It is an upper bound of :func:`mindspore_rnnt.rnnt_loss` on the whole lattice, and close to it
    where the windows hold most of the probability (see :func:`mindspore_rnnt.prune_ranges`), for
    :math:`S / (U + 1)` of the memory and time.

    Args:
        logits (Tensor): of a joiner that ran on the windows only, float32, float16 or bfloat16 of
            shape :math:`(B, max_T, S, V)`: entry :math:`(b, t, i)` is that of frame :math:`t` after
            :math:`starts[b, t] + i` labels. What lies behind a sample's labels or frames is never
            read, and its gradient is 0.
        starts (Tensor): first step of each window, int32 or int64 of shape :math:`(B, max_T)`.
            Cells outside the windows do not exist. Windows that do not reach the last label leave
            no path: the loss of that sample is infinite, its gradient 0.
        targets, logit_lengths, target_lengths, blank, clamp, reduction: as in
            :func:`mindspore_rnnt.rnnt_loss` .
        fastemit_lambda, zero_infinity, validate: likewise.

    Returns:
        Tensor, float32: the loss, a scalar, or of shape :math:`(B,)` if `reduction` is ``'none'`` .

    Raises:
        TypeError: If an argument is of the wrong type or dtype.
        ValueError: If a rank, size, option, length, start or label does not fit.
        RuntimeError: If the gradient is differentiated again.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> from mindspore import Tensor, ops
        >>> from mindspore_rnnt import rnnt_loss_pruned
        >>> logits = ops.zeros((1, 3, 2, 5))  # two steps in each of three frames
        >>> lengths = Tensor([3]), Tensor([2])
        >>> loss = rnnt_loss_pruned(logits, Tensor([[0, 0, 1]]), Tensor([[1, 2]]), *lengths)
        >>> print(f"{float(loss):.4f}")
        7.3540
    """
    inputs = (logits, starts, targets, logit_lengths, target_lengths)
    options = (blank, clamp, True, fastemit_lambda, zero_infinity)
    compiled = is_compiled(ops.clamp)
    dtypes, shapes = dtypes_and_shapes(_CALLER, PRUNED_INPUTS, inputs)
    _check(dtypes, shapes, options, reduction, validate)
    if validate and not compiled:
        check_pruned_values(_CALLER, logits.shape, *[x.asnumpy() for x in inputs[1:]])

    def reduced() -> Tensor:
        return reduce_losses(_losses(inputs, options), reduction)

    return launch(reduced)


def _losses(inputs: tuple, options: tuple) -> Tensor:
    logits, starts, targets, logit_lengths, target_lengths = inputs
    starts, targets = as_int32(starts), as_int32(targets)
    logit_lengths, target_lengths = as_int32(logit_lengths), as_int32(target_lengths)
    _, max_t, S, V = logits.shape
    max_u1 = targets.shape[1] + 1
    labels, fits = step_labels(targets, target_lengths, V, max_u1)
    lattice_labels = with_no_cell(labels)
    steps = window_steps(starts, logit_lengths, target_lengths, S, max_u1)
    row_labels = ops.gather(lattice_labels, steps.reshape((steps.shape[0], -1)), 1, 1)
    frames = ops.range(0, logits.shape[0] * max_t, 1).reshape((-1, max_t, 1))
    cells = (frames * (max_u1 + 1) + steps).astype(ms.int32)
    losses, _, _ = pruned_phases(options)(
        logits,
        row_labels.reshape(steps.shape),
        cells,
        lattice_labels,
        logit_lengths,
        target_lengths,
    )
    losses = at_least_zero(losses, labels, _from_front(options[0], V))
    within = ops.logical_and(starts >= 0, starts <= ops.expand_dims(target_lengths, 1))
    is_frame = ops.range(0, max_t, 1) < ops.expand_dims(logit_lengths, 1)
    fits = ops.logical_and(fits, ops.logical_or(within, ops.logical_not(is_frame)).all(axis=1))
    return ops.select(fits, losses, ops.full_like(losses, math.nan))


def _from_front(blank: int, V: int) -> int:
    return blank if blank >= 0 else blank + V


@lru_cache
def pruned_phases(options: tuple) -> "_PrunedPhases":
    """The Cell for these options; a graph takes it as it is, too."""
    return _PrunedPhases(options)


class _PrunedPhases(nn.Cell):
    """-> loss (B,); then stats and coefficients of the windows' cells, which are for `bprop` only.

    Inputs: logits (B, max_T, S, V); row_labels and cells (B, max_T, S), the label of each row and
    its place in a lattice of max_U1 + 1 columns; that lattice's labels of steps, for its shape;
    lengths (B,).
    """

    def __init__(self, options: tuple) -> None:
        super().__init__()
        self.options = options
        self.gradients = _PrunedGradients(options)

    def construct(
        self,
        logits: Tensor,
        row_labels: Tensor,
        cells: Tensor,
        labels: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
    ) -> tuple:
        params = params_tensor(self.options, False)
        stats = get_ops().row_stats(logits, row_labels, params)
        rows, shape = cells.reshape((-1,)), (*logits.shape[:2], labels.shape[1])
        lattice = to_lattice(stats.reshape((-1, 4)), rows, shape)
        loss, coefficients = get_ops().lattice(lattice, logit_lengths, target_lengths, params)
        return loss, stats, from_lattice(coefficients, rows).reshape((*cells.shape, 3))

    def bprop(
        self,
        logits: Tensor,
        row_labels: Tensor,
        cells: Tensor,
        labels: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        out: Any,
        dout: Any,
    ) -> tuple[Tensor, ...]:
        refuse_recorded_bprop(ops.gather, _CALLER)
        dlogits = self.gradients(logits, row_labels, out[1], out[2], dout[0])
        return dlogits, row_labels, cells, labels, logit_lengths, target_lengths


class _PrunedGradients(nn.Cell):
    """-> gradient of the logits"""

    def __init__(self, options: tuple) -> None:
        super().__init__()
        self.options = options

    def construct(
        self, logits: Tensor, row_labels: Tensor, stats: Tensor, coefficients: Tensor, dloss: Tensor
    ) -> Tensor:
        dloss = ops.broadcast_to(dloss.reshape((-1, 1, 1)), row_labels.shape)
        params = params_tensor(self.options, False)
        return get_ops().row_grad(logits, row_labels, stats, coefficients, dloss, params)

    def bprop(
        self,
        logits: Tensor,
        row_labels: Tensor,
        stats: Tensor,
        coefficients: Tensor,
        dloss: Tensor,
        out: Any,
        dout: Any,
    ) -> NoReturn:
        refuse_double_backward(_CALLER)


@ms.constexpr(check=False)
def _check(
    dtypes: Sequence[Any], shapes: Sequence[Any], options: tuple, reduction: str, validate: bool
) -> None:
    check_pruned(_CALLER, dtypes, shapes, options, reduction, validate)
