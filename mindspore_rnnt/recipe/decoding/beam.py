# SPDX-License-Identifier: Apache-2.0
"""Beam search over prefixes: the ways to a prefix add up, and a bias may favour some prefixes.

Within a frame, round s holds the prefixes that have got s labels longer in it; blank ends the frame
for them. After `max_symbols` it ends by itself, as in the greedy search: a prefix of full length is
not charged the log-probability of a blank. Prefixes that meet at the end of a frame are
one, their probabilities added. So with a width that drops nothing, the scores are exact sums over
alignments, plus what the bias gives to the prefix.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..data.text import BLANK
from .bias import Bias
from .found import Found, log_softmax
from .recogniser import Recogniser, State


@dataclass
class Hypothesis:
    """A prefix, the log of its probability so far with its bias, and the predictor after it."""

    ids: tuple[int, ...]
    frames: tuple[int, ...]
    log_probs: tuple[float, ...]
    score: float
    output: np.ndarray
    state: State
    bias: tuple  # a state of each bias


class BeamSearch:
    """Takes frames piece by piece, for several streams at once; `kept` has the best prefixes."""

    def __init__(
        self,
        recogniser: Recogniser,
        rows: int,
        width: int,
        max_symbols: int,
        biases: Sequence[Bias] = (),
    ):
        self._recogniser, self._width, self._max_symbols = recogniser, width, max_symbols
        self._biases, self._time = biases, 0
        self._most = sum(item.most for item in biases)  # that a label can gain by them
        output, state = recogniser.predict(np.full(1, BLANK), recogniser.start(1))
        root = Hypothesis(
            *((), (), (), 0.0, output[0]),
            tuple(part[0] for part in state),
            tuple(item.start() for item in biases),
        )
        self.kept = [[root] for _ in range(rows)]  # of each row, best first
        self.steps = np.zeros(rows, int)  # evaluations of the joiner for each row

    def advance(self, frames: np.ndarray, lengths: np.ndarray) -> None:
        """(rows, t, D) more frames, of which the first `lengths` (rows,) count."""
        for t in range(int(max(lengths, default=0))):
            self._frame(frames[:, t], [b for b, length in enumerate(lengths) if t < length])
            self._time += 1

    def best(self, row: int = 0) -> Found:
        """The likeliest prefix; later frames may revise it behind `settled`."""
        first, scores = self.kept[row][0], [item.score for item in self.kept[row]]
        share = float(np.exp(first.score - np.logaddexp.reduce(scores)))
        return Found(first.ids, first.frames, first.log_probs, share)

    def settled(self, row: int = 0) -> int:
        """How many labels all kept prefixes share: no later frame can change them."""
        return len(os.path.commonprefix([item.ids for item in self.kept[row]]))

    def _frame(self, frames: np.ndarray, rows: list[int]) -> None:
        growing = {b: self.kept[b] for b in rows}
        ended: dict[int, dict] = {b: {} for b in rows}
        for _ in range(self._max_symbols):
            flat = [(b, item) for b in rows for item in growing[b]]
            if not flat:
                break
            scores = self._log_probs(frames, flat)
            for b, _ in flat:
                self.steps[b] += 1
            for (b, item), row in zip(flat, scores):
                _merge(ended[b], item, item.score + row[BLANK])
            growing = self._grow(flat, scores, ended)
        for b in rows:
            for item in growing[b]:
                _merge(ended[b], item, item.score)
            kept = sorted(ended[b].values(), key=lambda item: -item.score)
            self.kept[b] = kept[: self._width]

    def _log_probs(self, frames: np.ndarray, flat: list) -> np.ndarray:
        picked = np.stack([frames[b] for b, _ in flat])
        outputs = np.stack([item.output for _, item in flat])
        return log_softmax(self._recogniser.join(self._fill(picked), self._fill(outputs)))

    def _grow(self, flat: list, scores: np.ndarray, ended: dict) -> dict[int, list[Hypothesis]]:
        """The best prefixes one label longer, of those that can still be among the kept."""
        longer: dict[int, list] = {b: [] for b in ended}
        floors = {b: _floor(ended[b], self._width) for b in ended}
        best = scores[:, BLANK + 1 :].max(axis=1)
        for (b, item), row, most in zip(flat, scores, best):
            if item.score + most + self._most > floors[b]:  # at most frames nothing can follow
                longer[b] += self._choices(item, row, floors[b])
        chosen = [
            (b, *choice)
            for b, choices in longer.items()
            for choice in sorted(choices, key=lambda choice: -choice[0])[: self._width]
        ]
        grown: dict[int, list[Hypothesis]] = {b: [] for b in ended}
        if not chosen:
            return grown
        states = zip(*(item.state for *_, item in chosen))
        labels = np.array([label for _, _, label, *_ in chosen])
        outputs, state = self._recogniser.predict(
            self._fill(labels), tuple(self._fill(np.stack(part)) for part in states)
        )
        for n, (b, score, label, log_prob, bias, item) in enumerate(chosen):
            grown[b].append(
                Hypothesis(
                    (*item.ids, label),
                    (*item.frames, self._time),
                    (*item.log_probs, log_prob),
                    score,
                    outputs[n],
                    tuple(part[n] for part in state),
                    bias,
                )
            )
        return grown

    def _choices(self, item: Hypothesis, row: np.ndarray, floor: float) -> Iterable[tuple]:
        """(score, label, log-probability, bias states, item) of labels that may follow."""
        # With a bias the likeliest labels need not be the best: all that can pass are looked at.
        count = len(row) if self._biases else self._width + 1
        for label in np.argsort(-row)[:count].tolist():
            if label == BLANK:
                continue
            if item.score + row[label] + self._most <= floor:
                break
            pairs = [one.step(state, label) for one, state in zip(self._biases, item.bias)]
            score = item.score + row[label] + sum(change for _, change in pairs)
            if score > floor:
                bias = tuple(state for state, _ in pairs)
                yield score, label, float(row[label]), bias, item

    def _fill(self, array: np.ndarray) -> np.ndarray:
        """Repeat rows to a fixed number: new shapes cost time in MindSpore, rows hardly any."""
        rows = max(len(self.kept) * self._width, len(array))
        return np.resize(array, (rows, *array.shape[1:]))


def _merge(ended: dict, item: Hypothesis, score: float) -> None:
    """Add a way to a prefix; frames and log-probabilities are those of the likelier way."""
    other = ended.get(item.ids)
    better = item if other is None or score > other.score else other
    total = score if other is None else np.logaddexp(score, other.score)
    parts = (better.ids, better.frames, better.log_probs, total)
    ended[item.ids] = Hypothesis(*parts, item.output, item.state, item.bias)


def _floor(ended: dict, width: int) -> float:
    """What a prefix must score to be among the kept ones."""
    if len(ended) < width:
        return -np.inf
    return sorted((item.score for item in ended.values()), reverse=True)[width - 1]
