# SPDX-License-Identifier: Apache-2.0
"""Greedy search: the best class at each step, until it is blank or the frame has its fill.

A step is one evaluation of the joiner for a stream. A model without durations goes from frame to
frame; a TDT model says at each step how many frames to move on, and no frame between is looked at:

    label, duration 0    the frame may emit another label
    label, duration d    d frames on
    blank, duration d    d frames on, one if d is 0
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..data.text import BLANK
from .found import Found, log_softmax
from .recogniser import Recogniser


class GreedySearch:
    """Takes frames piece by piece, for several streams at once; what is found is never revised.

    A frame emits `max_symbols` labels at most. `durations` are those of a TDT model.
    """

    def __init__(
        self, recogniser: Recogniser, rows: int, max_symbols: int, durations: Sequence[int] = ()
    ):
        self._recogniser, self._max_symbols = recogniser, max_symbols
        self._durations = np.array(durations, int)
        self._outputs, self._state = recogniser.predict(
            np.full(rows, BLANK), recogniser.start(rows)
        )
        self._time = 0
        self._next = np.zeros(rows, int)  # the frame that a stream looks at next
        self._found: list[list[tuple[int, int, float]]] = [[] for _ in range(rows)]
        self.steps = np.zeros(rows, int)  # of each stream so far

    def advance(self, frames: np.ndarray, lengths: np.ndarray) -> None:
        """(rows, t, D) more frames, of which the first `lengths` (rows,) count."""
        for t in range(int(max(lengths, default=0))):
            live = (t < lengths) & (self._next <= self._time)
            for _ in range(self._max_symbols):
                if not live.any():
                    break
                live = self._step(frames[:, t], live)
            self._time += 1

    def best(self, row: int = 0) -> Found:
        """What has been found so far."""
        if not self._found[row]:
            return Found()
        ids, frames, log_probs = zip(*self._found[row])
        return Found(ids, frames, log_probs)

    def settled(self, row: int = 0) -> int:
        """How many labels of `best` no later frame can change: all."""
        return len(self._found[row])

    def _step(self, frames: np.ndarray, live: np.ndarray) -> np.ndarray:
        """One step of the streams that are live; those that stay in the frame."""
        logits, moves = self._joined(frames)
        best = logits.argmax(axis=1)
        emits = live & (best != BLANK)
        if emits.any():
            self._emit(emits, best, log_softmax(logits))
        self.steps += live
        self._next = np.where(live, self._time + moves, self._next)
        return emits & (moves == 0)

    def _joined(self, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray | int]:
        """(rows, V) logits and by how many frames each row moves on."""
        if not len(self._durations):
            return self._recogniser.join(frames, self._outputs), 0
        logits, durations = self._recogniser.join_heads(frames, self._outputs)
        return logits, self._durations[durations.argmax(axis=1)]

    def _emit(self, live: np.ndarray, best: np.ndarray, log_probs: np.ndarray) -> None:
        for row in np.flatnonzero(live):
            label = int(best[row])
            self._found[row].append((label, self._time, float(log_probs[row, label])))
        outputs, state = self._recogniser.predict(best, self._state)
        self._outputs = _where(live, outputs, self._outputs)
        self._state = tuple(_where(live, *pair) for pair in zip(state, self._state))


def _where(live: np.ndarray, new: np.ndarray, old: np.ndarray) -> np.ndarray:
    return np.where(live.reshape(-1, *[1] * (new.ndim - 1)), new, old)
