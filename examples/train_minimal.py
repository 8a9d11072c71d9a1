# SPDX-License-Identifier: Apache-2.0
"""A complete RNN-T training: encoder, predictor, joiner, loss, optimizer.

The task is made up: each label of a sample is shown for four frames as a noisy one-hot vector.
"""

import mindspore as ms
import numpy as np
from mindspore import nn, ops

from mindspore_rnnt import PackedJoiner, RNNTLoss, packed_indices

B, V, WIDTH, BLANK = 16, 6, 32, 0
rng = np.random.default_rng(0)
ms.set_seed(0)


def next_batch(max_u=5):
    target_lengths = rng.integers(1, max_u + 1, B).astype(np.int32)
    targets = rng.integers(1, V, (B, max_u)).astype(np.int32)  # 0 is the blank
    logit_lengths = 4 * target_lengths
    shown = np.eye(V)[targets].repeat(4, axis=1) + rng.normal(0, 0.2, (B, 4 * max_u, V))
    rows = packed_indices(logit_lengths, target_lengths, max_t=4 * max_u, max_u=max_u)
    arrays = (shown.astype(np.float32), targets, logit_lengths, target_lengths, *rows)
    return [ms.Tensor(array) for array in arrays]


class Transducer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.encoder = nn.LSTM(V, WIDTH, batch_first=True)
        self.predictor = nn.Embedding(V, WIDTH)  # of the last label alone
        self.joiner = PackedJoiner(WIDTH, WIDTH, WIDTH, V)
        self.loss = RNNTLoss(BLANK)

    def construct(self, frames, targets, logit_lengths, target_lengths, frame_rows, step_rows):
        encoder_out, _ = self.encoder(frames)
        predictor_out = self.predictor(ops.pad(targets, (1, 0), value=BLANK))  # starts with blank
        logits = self.joiner(encoder_out, predictor_out, frame_rows, step_rows)
        return self.loss(logits, targets, logit_lengths, target_lengths)


model = Transducer().set_train()
optimizer = nn.Adam(model.trainable_params(), learning_rate=2e-2)
step = ms.value_and_grad(model, None, optimizer.parameters)
losses = []
for number in range(100):
    loss, gradients = step(*next_batch())
    optimizer(gradients)
    losses.append(float(loss))
    if number % 10 == 0:
        print(f"step {number:2}: loss {losses[-1]:.3f}")
