# SPDX-License-Identifier: Apache-2.0
"""rnnt_align: the most probable path, as time stamps and confidence of the labels."""

from typing import NamedTuple

from mindspore import Tensor

from .evaluation import EvaluationPhases, evaluate
from .kernels import get_ops


class RnntAlignment(NamedTuple):
    """The most probable path of each sample."""

    frames: Tensor  # (B, max_U) int32: the frame in which a label is emitted; -1 behind the length
    log_probs: Tensor  # (B, max_U) float32: of each label there; 0 behind the length
    path_log_prob: Tensor  # (B,) float32


def rnnt_align(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = -1,
    fused_log_softmax: bool = True,
    *,
    validate: bool = True,
) -> RnntAlignment:
    r"""
    The most probable path of the targets through the lattice: in which frame each label is emitted,
    and how sure the model is of it there.

    Of several paths that are equally probable it is the one that emits each label earliest. It
    costs what an evaluation of the loss does.

    Args:
        logits, targets, logit_lengths, target_lengths, blank, fused_log_softmax, validate: as in
            :func:`mindspore_rnnt.rnnt_loss` .

    Returns:
        RnntAlignment, a tuple (a plain one in a graph) of Tensors:

        - **frames** - int32 of shape :math:`(B, max_U)`, :math:`max_U` that of `targets`: the frame
          in which label :math:`u` is emitted, which never decreases in :math:`u`. -1 behind the
          length, and everywhere in a sample without any possible path or with NaN among its logits.
        - **log_probs** - float32 of shape :math:`(B, max_U)`: the log-probability of each label in
          its frame; 0 behind the length.
        - **path_log_prob** - float32 of shape :math:`(B,)`: the log-probability of the whole path,
          blanks included; :math:`-inf` without any possible path. It is never more than minus the
          loss, the log-probability of all paths.

    Raises:
        TypeError: If an argument is of the wrong type or dtype.
        ValueError: If a rank, size, option, length or label does not fit.
        RuntimeError: If it is differentiated. Where a gradient is taken of something else in the
            same function, wrap each result in `ops.stop_gradient`.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> import numpy as np
        >>> from mindspore import Tensor
        >>> from mindspore_rnnt import rnnt_align
        >>> logits = np.zeros((1, 3, 3, 5), np.float32)
        >>> logits[0, 1, 0, 1] = logits[0, 2, 1, 2] = 4  # label 1 in frame 1, label 2 in frame 2
        >>> alignment = rnnt_align(Tensor(logits), Tensor([[1, 2]]), Tensor([3]), Tensor([2]))
        >>> print(alignment.frames, np.round(alignment.log_probs.asnumpy(), 4))
        [[1 2]] [[-0.0707 -0.0707]]
    """
    inputs = (logits, targets, logit_lengths, target_lengths)
    return evaluate(_PHASES, RnntAlignment, inputs, blank, fused_log_softmax, validate)


class _Phases(EvaluationPhases):
    def results(self, stats: Tensor, batch: tuple, params: Tensor) -> tuple[Tensor, ...]:
        targets, logit_lengths, target_lengths, least_loss = batch
        lengths = logit_lengths, target_lengths
        return get_ops().align(stats, *lengths, targets, least_loss, params)


_PHASES = _Phases("rnnt_align")
