# SPDX-License-Identifier: Apache-2.0
"""Characters while speech is still coming in, and where one utterance ends and the next begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..data.buckets import SUBSAMPLING
from ..settings import Config
from .bias import Bias
from .endpoint import Endpoint, endpoint_of
from .found import Found
from .recogniser import Recogniser
from .search import open_search


@dataclass(frozen=True)
class Segment:
    """An utterance of a stream: what was found, when, and why it was over.

    Times are seconds since the stream began. `seconds` has the end of the encoder frame that
    emitted each label; `begin` and `end` enclose the frames of the first and the last label;
    `heard` encloses all audio of the utterance, with the silence around it.
    """

    found: Found
    seconds: tuple[float, ...]
    begin: float
    end: float
    heard: tuple[float, float]
    reason: Endpoint


class StreamingDecoder:
    """Takes normalised features in pieces of any size; encodes a chunk as soon as it is full.

    `accept` and `finish` give the utterances that are over, by the rules of `config.endpoint`.
    Each is what `search.decode` finds in its chunks alone: encoder and search begin anew with every
    utterance, as in training. So time and memory do not depend on how long a stream runs.
    `biases` are those of `build_biases`: without them a stream is not what users hear.
    """

    def __init__(self, recogniser: Recogniser, config: Config, biases: Sequence[Bias]):
        self._recogniser, self._config, self._biases = recogniser, config, biases
        self._frames = recogniser.chunk_size * SUBSAMPLING
        self._hop = config.features.hop_ms / 1000
        self._overlap = round(config.endpoint.overlap / self._hop)
        self._pending = np.zeros((0, config.features.mels), np.float32)
        self._compile()
        self._start = 0  # features of the stream before this utterance
        self._steps = 0  # of the decoder before this utterance
        self._open()

    def accept(self, features: np.ndarray) -> list[Segment]:
        """(n, mels) more features -> the utterances that they end."""
        self._pending = np.concatenate([self._pending, features])
        ended = []
        while len(self._pending) >= self._frames:
            ended += self._encode(self._frames)
        return ended

    def finish(self) -> list[Segment]:
        """The stream is over: the utterances in what is left."""
        ended = []
        while len(self._pending) >= SUBSAMPLING:
            left = len(self._pending) // SUBSAMPLING * SUBSAMPLING
            ended += self._encode(min(left, self._frames))
        if self.partial.ids:
            ended.append(self._segment(Endpoint.STREAM_OVER))
            self._open_again()
        return ended

    @property
    def partial(self) -> Found:
        """What has been found in the utterance that is not over."""
        return self._search.best()

    @property
    def steps(self) -> int:
        """How often the joiner has been evaluated for the stream."""
        return self._steps + int(self._search.steps[0])

    @property
    def settled(self) -> int:
        """How many labels of `partial` will never be taken back: with greedy search, all."""
        return self._search.settled()

    def _open(self) -> None:
        self._stream = self._recogniser.open_stream()
        self._search = open_search(self._recogniser, self._config, 1, self._biases)
        self._heard = 0  # encoder frames of this utterance
        self._recent = np.zeros((0, self._pending.shape[1]), np.float32)

    def _open_again(self) -> None:
        self._steps = self.steps
        self._open()

    def _encode(self, count: int) -> list[Segment]:
        """Hear so many features, or fewer if the utterance ends within them."""
        chunk, self._pending = self._pending[:count], self._pending[count:]
        self._recent = np.concatenate([self._recent, chunk])[-(self._overlap + self._frames) :]
        frames = self._recogniser.encode_chunk(chunk, self._stream)
        for t in range(frames.shape[1]):
            self._search.advance(frames[:, t : t + 1], np.ones(1, int))
            self._heard += 1
            reason = endpoint_of(self.partial, self._heard, self._config)
            if reason is not None:
                return self._close(reason, unheard=count - (t + 1) * SUBSAMPLING)
        return []

    def _close(self, reason: Endpoint, unheard: int) -> list[Segment]:
        """End the utterance, of which the last `unheard` encoded features are not a part."""
        ended = [self._segment(reason)] if self.partial.ids else []
        again = 0 if reason is Endpoint.LONGEST else self._overlap
        again = min(again, len(self._recent) - unheard)
        self._pending = np.concatenate(
            [self._recent[len(self._recent) - unheard - again :], self._pending]
        )
        self._start += self._heard * SUBSAMPLING - again
        self._open_again()
        return ended

    def _segment(self, reason: Endpoint) -> Segment:
        found, frame = self.partial, SUBSAMPLING * self._hop
        start = self._start * self._hop
        seconds = tuple(start + frame * (t + 1) for t in found.frames)
        heard = (start, start + frame * self._heard)
        return Segment(found, seconds, seconds[0] - frame, seconds[-1], heard, reason)

    def _compile(self) -> None:
        """Call every part once: compile before the first speech comes in, not while it does."""
        silence = np.zeros((SUBSAMPLING, self._pending.shape[1]), np.float32)
        frames = self._recogniser.encode_chunk(silence, self._recogniser.open_stream())
        search = open_search(self._recogniser, self._config, 1, self._biases)
        search.advance(frames, np.ones(1, int))
