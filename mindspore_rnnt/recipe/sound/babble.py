# SPDX-License-Identifier: Apache-2.0
"""Several people who talk at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .levels import gain, unit


def babble(
    samples: int,
    people: Sequence[np.ndarray],
    talkers: int,
    spread_db: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """So many recordings from `people` at once, levels up to `spread_db` apart; mean power 1."""
    total = np.zeros(samples, np.float32)
    for _ in range(talkers):
        recording = people[rng.integers(len(people))]
        start = int(rng.integers(len(recording)))
        said = np.take(recording, np.arange(start, start + samples), mode="wrap")
        total += gain(rng.uniform(-spread_db, 0.0)) * unit(said)
    return unit(total)
