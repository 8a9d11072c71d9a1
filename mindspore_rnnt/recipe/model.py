# SPDX-License-Identifier: Apache-2.0
"""The transducer: encoder, predictor, packed joiner and loss in one Cell.

For training `construct` takes the arrays of a batch (INPUTS, as `dataset` makes them) and gives
the loss. For decoding `encode`, `start`, `predict` and `join` take and give numpy arrays; the
exported model has the same four, so every decoder works on either.
"""

from __future__ import annotations

import numpy as np
from mindspore import Tensor, amp, float16, int32, nn

from mindspore_rnnt import PackedJoiner, RNNTLoss

from .config import Config
from .conformer import SUBSAMPLING, ConformerEncoder
from .predictor import build_predictor
from .text import BLANK

INPUTS = (
    "features",
    "frame_lengths",
    "encoder_lengths",
    "targets",
    "target_lengths",
    "frame_rows",
    "label_rows",
)
State = tuple[np.ndarray, ...]


def build(config: Config, vocab_size: int) -> Transducer:
    """A new model; its weights follow from MindSpore's seed."""
    return Transducer(config, vocab_size)


class Transducer(nn.Cell):
    def __init__(self, config: Config, vocab_size: int):
        super().__init__()
        model = config.model
        self.chunk_size = model.chunk_size
        self.mels = config.features.mels
        self.encoder = ConformerEncoder(model, config.features.mels)
        if config.train.dtype == "float16":
            self.encoder = amp.auto_mixed_precision(self.encoder, "auto", float16)
        self.predictor = build_predictor(model, vocab_size)
        self.joiner = PackedJoiner(
            model.encoder_dim, model.predictor_dim, model.joiner_dim, vocab_size
        )
        self.chunked = bool(config.train.memory_budget)
        self.loss = self._build_loss(config.train.memory_budget)

    def construct(
        self,
        features: Tensor,
        frame_lengths: Tensor,
        encoder_lengths: Tensor,
        targets: Tensor,
        target_lengths: Tensor,
        frame_rows: Tensor,
        label_rows: Tensor,
        keep: Tensor = None,
    ) -> Tensor:
        """The mean loss of a batch; `keep` are the encoder's dropout factors."""
        frames = self.encoder(features, frame_lengths, keep)
        steps = self.predictor(targets)
        lengths = (encoder_lengths, target_lengths)
        if self.chunked:
            return self.loss(frames, steps, targets, *lengths, frame_rows, label_rows)
        return self.loss(self.joiner(frames, steps, frame_rows, label_rows), targets, *lengths)

    def encode(self, features: np.ndarray, frame_lengths: np.ndarray) -> np.ndarray:
        """(B, frames, mels) -> (B, frames // 4, D); frames behind an end mean nothing."""
        whole = features.shape[1] // SUBSAMPLING * SUBSAMPLING
        lengths = Tensor(frame_lengths.astype(np.int32))
        return self.encoder(Tensor(features[:, :whole]), lengths).asnumpy()

    def encode_chunk(self, features: np.ndarray, cache: tuple) -> tuple[np.ndarray, tuple]:
        """(B, 4 n, mels) and what is kept of the chunks before, at first `()`."""
        frames, cache = self.encoder.step(Tensor(features), cache)
        return frames.asnumpy(), cache

    def start(self, rows: int) -> State:
        """The predictor's state before the first token, which is BLANK."""
        return tuple(item.asnumpy() for item in self.predictor.start(rows))

    def predict(self, tokens: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        """(n,) tokens and a state -> (n, D) and the next state."""
        output, *state = self.predictor.step(
            Tensor(tokens.astype(np.int32)), *(Tensor(item) for item in state)
        )
        return output.asnumpy(), tuple(item.asnumpy() for item in state)

    def join(self, frames: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """(n, De) frames and (n, Dp) predictor outputs -> (n, V) logits."""
        rows = Tensor(np.arange(len(frames)), int32)
        pair = (Tensor(frames[np.newaxis]), Tensor(outputs[np.newaxis]))
        return self.joiner(*pair, rows, rows).asnumpy()

    def _build_loss(self, memory_budget: str) -> nn.Cell:
        if not memory_budget:
            return RNNTLoss(blank=BLANK, validate=False)
        from mindspore_rnnt import JoinerRNNTLoss

        return JoinerRNNTLoss(self.joiner, memory_budget, blank=BLANK, validate=False)
