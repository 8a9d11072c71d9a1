# SPDX-License-Identifier: Apache-2.0
"""Small networks, a stand-in for a trained one, and batches that tests of the recipe share."""

import mindspore as ms
import numpy as np

from mindspore_rnnt import packed_indices
from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.model import transducer

VOCABULARY = 7
NETWORK = [
    "model.encoder_dim=32",
    "model.heads=4",
    "model.blocks=2",
    "model.feed_forward=48",
    "model.conv_kernel=5",
    "model.chunk_size=4",
    "model.predictor_dim=16",
    "model.joiner_dim=24",
    "model.dropout=0.0",
]
CORPUS = [
    "data.train_utterances=16",
    "data.heldout_utterances=2",
    "data.buckets=1",
    "decode.batch_size=2",
    "optim.warmup_steps=2",
    "train.batch_size=4",
]


def network(*overrides, seed=3):
    """A configuration and a model with random weights."""
    settings = config.load(None, [*NETWORK, *overrides])
    ms.set_seed(seed)
    return settings, transducer.build(settings, VOCABULARY).set_train()


def random_features(batch, frames, seed=0):
    return np.random.default_rng(seed).normal(size=(batch, frames, 80)).astype(np.float32)


def random_batch(batch=4, frames=64, max_u=5, seed=0):
    """What `BatchSource.epoch` yields, with random contents."""
    rng = np.random.default_rng(seed)
    frame_lengths = rng.integers(frames // 2, frames + 1, batch).astype(np.int32)
    frame_lengths[0] = frames
    target_lengths = rng.integers(1, max_u + 1, batch).astype(np.int32)
    lengths = frame_lengths // 4
    frame_rows, step_rows = packed_indices(lengths, target_lengths, frames // 4, max_u)
    return {
        "features": random_features(batch, frames, seed),
        "frame_lengths": frame_lengths,
        "encoder_lengths": lengths,
        "targets": rng.integers(1, VOCABULARY, (batch, max_u)).astype(np.int32),
        "target_lengths": target_lengths,
        "frame_rows": frame_rows,
        "step_rows": step_rows,
    }


class Deaf:
    """A recogniser that finds nothing. Its frames are their numbers, its predictor gives the last
    label. Subclasses find labels by methods of their own."""

    def __init__(self, chunk_size=4):
        self.chunk_size = chunk_size

    def encode(self, features, frame_lengths):
        frames = np.arange(features.shape[1] // 4, dtype=float)
        return np.tile(frames.reshape(1, -1, 1), (len(features), 1, 1))

    def open_stream(self):
        if self.chunk_size < 1:
            raise ValueError("streaming needs a model with chunks")
        return [0]

    def encode_chunk(self, features, stream):
        before = stream[0]
        stream[0] += len(features) // 4
        return before + self.encode(features[np.newaxis], None)

    def start(self, rows):
        return ()

    def predict(self, tokens, state):
        return np.asarray(tokens, float)[:, np.newaxis], ()

    def join(self, frames, outputs):
        return np.tile([9.0, 0.0], (len(frames), 1))

    def join_heads(self, frames, outputs):
        return self.join(frames, outputs), np.zeros((len(frames), 5))


def same_batch(left, right):
    assert left.keys() == right.keys()
    return all(np.array_equal(left[key], right[key]) for key in left)


def weights(cell):
    return {item.name: item.asnumpy().copy() for item in cell.get_parameters()}


def report(name, left, right):
    """Print and return the largest difference."""
    error = float(np.max(np.abs(np.asarray(left) - np.asarray(right)), initial=0.0))
    print(f"{name}: max error {error:.3g}")
    return error
