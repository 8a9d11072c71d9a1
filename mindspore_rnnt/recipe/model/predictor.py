# SPDX-License-Identifier: Apache-2.0
"""What has been said so far, as a vector: two kinds of predictor with one interface.

`construct(targets)` gives all steps of a batch for training: (B, U) -> (B, U + 1, D).
`start(n)` and `step(tokens, *state)` give one step for decoding; the first token is BLANK, and
every part of a state has one row for each of the n.
"""

from __future__ import annotations

from mindspore import Parameter, Tensor, float32, int32, nn, ops
from mindspore.common.initializer import Normal, initializer

from ..data.text import BLANK
from ..settings import ModelConfig


def build_predictor(config: ModelConfig, vocab_size: int) -> nn.Cell:
    if config.predictor == "stateless":
        return StatelessPredictor(vocab_size, config.predictor_dim, config.predictor_context)
    return LSTMPredictor(vocab_size, config.predictor_dim)


class StatelessPredictor(nn.Cell):
    """Sum of one embedding for each of the last `context` tokens."""

    def __init__(self, vocab_size: int, dim: int, context: int):
        super().__init__()
        self.context = context
        self.tables = Parameter(
            initializer(Normal(dim**-0.5), (context, vocab_size, dim)), name="tables"
        )

    def construct(self, targets: Tensor) -> Tensor:
        batch, labels = targets.shape
        before = ops.full((batch, self.context), BLANK, dtype=targets.dtype)
        tokens = ops.concat((before, targets), 1)
        total = ops.gather(self.tables[0], tokens[:, 0 : labels + 1], 0)
        for k in range(1, self.context):
            total = total + ops.gather(self.tables[k], tokens[:, k : k + labels + 1], 0)
        return total

    def start(self, rows: int) -> tuple[Tensor]:
        return (ops.full((rows, self.context), BLANK, dtype=int32),)

    def step(self, tokens: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
        """(n,) tokens after (n, context) others -> (n, D) and the new last tokens."""
        last = ops.concat((last, tokens.expand_dims(1)), 1)[:, 1:]
        total = ops.gather(self.tables[0], last[:, 0], 0)
        for k in range(1, self.context):
            total = total + ops.gather(self.tables[k], last[:, k], 0)
        return total, last


class LSTMPredictor(nn.Cell):
    """An embedding and one LSTM layer: remembers the whole sentence."""

    def __init__(self, vocab_size: int, dim: int):
        super().__init__()
        self.dim = dim
        self.embedding = nn.Embedding(vocab_size, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)

    def construct(self, targets: Tensor) -> Tensor:
        batch = targets.shape[0]
        before = ops.full((batch, 1), BLANK, dtype=targets.dtype)
        embedded = self.embedding(ops.concat((before, targets), 1))
        nothing = ops.zeros((1, batch, self.dim), embedded.dtype)
        output, _ = self.lstm(embedded, (nothing, nothing))
        return output

    def start(self, rows: int) -> tuple[Tensor, Tensor]:
        return ops.zeros((rows, self.dim), float32), ops.zeros((rows, self.dim), float32)

    def step(self, tokens: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(n,) tokens and the state, (n, D) twice -> (n, D) and the new state."""
        embedded = self.embedding(tokens).expand_dims(1)
        state = (hidden.expand_dims(0), cell.expand_dims(0))
        output, (hidden, cell) = self.lstm(embedded, state)
        return output[:, 0], hidden[0], cell[0]
