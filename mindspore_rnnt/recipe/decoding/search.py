# SPDX-License-Identifier: Apache-2.0
"""From encoder frames to characters: greedy, and a beam that adds up the ways to a prefix.

All rows of a batch go through the network together, in arrays of one size.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..config import Config
from ..data.buckets import SUBSAMPLING
from ..data.text import BLANK
from .recogniser import Recogniser, State

Found = tuple[list[int], list[int]]  # ids, and the encoder frame that each was emitted at


def decode(
    recogniser: Recogniser, features: np.ndarray, frame_lengths: np.ndarray, config: Config
) -> list[Found]:
    """The ids and emission frames of each utterance, by the configured method."""
    options = config.decode
    if options.method == "greedy":
        return greedy(recogniser, features, frame_lengths, options.max_symbols)
    if options.method == "beam":
        return beam(recogniser, features, frame_lengths, options.beam, options.max_symbols)
    raise ValueError(f"decode.method must be 'greedy' or 'beam', but got {options.method!r}")


def greedy(
    recogniser: Recogniser, features: np.ndarray, frame_lengths: np.ndarray, max_symbols: int = 3
) -> list[Found]:
    """At each frame the best character, until it is blank or `max_symbols` are out."""
    search = GreedySearch(recogniser, len(features), max_symbols)
    search.advance(recogniser.encode(features, frame_lengths), frame_lengths // SUBSAMPLING)
    return search.found


class GreedySearch:
    """A greedy search that frames can be fed to piece by piece, for several streams at once."""

    def __init__(self, recogniser: Recogniser, rows: int, max_symbols: int):
        self._recogniser, self._max_symbols = recogniser, max_symbols
        self._outputs, self._state = recogniser.predict(
            np.full(rows, BLANK), recogniser.start(rows)
        )
        self._time = 0
        self.found: list[Found] = [([], []) for _ in range(rows)]

    def advance(self, frames: np.ndarray, lengths: np.ndarray) -> None:
        """(rows, t, D) more frames, of which the first `lengths` (rows,) count."""
        for t in range(int(max(lengths, default=0))):
            live = t < lengths
            for _ in range(self._max_symbols):
                best = self._recogniser.join(frames[:, t], self._outputs).argmax(axis=1)
                live = live & (best != BLANK)
                if not live.any():
                    break
                self._emit(live, best)
            self._time += 1

    def _emit(self, live: np.ndarray, best: np.ndarray) -> None:
        for row in np.flatnonzero(live):
            self.found[row][0].append(int(best[row]))
            self.found[row][1].append(self._time)
        outputs, state = self._recogniser.predict(best, self._state)
        self._outputs = _where(live, outputs, self._outputs)
        self._state = tuple(_where(live, *pair) for pair in zip(state, self._state))


@dataclass
class Hypothesis:
    """A prefix, the log of its probability so far, and the predictor after it."""

    ids: tuple[int, ...]
    frames: tuple[int, ...]
    score: float
    output: np.ndarray
    state: State


def beam(
    recogniser: Recogniser,
    features: np.ndarray,
    frame_lengths: np.ndarray,
    width: int = 4,
    max_symbols: int = 3,
) -> list[Found]:
    """The likeliest prefix among `width` that are kept at each frame."""
    frames = recogniser.encode(features, frame_lengths)
    kept = beam_search(recogniser, frames, frame_lengths // SUBSAMPLING, width, max_symbols)
    return [(list(best.ids), list(best.frames)) for best, *_ in kept]


def beam_search(
    recogniser: Recogniser, frames: np.ndarray, lengths: np.ndarray, width: int, max_symbols: int
) -> list[list[Hypothesis]]:
    """For each row of frames (B, T, D) its best prefixes, best first.

    Within a frame, round s holds the prefixes that have got s characters longer in it; blank ends
    the frame for them. After `max_symbols` it ends by itself, as in the greedy search: a model that
    has more to say then is not fined for a blank it does not want. Prefixes that meet at the end of
    a frame are one, their probabilities added. So with a width that drops nothing, the scores are
    exact sums over alignments.
    """
    batch = len(frames)
    output, state = recogniser.predict(np.full(1, BLANK), recogniser.start(1))
    root = Hypothesis((), (), 0.0, output[0], tuple(part[0] for part in state))
    kept = [[root] for _ in range(batch)]
    for t in range(int(max(lengths))):
        rows = [b for b in range(batch) if t < lengths[b]]
        growing = {b: kept[b] for b in rows}
        ended: dict[int, dict] = {b: {} for b in rows}
        for _ in range(max_symbols):
            flat = [(b, item) for b in rows for item in growing[b]]
            if not flat:
                break
            scores = _log_probs(recogniser, frames[:, t], flat, batch * width)
            for (b, item), row in zip(flat, scores):
                _merge(ended[b], item, item.score + row[BLANK])
            growing = _grow(recogniser, t, flat, scores, ended, width, batch * width)
        for b in rows:
            for item in growing[b]:
                _merge(ended[b], item, item.score)
            kept[b] = _best(ended[b].values(), width)
    return kept


def _log_probs(recogniser: Recogniser, frames: np.ndarray, flat: list, rows: int) -> np.ndarray:
    picked = np.stack([frames[b] for b, _ in flat])
    outputs = np.stack([item.output for _, item in flat])
    logits = recogniser.join(_fill(picked, rows), _fill(outputs, rows))[: len(flat)].astype(
        np.float64
    )
    logits -= logits.max(axis=1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def _merge(ended: dict, item: Hypothesis, score: float) -> None:
    """Add a way to a prefix; its emission frames are those of the likelier way."""
    other = ended.get(item.ids)
    better = item if other is None or score > other.score else other
    total = score if other is None else np.logaddexp(score, other.score)
    ended[item.ids] = Hypothesis(item.ids, better.frames, total, item.output, item.state)


def _grow(
    recogniser: Recogniser,
    t: int,
    flat: list,
    scores: np.ndarray,
    ended: dict,
    width: int,
    rows: int,
) -> dict[int, list[Hypothesis]]:
    """The best prefixes one character longer, of those that can still be among the kept."""
    longer: dict[int, list] = {b: [] for b in ended}
    for (b, item), row in zip(flat, scores):
        floor = _floor(ended[b], width)
        order = np.argsort(-row)[: width + 1]
        longer[b] += [
            (item.score + row[k], item, int(k))
            for k in order
            if k != BLANK and item.score + row[k] > floor
        ]
    chosen = [
        (b, *choice)
        for b, choices in longer.items()
        for choice in sorted(choices, key=_score_of_choice)[:width]
    ]
    if not chosen:
        return {b: [] for b in ended}
    tokens = np.array([token for *_, token in chosen])
    states = zip(*(item.state for _, _, item, _ in chosen))
    state = tuple(_fill(np.stack(part), rows) for part in states)
    outputs, state = recogniser.predict(_fill(tokens, rows), state)
    grown: dict[int, list[Hypothesis]] = {b: [] for b in ended}
    for n, (b, score, item, token) in enumerate(chosen):
        parts = tuple(part[n] for part in state)
        ids, frames = (*item.ids, token), (*item.frames, t)
        grown[b].append(Hypothesis(ids, frames, score, outputs[n], parts))
    return grown


def _floor(ended: dict, width: int) -> float:
    """What a prefix must score to be among the kept ones."""
    if len(ended) < width:
        return -np.inf
    return sorted((item.score for item in ended.values()), reverse=True)[width - 1]


def _score_of_choice(choice: tuple) -> float:
    return -choice[0]


def _best(items: Iterable[Hypothesis], width: int) -> list[Hypothesis]:
    return sorted(items, key=lambda item: -item.score)[:width]


def _fill(array: np.ndarray, rows: int) -> np.ndarray:
    """Repeat rows up to a fixed number: new shapes cost time in MindSpore, rows hardly any."""
    return np.resize(array, (max(rows, len(array)), *array.shape[1:]))


def _where(live: np.ndarray, new: np.ndarray, old: np.ndarray) -> np.ndarray:
    return np.where(live.reshape(-1, *[1] * (new.ndim - 1)), new, old)
