# SPDX-License-Identifier: Apache-2.0
"""Characters while speech is still coming in."""

from __future__ import annotations

import numpy as np

from .config import Config
from .conformer import SUBSAMPLING
from .decode import GreedySearch


class StreamingDecoder:
    """Takes normalised features in pieces of any size; encodes a chunk as soon as it is full.

    What it finds is what `decode.greedy` finds in the whole utterance: the encoder's mask lets a
    frame see exactly the chunks that the stream keeps.
    """

    def __init__(self, model: object, config: Config):
        chunk = config.model.chunk_size
        if chunk < 1:
            raise ValueError(
                f"streaming needs a model with chunks, but model.chunk_size is {chunk}: "
                "it was trained to see whole utterances"
            )
        self._model = model
        self._frames = chunk * SUBSAMPLING
        self._search = GreedySearch(model, 1, config.decode.max_symbols)
        self._pending = np.zeros((0, config.features.mels), np.float32)
        self._cache: tuple = ()
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

    def _encode(self, count: int) -> None:
        chunk, self._pending = self._pending[:count], self._pending[count:]
        frames, self._cache = self._model.encode_chunk(chunk[np.newaxis], self._cache)
        self._search.advance(frames, np.array([frames.shape[1]]))
