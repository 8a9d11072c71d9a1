# SPDX-License-Identifier: Apache-2.0
"""Posteriors of the arcs, and the expected frame of each label."""

import numpy as np
from numpy.typing import ArrayLike

from .lattice import arcs, posteriors, samples


def rnnt_posteriors_reference(
    logits: ArrayLike,
    targets: ArrayLike,
    logit_lengths: ArrayLike,
    target_lengths: ArrayLike,
    blank: int = -1,
    fused_log_softmax: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What :func:`mindspore_rnnt.rnnt_posteriors` returns: losses (B,), and the posteriors of blank
    and label arcs in the layout of the logits' cells, 0 in padding."""
    logits, targets = np.asarray(logits, np.float64), np.asarray(targets)
    losses = np.zeros(len(targets))
    of_blank, of_label = np.zeros(logits.shape[:-1]), np.zeros(logits.shape[:-1])
    for b, T, U, index in samples(logits, logit_lengths, target_lengths):
        cells = logits[index].reshape(T, U + 1, -1)
        losses[b], post_blank, post_label = posteriors(
            *arcs(cells, targets[b, :U], blank, fused_log_softmax)
        )
        of_blank[index] = post_blank.reshape(of_blank[index].shape)
        of_label[index] = post_label.reshape(of_label[index].shape)
    return losses, of_blank, of_label


def expected_frames_reference(
    label: np.ndarray, logit_lengths: np.ndarray, target_lengths: np.ndarray, max_u: int
) -> tuple:
    """Mean and standard deviation of the frame of each label, (B, max_u): of the distribution
    label[t, u] over t, which need not add up to 1. NaN without any path, 0 behind the length."""
    B = len(target_lengths)
    mean, deviation = np.zeros((B, max_u)), np.zeros((B, max_u))
    label = np.asarray(label, np.float64)
    cells = label[..., None] if label.ndim == 1 else label
    for b, T, U, index in samples(cells, logit_lengths, target_lengths):
        weights, t = cells[index].reshape(T, U + 1)[:, :U], np.arange(T)[:, None]
        with np.errstate(invalid="ignore"):
            mean[b, :U] = (t * weights).sum(0) / weights.sum(0)
            spread = (t - mean[b, :U]) ** 2
            deviation[b, :U] = np.sqrt((spread * weights).sum(0) / weights.sum(0))
    return mean, deviation
