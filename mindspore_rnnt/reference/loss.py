# SPDX-License-Identifier: Apache-2.0
"""The RNN-T loss. A. Graves, Sequence Transduction with Recurrent Neural Networks, 2012,
https://arxiv.org/abs/1211.3711
"""

import numpy as np
from numpy.typing import ArrayLike

from .lattice import arcs, log_softmax, posteriors, samples


def rnnt_loss_reference(
    logits: ArrayLike,
    targets: ArrayLike,
    logit_lengths: ArrayLike,
    target_lengths: ArrayLike,
    blank: int = -1,
    clamp: float = -1.0,
    reduction: str = "mean",
    fused_log_softmax: bool = True,
    *,
    fastemit_lambda: float = 0.0,
    zero_infinity: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Loss and gradient of :func:`mindspore_rnnt.rnnt_loss`, without MindSpore.

    Args:
        logits (array): packed :math:`(\\sum_b T_b (U_b + 1), V)` or padded
            :math:`(B, max_T, max_U + 1, V)`.
        targets (array): :math:`(B, max_U)`; entries beyond a sample's length are not read.
        logit_lengths (array): :math:`(B,)`, each at least 1.
        target_lengths (array): :math:`(B,)`, each at least 0.
        blank, clamp, reduction, fused_log_softmax, fastemit_lambda, zero_infinity: as in
            :func:`mindspore_rnnt.rnnt_loss`.

    Returns:
        The losses, :math:`(B,)` float64 (a scalar unless `reduction` is ``'none'``), and the
        gradient of their sum (of the reduced loss) with respect to `logits`, in `logits`' shape,
        float64.
    """
    logits = np.asarray(logits, np.float64)
    targets = np.asarray(targets)
    losses = np.zeros(len(targets))
    gradient = np.zeros(logits.shape)
    for b, T, U, index in samples(logits, logit_lengths, target_lengths):
        losses[b], sample_gradient = _sample(
            logits[index].reshape(T, U + 1, -1),
            targets[b, :U],
            blank,
            fused_log_softmax,
            fastemit_lambda,
        )
        if zero_infinity and np.isposinf(losses[b]):
            losses[b] = 0.0
        if clamp > 0:
            sample_gradient = np.clip(sample_gradient, -clamp, clamp)
        gradient[index] = sample_gradient.reshape(gradient[index].shape)
    if reduction == "mean":
        return losses.mean(), gradient / len(losses)
    return (losses.sum() if reduction == "sum" else losses), gradient


def _sample(
    logits: np.ndarray,
    labels: np.ndarray,
    blank: int,
    fused_log_softmax: bool,
    fastemit_lambda: float,
) -> tuple[float, np.ndarray]:
    """One sample: logits (T, U1, V), labels (U,) -> loss, gradient (T, U1, V)."""
    lp_blank, lp_label, usable = arcs(logits, labels, blank, fused_log_softmax)
    loss, post_blank, post_label = posteriors(lp_blank, lp_label, usable)
    if not usable:
        return loss, np.full(logits.shape, np.nan)
    return loss, gradient_of_logits(
        logits, labels, blank, post_blank, (1 + fastemit_lambda) * post_label, fused_log_softmax
    )


def gradient_of_logits(
    logits: np.ndarray,
    labels: np.ndarray,
    blank: int,
    post_blank: np.ndarray,
    post_label: np.ndarray,
    fused_log_softmax: bool = True,
) -> np.ndarray:
    """softmax_k (post_blank + post_label) - [k = blank] post_blank - [k = label] post_label; of
    log-probs (not `fused_log_softmax`) without the first term."""
    gradient = np.zeros(logits.shape)
    if fused_log_softmax:
        gradient += np.exp(log_softmax(logits)) * (post_blank + post_label)[:, :, None]
    gradient[:, :, blank] -= post_blank
    for u, label in enumerate(labels):
        gradient[:, u, label] -= post_label[:, u]
    return gradient
