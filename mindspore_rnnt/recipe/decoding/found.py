# SPDX-License-Identifier: Apache-2.0
"""What every search gives for one utterance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Found(NamedTuple):
    """Of each label: its id, the encoder frame that emitted it, its log-probability there.

    `share` is what it has of the probability of all that a beam search has kept.
    """

    ids: tuple[int, ...] = ()
    frames: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()
    share: float | None = None


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """(n, V) logits -> (n, V) log-probabilities in float64."""
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
