# SPDX-License-Identifier: Apache-2.0
"""rnnt_align: the most probable path, as time stamps and confidence of the labels."""

from typing import Any, NamedTuple, NoReturn

from mindspore import Tensor, nn, ops

from .kernels import get_ops
from .kernels.gradients import refuse_gradient
from .kernels.recorder import in_given_precision
from .launch import checked_batch, is_compiled, params_tensor
from .row_labels import row_labels


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
    compiled = is_compiled(ops.clamp)
    options = (blank, -1.0, fused_log_softmax, 0.0, False)
    batch = checked_batch(
        "rnnt_align", logits, targets, logit_lengths, target_lengths, options, validate, compiled
    )
    if compiled:
        return _align(*batch, options)  # type: ignore[return-value]
    return RnntAlignment(*in_given_precision(_align, *batch, options))


def _align(
    logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor, options: tuple
) -> tuple[Tensor, Tensor, Tensor]:
    labels, _, fits = row_labels(logits, targets, logit_lengths, target_lengths)
    frames, log_probs, path = _PHASES(
        logits, labels, logit_lengths, target_lengths, targets, params_tensor(options, False)
    )
    # A label that is no class has no arc, so its sample came out as impossible: -inf, 0 behind the
    # length. It is NaN in truth.
    log_probs = ops.where(ops.expand_dims(fits, 1), log_probs, log_probs - log_probs)
    return frames, log_probs, ops.where(fits, path, path - path)


class _Phases(nn.Cell):
    """row_stats and the best path, without a gradient."""

    def construct(
        self,
        logits: Tensor,
        row_labels: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        targets: Tensor,
        params: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        stats = get_ops().row_stats(logits, row_labels, params)
        return get_ops().align(stats, logit_lengths, target_lengths, targets, params)

    def bprop(
        self,
        logits: Tensor,
        row_labels: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        targets: Tensor,
        params: Tensor,
        out: Any,
        dout: Any,
    ) -> NoReturn:
        refuse_gradient("rnnt_align")


_PHASES = _Phases()
