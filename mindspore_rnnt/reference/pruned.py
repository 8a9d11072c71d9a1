# SPDX-License-Identifier: Apache-2.0
"""Windows of the lattice by k2's rule, and the loss on the cells inside them.

F. Kuang et al., Pruned RNN-T for fast, memory-efficient ASR training, 2022,
https://arxiv.org/abs/2206.13236
"""

import numpy as np
from numpy.typing import ArrayLike

from .lattice import arcs, posteriors
from .loss import gradient_of_logits


def prune_ranges_reference(
    blank: np.ndarray,
    label: np.ndarray,
    logit_lengths: np.ndarray,
    target_lengths: np.ndarray,
    prune_range: int,
) -> np.ndarray:
    """(B, max_T): the first step of each frame's window of S = `prune_range` steps, from posteriors
    (B, max_T, max_U1). 0 behind a sample's frames."""
    starts = np.zeros(blank.shape[:2], np.int64)
    for b, (T, U) in enumerate(zip(logit_lengths, target_lengths)):
        last = max(U + 1 - prune_range, 0)
        for t in range(T):
            starts[b, t] = _best_start(blank[b, t, : U + 1], label[b, t], last, prune_range)
        starts[b, T - 1] = last
        starts[b, :T] = _made_valid(starts[b, :T], prune_range)
    return starts


def _best_start(blank: np.ndarray, label: np.ndarray, last: int, S: int) -> int:
    """argmax over s of sum_{i < S} blank[s + i] - label[s - 1], the first of ties; the second term
    is the label arc that enters the window from below."""
    scores = []
    for s in range(last + 1):
        score = 0.0
        for i in range(s, min(s + S, len(blank))):
            score += float(blank[i])
        scores.append(score - (float(label[s - 1]) if s else 0.0))
    return int(np.argmax(scores))


def _made_valid(starts: np.ndarray, S: int) -> list[int]:
    """First nowhere above a later start: min over t' >= t. Then never more than S - 1 below the
    next one, and at most (S - 1) t, so that the first is 0 and each window meets the next."""
    T = len(starts)
    least = [min(starts[t:]) for t in range(T)]
    return [
        min((S - 1) * t, max(least[later] - (S - 1) * (later - t) for later in range(t, T)))
        for t in range(T)
    ]


def rnnt_loss_pruned_reference(
    logits: ArrayLike,
    starts: np.ndarray,
    targets: ArrayLike,
    logit_lengths: np.ndarray,
    target_lengths: np.ndarray,
    blank: int = -1,
    clamp: float = -1.0,
    *,
    fastemit_lambda: float = 0.0,
    zero_infinity: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Losses (B,) of :func:`mindspore_rnnt.rnnt_loss_pruned`, and the gradient of their sum in the
    shape of the logits, (B, max_T, S, V)."""
    logits, targets = np.asarray(logits, np.float64), np.asarray(targets)
    losses, gradient = np.zeros(len(targets)), np.zeros(logits.shape)
    S, V = logits.shape[2:]
    for b, (T, U) in enumerate(zip(logit_lengths, target_lengths)):
        # Cells outside the windows do not exist: no path goes through them. Their logits are 0 here
        # and get no arc.
        cells, exists = np.zeros((T, U + 1, V)), np.zeros((T, U + 1), bool)
        t, i = np.mgrid[:T, :S]
        u = np.asarray(starts)[b, :T, None] + i
        inside = (u >= 0) & (u <= U)
        t, i, u = t[inside], i[inside], u[inside]
        cells[t, u], exists[t, u] = logits[b, t, i], True
        labels = targets[b, :U]
        lp_blank, lp_label, usable = arcs(cells, labels, blank)
        lp_blank[~exists] = lp_label[~exists] = -np.inf
        losses[b], post_blank, post_label = posteriors(lp_blank, lp_label, usable)
        if not usable:
            gradient[b, t, i] = np.nan
            continue
        if zero_infinity and np.isposinf(losses[b]):
            losses[b] = 0.0
        of_cells = gradient_of_logits(
            cells, labels, blank, post_blank, (1 + fastemit_lambda) * post_label
        )
        if clamp > 0:
            of_cells = of_cells.clip(-clamp, clamp)
        gradient[b, t, i] = of_cells[t, u]
    return losses, gradient
