# SPDX-License-Identifier: Apache-2.0
"""Greedy search: at each frame the best class, until it is blank or the frame has its fill."""

from __future__ import annotations

import numpy as np

from ..data.text import BLANK
from .found import Found, log_softmax
from .recogniser import Recogniser


class GreedySearch:
    """Takes frames piece by piece, for several streams at once; what is found is never revised.

    A frame emits `max_symbols` labels at most.
    """

    def __init__(self, recogniser: Recogniser, rows: int, max_symbols: int):
        self._recogniser, self._max_symbols = recogniser, max_symbols
        self._outputs, self._state = recogniser.predict(
            np.full(rows, BLANK), recogniser.start(rows)
        )
        self._time = 0
        self._found: list[list[tuple[int, int, float]]] = [[] for _ in range(rows)]

    def advance(self, frames: np.ndarray, lengths: np.ndarray) -> None:
        """(rows, t, D) more frames, of which the first `lengths` (rows,) count."""
        for t in range(int(max(lengths, default=0))):
            live = t < lengths
            for _ in range(self._max_symbols):
                logits = self._recogniser.join(frames[:, t], self._outputs)
                best = logits.argmax(axis=1)
                live = live & (best != BLANK)
                if not live.any():
                    break
                self._emit(live, best, log_softmax(logits))
            self._time += 1

    def best(self, row: int = 0) -> Found:
        """What has been found so far."""
        return Found(*zip(*self._found[row])) if self._found[row] else Found()

    def settled(self, row: int = 0) -> int:
        """How many labels of `best` no later frame can change: all."""
        return len(self._found[row])

    def _emit(self, live: np.ndarray, best: np.ndarray, log_probs: np.ndarray) -> None:
        for row in np.flatnonzero(live):
            label = int(best[row])
            self._found[row].append((label, self._time, float(log_probs[row, label])))
        outputs, state = self._recogniser.predict(best, self._state)
        self._outputs = _where(live, outputs, self._outputs)
        self._state = tuple(_where(live, *pair) for pair in zip(state, self._state))


def _where(live: np.ndarray, new: np.ndarray, old: np.ndarray) -> np.ndarray:
    return np.where(live.reshape(-1, *[1] * (new.ndim - 1)), new, old)
