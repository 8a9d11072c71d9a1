# SPDX-License-Identifier: Apache-2.0
"""The loss of the simple joiner, am + lm: each cell is summed by its definition.

F. Kuang et al., Pruned RNN-T for fast, memory-efficient ASR training, 2022,
https://arxiv.org/abs/2206.13236
"""

import numpy as np
from numpy.typing import ArrayLike

from .lattice import log_softmax, posteriors


def rnnt_loss_simple_reference(
    am: ArrayLike,
    lm: ArrayLike,
    targets: ArrayLike,
    logit_lengths: np.ndarray,
    target_lengths: np.ndarray,
    blank: int = -1,
    *,
    lm_only_scale: float = 0.0,
    am_only_scale: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Losses (B,) of :func:`mindspore_rnnt.rnnt_loss_simple`, and the posteriors of blank and label
    arcs, (B, max_T, max_U1), that :func:`mindspore_rnnt.simple_posteriors` returns."""
    am, lm, targets = np.asarray(am, np.float64), np.asarray(lm, np.float64), np.asarray(targets)
    shape = am.shape[0], am.shape[1], lm.shape[1]
    losses, of_blank, of_label = np.zeros(shape[0]), np.zeros(shape), np.zeros(shape)
    for b, (T, U) in enumerate(zip(logit_lengths, target_lengths)):
        scores = simple_scores(am[b, :T], lm[b, : U + 1], lm_only_scale, am_only_scale)
        lp_blank, lp_label = scores[:, :, blank], np.full((T, U + 1), -np.inf)
        lp_label[:, :U] = scores[:, np.arange(U), targets[b, :U]]
        usable = not np.isnan(scores).any()
        losses[b], of_blank[b, :T, : U + 1], of_label[b, :T, : U + 1] = posteriors(
            lp_blank, lp_label, usable
        )
    return losses, of_blank, of_label


def simple_scores(
    am: np.ndarray, lm: np.ndarray, lm_only_scale: float, am_only_scale: float
) -> np.ndarray:
    """The score of class k in each cell, (T, U1, V), for am (T, V) and lm (U1, V):

    (1 - l - a) log_softmax(am[t] + lm[u])[k] + l log_softmax(lm[u])[k]
                                              + a log_softmax(am[t] + log m)[k]

    with m[k] the mean over u of softmax(lm[u])[k].
    """
    combined = log_softmax(am[:, None] + lm[None])
    with np.errstate(divide="ignore"):
        log_mean = np.log(np.exp(log_softmax(lm)).mean(axis=0))
    parts = (
        (1 - lm_only_scale - am_only_scale, combined),
        (lm_only_scale, log_softmax(lm)[None]),
        (am_only_scale, log_softmax(am + log_mean)[:, None]),
    )
    scores = sum(scale * part for scale, part in parts if scale)
    return np.broadcast_to(scores, combined.shape)
