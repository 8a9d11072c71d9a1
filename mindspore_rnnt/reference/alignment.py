# SPDX-License-Identifier: Apache-2.0
"""The most probable path."""

import numpy as np
from numpy.typing import ArrayLike

from .lattice import arcs, samples


def rnnt_align_reference(
    logits: ArrayLike,
    targets: ArrayLike,
    logit_lengths: ArrayLike,
    target_lengths: ArrayLike,
    blank: int = -1,
    fused_log_softmax: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What :func:`mindspore_rnnt.rnnt_align` returns: frames and log_probs (B, max_U), and
    path_log_prob (B,)."""
    logits, targets = np.asarray(logits, np.float64), np.asarray(targets)
    frames, log_probs = np.full(targets.shape, -1), np.zeros(targets.shape)
    path_log_prob = np.zeros(len(targets))
    for b, T, U, index in samples(logits, logit_lengths, target_lengths):
        cells = logits[index].reshape(T, U + 1, -1)
        lp_blank, lp_label, usable = arcs(cells, targets[b, :U], blank, fused_log_softmax)
        best = best_from(lp_blank, lp_label) if usable else np.full((T + 1, U + 2), np.nan)
        path_log_prob[b] = best[0, 0]
        if np.isfinite(best[0, 0]):
            frames[b, :U] = _frames_of(lp_blank, lp_label, best)
            log_probs[b, :U] = lp_label[frames[b, :U], np.arange(U)]
        elif U:
            log_probs[b, :U] = best[0, 0]
    return frames, log_probs, path_log_prob


def best_from(lp_blank: np.ndarray, lp_label: np.ndarray) -> np.ndarray:
    """(T + 1, U1 + 1): the log-prob of the best path from each cell to (T, U), within the border.

    best(t, u) = max(blank(t, u) + best(t+1, u), label(t, u) + best(t, u+1)), best(T, U) = 0
    """
    T, U1 = lp_blank.shape
    best = np.full((T + 1, U1 + 1), -np.inf)
    best[T, U1 - 1] = 0.0
    for t in reversed(range(T)):
        for u in reversed(range(U1)):
            by_blank = lp_blank[t, u] + best[t + 1, u]
            best[t, u] = max(by_blank, lp_label[t, u] + best[t, u + 1])
    return best


def _frames_of(lp_blank: np.ndarray, lp_label: np.ndarray, best: np.ndarray) -> list[int]:
    """Along the best path from (0, 0). Of two equal arcs the label's: the earliest emission."""
    U = lp_blank.shape[1] - 1
    frames: list[int] = []
    t = 0
    while len(frames) < U:
        u = len(frames)
        if lp_label[t, u] + best[t, u + 1] >= lp_blank[t, u] + best[t + 1, u]:
            frames.append(t)
        else:
            t += 1
    return frames
