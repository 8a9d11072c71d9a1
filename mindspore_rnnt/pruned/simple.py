# SPDX-License-Identifier: Apache-2.0
"""rnnt_loss_simple and simple_posteriors: the lattice of a joiner that only adds."""

import math
from collections.abc import Sequence
from typing import Any, NoReturn

import mindspore as ms
from mindspore import Tensor, nn, ops

from ..kernels.gradients import refuse_gradient
from ..launch import as_int32, at_least_zero, dtypes_and_shapes, is_compiled, launch, reduce_losses
from ..posteriors import RnntPosteriors
from ..row_labels import step_labels
from .checks import SIMPLE_INPUTS, check_simple, check_simple_values
from .simple_phases import simple_inputs, simple_phases


def rnnt_loss_simple(
    am: Tensor,
    lm: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = -1,
    reduction: str = "mean",
    *,
    lm_only_scale: float = 0.0,
    am_only_scale: float = 0.0,
    zero_infinity: bool = False,
    validate: bool = True,
) -> Tensor:
    r"""
    The RNN-T loss of the simplest joiner, logits :math:`am[t] + lm[u]`, which are never formed: the
    normaliser of all cells is one matrix product.

    The source is `Pruned RNN-T for fast, memory-efficient ASR training
    <https://arxiv.org/abs/2206.13236>`_ . With the scales :math:`l` and :math:`a`, the score of
    class :math:`k` in cell :math:`(t, u)` is

    .. math::
        (1 - l - a) \log softmax_k(am[t] + lm[u]) + l \log softmax_k(lm[u]) +
        a \log softmax_k(am[t] + \log m)

    with :math:`m` the mean of :math:`softmax(lm[u])` over the sample's :math:`U + 1` steps.

    .. warning::
        `k2.rnnt_loss_smoothed` takes `lm` before `am`, and both of its scales are 0.1 by default.
        It takes :math:`m` over the whole batch, padding included.

    Args:
        am (Tensor): from the encoder, float32, float16 or bfloat16 of shape :math:`(B, max_T, V)`.
        lm (Tensor): from the predictor, of shape :math:`(B, max_U + 1, V)`.
        targets, logit_lengths, target_lengths, blank, reduction, zero_infinity, validate: as in
            :func:`mindspore_rnnt.rnnt_loss` .
        lm_only_scale (float, optional): weight :math:`l` of the predictor alone, at least 0.
            Default: ``0.0`` .
        am_only_scale (float, optional): weight :math:`a` of the encoder alone, at least 0;
            :math:`l + a \le 1`. Default: ``0.0`` .

    Returns:
        Tensor, float32: the loss, a scalar, or of shape :math:`(B,)` if `reduction` is ``'none'`` .

    Raises:
        TypeError: If an argument is of the wrong type or dtype.
        ValueError: If a rank, size, option, length or label does not fit.
        RuntimeError: If the gradient is differentiated again.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> from mindspore import Tensor, ops
        >>> from mindspore_rnnt import rnnt_loss_simple
        >>> am, lm = ops.zeros((1, 3, 5)), ops.zeros((1, 3, 5))
        >>> loss = rnnt_loss_simple(am, lm, Tensor([[1, 2]]), Tensor([3]), Tensor([2]))
        >>> print(f"{float(loss):.4f}")
        6.2554
    """
    inputs = (am, lm, targets, logit_lengths, target_lengths)
    scales = (lm_only_scale, am_only_scale)
    options = (blank, reduction, scales, zero_infinity, validate)
    losses, _ = _simple("rnnt_loss_simple", inputs, *options)
    return reduce_losses(losses, reduction)


def simple_posteriors(
    am: Tensor,
    lm: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = -1,
    reduction: str = "mean",
    *,
    lm_only_scale: float = 0.0,
    am_only_scale: float = 0.0,
    zero_infinity: bool = False,
    validate: bool = True,
) -> RnntPosteriors:
    r"""
    Posteriors of the arcs of the lattice that :func:`mindspore_rnnt.rnnt_loss_simple` sums over:
    what :func:`mindspore_rnnt.prune_ranges` chooses windows by.

    Args:
        am, lm, targets, logit_lengths, target_lengths: as in
            :func:`mindspore_rnnt.rnnt_loss_simple` .
        blank, reduction, lm_only_scale, am_only_scale, zero_infinity, validate: as there.

    Returns:
        RnntPosteriors as of :func:`mindspore_rnnt.rnnt_posteriors` for padded logits, its `blank`
        and `label` of shape :math:`(B, max_T, max_U + 1)`; its `loss` is reduced as `reduction`
        says.

    Raises:
        TypeError: If an argument is of the wrong type or dtype.
        ValueError: If a rank, size, option, length or label does not fit.
        RuntimeError: If it is differentiated. Where a gradient is taken of something else in the
            same function, wrap each result in `ops.stop_gradient`.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> import numpy as np
        >>> from mindspore import Tensor, ops
        >>> from mindspore_rnnt import simple_posteriors
        >>> am, lm = ops.zeros((1, 3, 5)), ops.zeros((1, 2, 5))
        >>> posteriors = simple_posteriors(am, lm, Tensor([[1]]), Tensor([3]), Tensor([1]))
        >>> print(np.round(posteriors.label.asnumpy()[0, :, 0], 4))
        [0.3333 0.3333 0.3333]
    """
    inputs = (am, lm, targets, logit_lengths, target_lengths)
    scales = (lm_only_scale, am_only_scale)
    options = (blank, reduction, scales, zero_infinity, validate)
    losses, coefficients = _simple("simple_posteriors", inputs, *options)
    loss, of_blank, of_label = _WITHOUT_GRADIENT(
        losses, coefficients[:, :, :, 1], coefficients[:, :, :, 2]
    )
    result: Any = (reduce_losses(loss, reduction), of_blank, of_label)
    return result if is_compiled(ops.clamp) else RnntPosteriors(*result)


def _simple(
    caller: str,
    inputs: tuple,
    blank: int,
    reduction: str,
    scales: tuple[float, float],
    zero_infinity: bool,
    validate: bool,
) -> tuple:
    """Losses (B,) and coefficients, which have no gradient."""
    compiled = is_compiled(ops.clamp)
    dtypes, shapes = dtypes_and_shapes(caller, SIMPLE_INPUTS, inputs)
    _check(caller, dtypes, shapes, (blank, reduction, *scales, zero_infinity, validate))
    if validate and not compiled:
        am, lm, *ints = inputs
        check_simple_values(caller, am.shape, lm.shape, *[x.asnumpy() for x in ints])

    def losses() -> tuple:
        return _checked_simple(caller, inputs, blank, scales, zero_infinity)

    return launch(losses)


def _checked_simple(
    caller: str, inputs: tuple, blank: int, scales: tuple[float, float], zero_infinity: bool
) -> tuple:
    am, lm, targets, logit_lengths, target_lengths = inputs
    target_lengths, V = as_int32(target_lengths), lm.shape[2]
    labels, fits = step_labels(as_int32(targets), target_lengths, V, lm.shape[1])
    kernel_options = (blank if blank >= 0 else blank + V, -1.0, True, 0.0, zero_infinity)
    phases = simple_phases(caller, scales, kernel_options)
    lengths = as_int32(logit_lengths), target_lengths
    losses, coefficients, _ = phases(*simple_inputs(am, lm, labels, *lengths), *lengths)
    losses = at_least_zero(losses, labels, kernel_options[0])
    return ops.select(fits, losses, ops.full_like(losses, math.nan)), coefficients


class _WithoutGradient(nn.Cell):
    def construct(self, loss: Tensor, blank: int, label: Tensor) -> tuple:
        return loss, blank, label

    def bprop(self, loss: Tensor, blank: int, label: Tensor, out: Any, dout: Any) -> NoReturn:
        refuse_gradient("simple_posteriors")


_WITHOUT_GRADIENT = _WithoutGradient()


@ms.constexpr(check=False)
def _check(caller: str, dtypes: Sequence[Any], shapes: Sequence[Any], options: tuple) -> None:
    check_simple(caller, dtypes, shapes, *options)
