# SPDX-License-Identifier: Apache-2.0
"""rnnt_posteriors: how probable each arc of the lattice is, given the targets."""

from typing import NamedTuple

from mindspore import Tensor

from .evaluation import EvaluationPhases, evaluate
from .kernels import get_ops


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
          logits; 0 in padding, in a sample without any possible path, and in one whose lengths or
          labels do not fit; NaN in a sample with a logit that is NaN.
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
    inputs = (logits, targets, logit_lengths, target_lengths)
    return evaluate(_PHASES, RnntPosteriors, inputs, blank, fused_log_softmax, validate)


class _Phases(EvaluationPhases):
    def results(self, stats: Tensor, batch: tuple, params: Tensor) -> tuple[Tensor, ...]:
        _, logit_lengths, target_lengths, least_loss = batch
        inputs = stats, logit_lengths, target_lengths, least_loss, params
        return get_ops().arc_posteriors(*inputs)


_PHASES = _Phases("rnnt_posteriors")
