# SPDX-License-Identifier: Apache-2.0
"""A trained network as the decoders see it: parts that take and give numpy arrays.

They are compiled, unless train.jit is false.

`encode`, `encode_chunk`, `start`, `predict` and `join` (of a TDT model `join_heads`) are all that
decoding needs, so a decoder works on this class and on its child that runs exported files
(`export.load`) alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

from ..data.buckets import SUBSAMPLING
from ..model.transducer import Transducer

State = tuple[np.ndarray, ...]
ROOM_CHUNKS = 8  # remembered at first with model.left_chunks -1; doubled as it fills


@dataclass
class Stream:
    """What the encoder remembers of one stream: `past` frames in a cache with some room."""

    past: int
    cache: tuple[Tensor, ...]


class Recogniser:
    def __init__(self, model: Transducer):
        encoder, predictor, joiner = model.encoder, model.predictor, model.joiner
        mels = encoder.subsampling.mels
        self.model = model
        self.chunk_size, self.left_chunks = encoder.chunk_size, encoder.left_chunks

        def encode(features, frame_lengths):
            return encoder(features, frame_lengths)

        def encode_chunk(features, frames, past, cache):
            return encoder.step(features, frames, past, *cache)

        def predict(tokens, *state):
            return predictor.step(tokens, *state)

        def join(frames, outputs, rows):
            return joiner(frames, outputs, rows, rows)

        if model.jit:
            # One compile each, but for the searches: one for each number of rows, which they keep.
            whole = {
                "features": free(None, None, mels),
                "frame_lengths": free(None, dtype=ms.int32),
            }
            encode = ms.enable_dynamic(**whole)(ms.jit(encode))
            cache = tuple(free(*shape) for shape in encoder.cache_shapes(None))
            encode_chunk = ms.enable_dynamic(cache=cache)(ms.jit(encode_chunk))
            predict, join = ms.jit(predict), ms.jit(join)
        self._encode, self._encode_chunk = encode, encode_chunk
        self._predict, self._join = predict, join

    def encode(self, features: np.ndarray, frame_lengths: np.ndarray) -> np.ndarray:
        """(B, frames, mels) -> (B, frames // 4, D); frames behind an end mean nothing."""
        whole = features.shape[1] // SUBSAMPLING * SUBSAMPLING
        lengths = Tensor(frame_lengths.astype(np.int32))
        return self._encode(Tensor(features[:, :whole]), lengths).asnumpy()

    def open_stream(self) -> Stream:
        """The state before the first chunk."""
        if self.chunk_size < 1:
            raise ValueError(
                f"streaming needs a model with chunks, but model.chunk_size is {self.chunk_size}: "
                "it was trained to see whole utterances"
            )
        chunks = ROOM_CHUNKS if self.left_chunks < 0 else self.left_chunks
        return Stream(0, self.model.encoder.empty_cache(max(1, chunks * self.chunk_size)))

    def encode_chunk(self, features: np.ndarray, stream: Stream) -> np.ndarray:
        """Up to 4 * chunk_size frames (n, mels) -> (1, n // 4, D); only the last may be shorter."""
        frames = len(features) // SUBSAMPLING
        chunk = np.zeros((1, self.chunk_size * SUBSAMPLING, features.shape[1]), np.float32)
        chunk[0, : frames * SUBSAMPLING] = features[: frames * SUBSAMPLING]
        room = stream.cache[1].shape[2]
        if self.left_chunks < 0 and stream.past == room:
            stream.cache = tuple(_more_room(part, room) for part in stream.cache)
            room *= 2
        counts = (Tensor(frames, ms.int32), Tensor(stream.past, ms.int32))
        x, *cache = self._encode_chunk(Tensor(chunk), *counts, ms.mutable(stream.cache))
        limit = room if self.left_chunks != 0 else 0
        stream.past, stream.cache = min(stream.past + frames, limit), tuple(cache)
        return x.asnumpy()[:, :frames]

    def start(self, rows: int) -> State:
        """The predictor's state before the first token, which is BLANK."""
        return tuple(item.asnumpy() for item in self.model.predictor.start(rows))

    def predict(self, tokens: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        """(n,) tokens and a state -> (n, D) and the next state."""
        inputs = (Tensor(tokens.astype(np.int32)), *(Tensor(item) for item in state))
        output, *after = self._predict(*inputs)
        return output.asnumpy(), tuple(item.asnumpy() for item in after)

    def join(self, frames: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """(n, De) frames and (n, Dp) predictor outputs -> (n, V) logits."""
        return self._joined(frames, outputs).asnumpy()

    def join_heads(self, frames: np.ndarray, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same of a TDT model -> (n, V) logits of tokens and (n, D) of durations."""
        tokens, durations = self._joined(frames, outputs)
        return tokens.asnumpy(), durations.asnumpy()

    def _joined(self, frames: np.ndarray, outputs: np.ndarray) -> Any:
        rows = Tensor(np.arange(len(frames), dtype=np.int32))
        return self._join(Tensor(frames[np.newaxis]), Tensor(outputs[np.newaxis]), rows)


def free(*shape: int | None, dtype: object = ms.float32) -> Tensor:
    """Stands for any tensor of the shape; None is any size."""
    return Tensor(shape=list(shape), dtype=dtype)


def _more_room(part: Tensor, room: int) -> Tensor:
    """Keys and values (the parts of rank 4) with as much room again before what is remembered."""
    return ops.pad(part, (0, 0, room, 0)) if part.ndim == 4 else part
