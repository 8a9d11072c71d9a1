# SPDX-License-Identifier: Apache-2.0
"""rnnt_posteriors: how probable each arc of the lattice is, given the targets."""

import math
from typing import Any, NamedTuple, NoReturn

from mindspore import Tensor, nn, ops

from .kernels import get_ops
from .kernels.gradients import refuse_gradient
from .kernels.recorder import in_given_precision
from .launch import at_least_zero, checked_batch, is_compiled, params_tensor
from .row_labels import row_labels


class RnntPosteriors(NamedTuple):
    """Posteriors of the arcs; `blank` and `label` have the layout of the logits' cells."""

    loss: Tensor  # (B,), what rnnt_loss returns without a reduction
    blank: Tensor  # (N,) or (B, max_T, max_U1): of the arc to the next frame; 0 in padding
    label: Tensor  # the same of the arc to the next label


def rnnt_posteriors(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = -1,
    fused_log_softmax: bool = True,
    *,
    validate: bool = True,
) -> RnntPosteriors:
    r"""
    Posterior probabilities of the lattice's arcs: how probable it is that a path of the targets
    takes the blank, or the label, that leaves a cell.

    Over a sample, blanks add up to :math:`T` and labels to :math:`U`; the labels of one column add
    up to 1: the distribution of the frame in which that label is emitted (see
    :func:`mindspore_rnnt.expected_frames`). The sum of both is a cell's occupation. It costs what
    an evaluation of the loss does.

    Args:
        logits, targets, logit_lengths, target_lengths, blank, fused_log_softmax, validate: as in
            :func:`mindspore_rnnt.rnnt_loss` .

    Returns:
        RnntPosteriors, a tuple (a plain one in a graph) of float32 Tensors:

        - **loss** - of shape :math:`(B,)`.
        - **blank** - of shape :math:`(N,)` for packed and :math:`(B, max_T, max_U + 1)` for padded
          logits; 0 in padding and in a sample without any possible path, NaN where the loss is NaN.
        - **label** - likewise.

    Raises:
        TypeError: If an argument is of the wrong type or dtype.
        ValueError: If a rank, size, option, length or label does not fit.
        RuntimeError: If it is differentiated. Where a gradient is taken of something else in the
            same function, wrap the result in `ops.stop_gradient`.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> import mindspore as ms
        >>> import numpy as np
        >>> from mindspore import Tensor
        >>> from mindspore_rnnt import rnnt_posteriors
        >>> logits = Tensor(np.zeros((1, 3, 2, 5)), ms.float32)
        >>> loss, blank, label = rnnt_posteriors(logits, Tensor([[1]], ms.int32), Tensor([3]),
        ...                                      Tensor([1]), blank=0)
        >>> print(np.round(label.asnumpy()[0, :, 0], 4))
        [0.3333 0.3333 0.3333]
    """
    compiled = is_compiled(ops.clamp)
    options = (blank, -1.0, fused_log_softmax, 0.0, False)
    inputs = (logits, targets, logit_lengths, target_lengths)
    batch = checked_batch("rnnt_posteriors", *inputs, options, validate, compiled)
    if compiled:
        return _posteriors(*batch, options)  # type: ignore[return-value]
    return RnntPosteriors(*in_given_precision(_posteriors, *batch, options))


def _posteriors(
    logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor, options: tuple
) -> tuple[Tensor, Tensor, Tensor]:
    of_rows, labels, fits = row_labels(logits, targets, logit_lengths, target_lengths)
    loss, of_blank, of_label = _PHASES(
        logits, of_rows, logit_lengths, target_lengths, params_tensor(options, False)
    )
    blank, fused_log_softmax = options[0], options[2]
    if fused_log_softmax:
        loss = at_least_zero(loss, labels, blank if blank >= 0 else blank + logits.shape[-1])
    return ops.where(fits, loss, math.nan), of_blank, of_label


class _Phases(nn.Cell):
    """row_stats and lattice, without a gradient."""

    def construct(
        self,
        logits: Tensor,
        row_labels: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        params: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        stats = get_ops().row_stats(logits, row_labels, params)
        loss, coefficients = get_ops().lattice(stats, logit_lengths, target_lengths, params)
        return loss, coefficients[..., 1], coefficients[..., 2]

    def bprop(
        self,
        logits: Tensor,
        row_labels: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        params: Tensor,
        out: Any,
        dout: Any,
    ) -> NoReturn:
        refuse_gradient("rnnt_posteriors")


_PHASES = _Phases()
