# SPDX-License-Identifier: Apache-2.0
"""The loss of token-and-duration transducers. H. Xu et al., Efficient Sequence Transduction by
Jointly Predicting Tokens and Durations, 2023, https://arxiv.org/abs/2304.06795
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .lattice import arcs, log_softmax, samples
from .loss import gradient_of_logits


def tdt_loss_reference(
    logits: ArrayLike,
    duration_logits: ArrayLike,
    targets: ArrayLike,
    logit_lengths: ArrayLike,
    target_lengths: ArrayLike,
    durations: Sequence[int],
    blank: int = -1,
    clamp: float = -1.0,
    reduction: str = "mean",
    *,
    sigma: float = 0.0,
    fastemit_lambda: float = 0.0,
    zero_infinity: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The losses, and the gradients of their sum (of the reduced loss) with respect to `logits` and
    `duration_logits`, in their shapes; arguments as in :func:`mindspore_rnnt.tdt_loss`."""
    logits, duration_logits = (
        np.asarray(logits, np.float64),
        np.asarray(duration_logits, np.float64),
    )
    targets, durations = np.asarray(targets), list(durations)
    losses = np.zeros(len(targets))
    gradients = np.zeros(logits.shape), np.zeros(duration_logits.shape)
    for b, T, U, index in samples(logits, logit_lengths, target_lengths):
        losses[b], *sample_gradients = _sample(
            logits[index].reshape(T, U + 1, -1),
            duration_logits[index].reshape(T, U + 1, -1),
            targets[b, :U],
            durations,
            blank,
            sigma,
            fastemit_lambda,
        )
        if zero_infinity and np.isposinf(losses[b]):
            losses[b] = 0.0
        for gradient, of_sample in zip(gradients, sample_gradients):
            if clamp > 0:
                of_sample = np.clip(of_sample, -clamp, clamp)
            gradient[index] = of_sample.reshape(gradient[index].shape)
    if reduction == "mean":
        return losses.mean(), *(gradient / len(losses) for gradient in gradients)
    return (losses.sum() if reduction == "sum" else losses), *gradients


def _sample(
    logits: np.ndarray,
    duration_logits: np.ndarray,
    labels: np.ndarray,
    durations: Sequence[int],
    blank: int,
    sigma: float,
    fastemit_lambda: float,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Loss, gradient of logits (T, U1, V) and of duration_logits (T, U1, D)."""
    lp_blank, lp_label, usable = arcs(logits, labels, blank)
    lp_duration = log_softmax(duration_logits)
    if not usable or not (lp_duration < np.inf).all():
        return np.nan, np.full(logits.shape, np.nan), np.full(duration_logits.shape, np.nan)
    loss, post_blank, post_label = tdt_posteriors(
        (lp_blank - sigma)[..., None] + lp_duration,
        (lp_label - sigma)[..., None] + lp_duration,
        durations,
    )
    post_label = (1 + fastemit_lambda) * post_label
    gradient = gradient_of_logits(logits, labels, blank, post_blank.sum(-1), post_label.sum(-1))
    posterior = post_blank + post_label
    return loss, gradient, np.exp(lp_duration) * posterior.sum(-1, keepdims=True) - posterior


def tdt_posteriors(
    lp_blank: np.ndarray, lp_label: np.ndarray, durations: Sequence[int]
) -> tuple[float, np.ndarray, np.ndarray]:
    """The loss, and the posteriors of the arcs, (T, U1, D) as their log-probs: 0 if no path is
    possible (then the loss is infinite).

    From (t, u) a blank arc of duration d > 0 goes to (t + d, u), a label arc of duration d >= 0 to
    (t + d, u + 1), which is no frame beyond the last. The path ends in (T, U) with a blank arc.
    """
    T, U1, _ = lp_blank.shape
    every_arc = [
        (t, u, i, t + d, emits)
        for t in range(T)
        for u in range(U1)
        for i, d in enumerate(durations)
        for emits in (False, True)
        if (t + d < T and u + 1 < U1 if emits else 0 < d <= T - t)
    ]
    alpha, beta = np.full((T + 1, U1), -np.inf), np.full((T + 1, U1), -np.inf)
    alpha[0, 0] = beta[T, U1 - 1] = 0.0
    for t, u, i, to, emits in every_arc:
        arc = (lp_label if emits else lp_blank)[t, u, i]
        alpha[to, u + emits] = np.logaddexp(alpha[to, u + emits], alpha[t, u] + arc)
    for t, u, i, to, emits in reversed(every_arc):
        arc = (lp_label if emits else lp_blank)[t, u, i]
        beta[t, u] = np.logaddexp(beta[t, u], arc + beta[to, u + emits])
    post = {False: np.zeros(lp_blank.shape), True: np.zeros(lp_label.shape)}
    log_prob = alpha[T, U1 - 1]
    if np.isneginf(log_prob):
        return np.inf, post[False], post[True]
    for t, u, i, to, emits in every_arc:
        arc = (lp_label if emits else lp_blank)[t, u, i]
        post[emits][t, u, i] = np.exp(alpha[t, u] + arc + beta[to, u + emits] - log_prob)
    return -log_prob, post[False], post[True]
