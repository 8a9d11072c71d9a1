# SPDX-License-Identifier: Apache-2.0
"""The RNN-T loss in float64 NumPy: short, slow, and what every other implementation is held to.

A. Graves, Sequence Transduction with Recurrent Neural Networks, 2012,
https://arxiv.org/abs/1211.3711
"""

import numpy as np


def rnnt_loss_reference(
    logits,
    targets,
    logit_lengths,
    target_lengths,
    blank: int = -1,
    clamp: float = -1.0,
    reduction: str = "none",
    fused_log_softmax: bool = True,
    *,
    fastemit_lambda: float = 0.0,
    zero_infinity: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Loss and gradient of :func:`mindspore_rnnt.rnnt_loss`, without MindSpore.

    Args:
        logits (array): packed :math:`(\\sum_b T_b (U_b + 1), V)` or padded
            :math:`(B, max_T, max_U + 1, V)`.
        targets (array): :math:`(B, max_U)`; entries behind a sample's length are not read.
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
    targets, logit_lengths, target_lengths = map(
        np.asarray, (targets, logit_lengths, target_lengths)
    )
    losses = np.zeros(len(logit_lengths))
    gradient = np.zeros(logits.shape)
    row_base = 0
    for b, (T, U) in enumerate(zip(logit_lengths.tolist(), target_lengths.tolist())):
        shape = (T, U + 1, logits.shape[-1])
        if logits.ndim == 2:
            where = slice(row_base, row_base + T * (U + 1))
            row_base = where.stop
        else:
            where = (b, slice(T), slice(U + 1))
        losses[b], sample_gradient = _sample(
            logits[where].reshape(shape), targets[b, :U], blank, fused_log_softmax, fastemit_lambda
        )
        if zero_infinity and np.isposinf(losses[b]):
            losses[b] = 0.0
        if clamp > 0:
            sample_gradient = np.clip(sample_gradient, -clamp, clamp)
        gradient[where] = sample_gradient.reshape(gradient[where].shape)
    if reduction == "mean":
        return losses.mean(), gradient / len(losses)
    return (losses.sum() if reduction == "sum" else losses), gradient


def _sample(logits, labels, blank, fused_log_softmax, fastemit_lambda):
    """One sample: logits (T, U1, V), labels (U,) -> loss, gradient (T, U1, V)."""
    T, U1, V = logits.shape
    U, blank = U1 - 1, blank % V
    log_probs = _log_softmax(logits) if fused_log_softmax else logits
    lp_blank = log_probs[:, :, blank]
    lp_label = log_probs[:, np.arange(U), labels]
    used = [log_probs] if fused_log_softmax else [lp_blank, lp_label]
    if any(np.isnan(entries).any() or np.isposinf(entries).any() for entries in used):
        return np.nan, np.full(logits.shape, np.nan)

    alpha, beta = _lattice(lp_blank, lp_label)
    log_prob = alpha[T - 1, U] + lp_blank[T - 1, U]
    gradient = np.zeros(logits.shape)
    if np.isneginf(log_prob):
        return np.inf, gradient

    # Arc posteriors. The only blank that leaves the last frame is the final one, to beta = 0.
    beta_blank = np.full((T, U1), -np.inf)
    beta_blank[:-1] = beta[1:]
    beta_blank[T - 1, U] = 0.0
    post_blank = np.exp(alpha + lp_blank + beta_blank - log_prob)
    post_label = np.zeros((T, U1))
    post_label[:, :U] = np.exp(alpha[:, :U] + lp_label + beta[:, 1:] - log_prob)
    post_label *= 1.0 + fastemit_lambda

    if fused_log_softmax:
        gradient += np.exp(log_probs) * (post_blank + post_label)[:, :, None]
    gradient[:, :, blank] -= post_blank
    gradient[:, np.arange(U), labels] -= post_label[:, :U]
    return -log_prob, gradient


def _log_softmax(logits):
    with np.errstate(invalid="ignore"):  # a row that is all -inf, or holds +inf, becomes NaN
        shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _lattice(lp_blank, lp_label):
    """log alpha and log beta, (T, U1), one anti-diagonal t + u = d at a time.

    alpha(t, u) = log(exp(alpha(t-1, u) + blank(t-1, u)) + exp(alpha(t, u-1) + label(t, u-1)))
    beta(t, u)  = log(exp(blank(t, u) + beta(t+1, u)) + exp(label(t, u) + beta(t, u+1)))
    alpha(0, 0) = 0, beta(T, U) = 0
    """
    T, U1 = lp_blank.shape
    # A border of -inf around both, so that arcs from or to the outside need no case of their own.
    blank = np.full((T + 2, U1 + 2), -np.inf)
    label = blank.copy()
    blank[1:-1, 1:-1] = lp_blank
    label[1:-1, 1:-2] = lp_label
    # The first cell is entered by a blank from (-1, 0), the last one left by a blank to (T, U).
    alpha = np.full((T + 2, U1 + 2), -np.inf)
    beta = alpha.copy()
    alpha[0, 1] = blank[0, 1] = 0.0
    beta[T + 1, U1] = 0.0
    diagonals = [np.arange(max(1, d - U1), min(d - 1, T) + 1) for d in range(2, T + U1 + 1)]
    for d, t in enumerate(diagonals, start=2):
        u = d - t
        alpha[t, u] = np.logaddexp(
            alpha[t - 1, u] + blank[t - 1, u], alpha[t, u - 1] + label[t, u - 1]
        )
    for d, t in reversed(list(enumerate(diagonals, start=2))):
        u = d - t
        beta[t, u] = np.logaddexp(blank[t, u] + beta[t + 1, u], label[t, u] + beta[t, u + 1])
    return alpha[1:-1, 1:-1], beta[1:-1, 1:-1]
