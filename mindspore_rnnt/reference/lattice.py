# SPDX-License-Identifier: Apache-2.0
"""The lattice of one sample: the log-probs of its arcs, their posteriors, and where a batch holds
its samples.

A sample has T frames and U labels, U1 = U + 1. From cell (t, u) a blank arc goes to (t + 1, u) and,
if u < U, a label arc to (t, u + 1). A path goes from (0, 0) to (T, U); its last arc is a blank.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike


def samples(
    values: np.ndarray, logit_lengths: ArrayLike, target_lengths: ArrayLike
) -> Iterator[tuple]:
    """(b, T, U, index) of each sample: `values[index]` are its cells, T * U1 or (T, U1) of them.

    Packed values have one axis for all cells, (N, ...), padded ones three, (B, max_T, max_U1, ...);
    `values` may be any array with as many axes as the logits."""
    packed, row_base = values.ndim == 2, 0
    for b, (T, U) in enumerate(zip(np.asarray(logit_lengths), np.asarray(target_lengths))):
        T, U = int(T), int(U)
        if packed:
            yield b, T, U, slice(row_base, row_base + T * (U + 1))
            row_base += T * (U + 1)
        else:
            yield b, T, U, (b, slice(T), slice(U + 1))


def log_softmax(logits: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):  # all -inf, or +inf: the row becomes NaN
        shifted = logits - logits.max(axis=-1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def arcs(
    logits: np.ndarray, labels: np.ndarray, blank: int, fused_log_softmax: bool = True
) -> tuple:
    """lp_blank and lp_label (T, U1), from logits (T, U1, V); the last column of lp_label is -inf.
    The third value tells whether each entry that the sample uses is a log-prob or -inf."""
    log_probs = log_softmax(logits) if fused_log_softmax else logits
    U = len(labels)
    lp_blank = log_probs[:, :, blank]
    lp_label = np.full(lp_blank.shape, -np.inf)
    lp_label[:, :U] = log_probs[:, np.arange(U), labels]
    used = [log_probs] if fused_log_softmax else [lp_blank, lp_label]
    return lp_blank, lp_label, all((entries < np.inf).all() for entries in used)


def posteriors(
    lp_blank: np.ndarray, lp_label: np.ndarray, usable: bool = True
) -> tuple[float, np.ndarray, np.ndarray]:
    """The loss, and the posteriors of both arcs of each cell, (T, U1): NaN if the sample is not
    `usable`, 0 if no path is possible (then the loss is infinite)."""
    T, U1 = lp_blank.shape
    if not usable:
        return np.nan, np.full((T, U1), np.nan), np.full((T, U1), np.nan)
    alpha, beta = alpha_beta(lp_blank, lp_label)
    log_prob = alpha[T - 1, U1 - 1] + lp_blank[T - 1, U1 - 1]
    if np.isneginf(log_prob):
        return np.inf, np.zeros((T, U1)), np.zeros((T, U1))
    # The only blank that leaves the last frame is the final one, to beta = 0.
    beta_blank, beta_label = np.full((T, U1), -np.inf), np.full((T, U1), -np.inf)
    beta_blank[:-1] = beta[1:]
    beta_blank[T - 1, U1 - 1] = 0.0
    beta_label[:, :-1] = beta[:, 1:]
    post_blank = np.exp(alpha + lp_blank + beta_blank - log_prob)
    post_label = np.exp(alpha + lp_label + beta_label - log_prob)
    return -log_prob, post_blank, post_label


def alpha_beta(lp_blank: np.ndarray, lp_label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
    label[1:-1, 1:-1] = lp_label
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
