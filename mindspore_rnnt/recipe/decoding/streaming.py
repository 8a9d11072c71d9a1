# SPDX-License-Identifier: Apache-2.0
"""Characters while speech is still coming in."""

from __future__ import annotations

import numpy as np

from ..config import Config
from ..data.buckets import SUBSAMPLING
from ..data.text import BLANK
from .recogniser import Recogniser
from .search import GreedySearch


class StreamingDecoder:
    """Takes normalised features in pieces of any size; encodes a chunk as soon as it is full.

    What it finds is what `decode.greedy` finds in the whole utterance: the encoder's mask lets a
    frame see exactly the chunks that the stream keeps.
    """

    def __init__(self, recogniser: Recogniser, config: Config):
        self._recogniser = recogniser
        self._frames = recogniser.chunk_size * SUBSAMPLING
        self._pending = np.zeros((0, config.features.mels), np.float32)
        self._compile()
        self._stream = recogniser.open_stream()
        self._search = GreedySearch(recogniser, 1, config.decode.max_symbols)
        self._frame_seconds = SUBSAMPLING * config.features.hop_ms / 1000

    def accept(self, features: np.ndarray) -> list[int]:
        """(n, mels) more features -> the ids that they complete."""
        known = len(self.ids)
        self._pending = np.concatenate([self._pending, features])
        while len(self._pending) >= self._frames:
            self._encode(self._frames)
        return self.ids[known:]

    def finish(self) -> list[int]:
        """The ids of what is left, when the utterance is over."""
        known = len(self.ids)
        left = len(self._pending) // SUBSAMPLING * SUBSAMPLING
        if left:
            self._encode(left)
        return self.ids[known:]

    @property
    def ids(self) -> list[int]:
        return self._search.found[0][0]

    @property
    def seconds(self) -> list[float]:
        """When the speech of each id ended: the end of the encoder frame that emitted it."""
        return [(frame + 1) * self._frame_seconds for frame in self._search.found[0][1]]

    def _compile(self) -> None:
        """Call every part once: compile before the first speech comes in, not while it does."""
        recogniser = self._recogniser
        silence = np.zeros((SUBSAMPLING, self._pending.shape[1]), np.float32)
        frames = recogniser.encode_chunk(silence, recogniser.open_stream())
        outputs, _ = recogniser.predict(np.array([BLANK]), recogniser.start(1))
        recogniser.join(frames[:, 0], outputs)

    def _encode(self, count: int) -> None:
        chunk, self._pending = self._pending[:count], self._pending[count:]
        frames = self._recogniser.encode_chunk(chunk, self._stream)
        self._search.advance(frames, np.array([frames.shape[1]]))
