# SPDX-License-Identifier: Apache-2.0
"""A causal Conformer that hears speech in chunks, whole (`construct`) or as a stream (`step`).

Frames of one chunk see each other and `left_chunks` chunks before; convolutions look back only.
So a frame never depends on a later chunk, and a stream that keeps what may be looked back at
computes what the whole utterance does. Layouts: features (B, 4 T, mels), frames (B, T, D).
"""

from __future__ import annotations

import numpy as np
from mindspore import Parameter, Tensor, float32, nn, ops
from mindspore.common.initializer import initializer

from ..data.buckets import SUBSAMPLING
from ..settings import ModelConfig

HIDDEN = -1e9  # added to the score of what a frame does not see
BRANCHES = 4  # of a block; each has its own dropout


class ConformerEncoder(nn.Cell):
    """Log-mel features to one frame of width `encoder_dim` for every four of them."""

    def __init__(self, config: ModelConfig, mels: int):
        super().__init__()
        kinds: dict = {"stack": StackSubsampling, "conv2d": Conv2dSubsampling}
        self.chunk_size, self.left_chunks = config.chunk_size, config.left_chunks
        self.dim, self.heads, self.kernel = config.encoder_dim, config.heads, config.conv_kernel
        self.subsampling = kinds[config.subsampling](mels, config.encoder_dim)
        self.blocks = nn.CellList([ConformerBlock(config) for _ in range(config.blocks)])
        # The penalty per frame of distance, another in each head (ALiBi): the only notion of
        # position beside the convolutions, and good for a stream of any length.
        slopes = 2.0 ** (-8.0 * (np.arange(config.heads) + 1) / config.heads)
        self.slopes = Tensor(slopes.astype(np.float32).reshape(-1, 1, 1))

    def construct(
        self, features: Tensor, frame_lengths: Tensor, keep: Tensor | None = None
    ) -> Tensor:
        """Whole utterances. `keep` (4 blocks, B, 1, D) are the factors of dropout, if any."""
        x, _ = self.subsampling(features, self.subsampling.silence(features))
        bias = self._visible(x.shape[1]) + self._padding(x.shape[1], frame_lengths // SUBSAMPLING)
        for i, block in enumerate(self.blocks):
            scale = None if keep is None else keep[BRANCHES * i : BRANCHES * (i + 1)]
            x, _ = block(x, bias, None, scale)
        return x

    def step(self, features: Tensor, frames: Tensor, past: Tensor, *cache: Tensor) -> tuple:
        """A chunk of a stream: its frames, and the cache of the next chunk.

        Only the first `frames` () int32 frames of the chunk count, and the last `past` () int32
        of the remembered ones. `cache` begins as `empty_cache` and keeps its shapes.
        """
        x, history = self.subsampling(features, cache[0])
        room, size = cache[1].shape[2], x.shape[1]
        position = ops.arange(room + size)
        hidden = ops.logical_or(position < room - past, position >= room + frames)
        bias = self._distance(size, room + size) + HIDDEN * hidden.astype(self.slopes.dtype)
        kept: tuple[Tensor, ...] = (history,)
        for i, block in enumerate(self.blocks):
            x, (keys, values, mixed) = block(x, bias, cache[1 + 3 * i : 4 + 3 * i])
            kept = (*kept, keys[:, :, size:], values[:, :, size:], mixed)
        return (x, *kept)

    def cache_shapes(self, room: int | None) -> list[tuple]:
        """The parts of a cache that remembers `room` frames of one stream, at least one.

        The last features; then for each block keys and values (1, heads, room, D / heads), and
        what its convolution looks back at.
        """
        keys = (1, self.heads, room, self.dim // self.heads)
        block = [keys, keys, (1, self.kernel - 1, self.dim)]
        return [(1, self.subsampling.history, self.subsampling.mels), *block * len(self.blocks)]

    def empty_cache(self, room: int) -> tuple[Tensor, ...]:
        return tuple(ops.zeros(shape, float32) for shape in self.cache_shapes(room))

    def _visible(self, frames: int) -> Tensor:
        """(heads, T, T): the distance penalty, and HIDDEN where the chunk rule forbids a look."""
        bias = self._distance(frames, frames)
        if self.chunk_size < 0:
            return bias
        chunk = ops.arange(frames) // self.chunk_size
        behind = chunk.expand_dims(1) - chunk.expand_dims(0)
        hidden = behind < 0
        if self.left_chunks >= 0:
            hidden = ops.logical_or(hidden, behind > self.left_chunks)
        return bias + HIDDEN * hidden.astype(bias.dtype)

    def _distance(self, frames: int, seen: int) -> Tensor:
        """(heads, frames, seen): the distance penalty of the last frames to all that are seen."""
        position = ops.arange(seen)
        distance = ops.abs(position[seen - frames :].expand_dims(1) - position.expand_dims(0))
        return -self.slopes * distance.astype(self.slopes.dtype)

    def _padding(self, frames: int, lengths: Tensor) -> Tensor:
        """(B, 1, 1, T): HIDDEN behind the end of each utterance."""
        beyond = ops.arange(frames).astype(lengths.dtype) >= lengths.expand_dims(1)
        return HIDDEN * beyond.astype(self.slopes.dtype).expand_dims(1).expand_dims(1)


class StackSubsampling(nn.Cell):
    """Eight features at every fourth, stacked: cheap where Conv2d is slow (CPU)."""

    history = SUBSAMPLING

    def __init__(self, mels: int, dim: int):
        super().__init__()
        self.mels = mels
        self.inner = nn.Dense(2 * SUBSAMPLING * mels, 2 * dim, activation=nn.ReLU())
        self.outer = nn.Dense(2 * dim, dim)

    def silence(self, features: Tensor) -> Tensor:
        return ops.zeros((features.shape[0], self.history, self.mels), features.dtype)

    def construct(self, features: Tensor, history: Tensor) -> tuple[Tensor, Tensor]:
        features = ops.concat((history, features), 1)
        stacks = features.reshape((features.shape[0], -1, SUBSAMPLING * self.mels))
        pairs = ops.concat((stacks[:, :-1], stacks[:, 1:]), 2)
        return self.outer(self.inner(pairs)), features[:, -self.history :]


class Conv2dSubsampling(nn.Cell):
    """Two 3 x 3 convolutions of stride 2 over time and mel bins, looking back only."""

    history = 3

    def __init__(self, mels: int, dim: int):
        super().__init__()
        self.mels = mels
        self.inner = nn.Conv2d(1, dim, 3, 2, pad_mode="valid", has_bias=True)
        self.outer = nn.Conv2d(dim, dim, 3, 2, pad_mode="valid", has_bias=True)
        self.out = nn.Dense(dim * (((mels - 1) // 2 - 1) // 2), dim)

    def silence(self, features: Tensor) -> Tensor:
        return ops.zeros((features.shape[0], self.history, self.mels), features.dtype)

    def construct(self, features: Tensor, history: Tensor) -> tuple[Tensor, Tensor]:
        features = ops.concat((history, features), 1)
        maps = ops.relu(self.outer(ops.relu(self.inner(features.expand_dims(1)))))
        batch, channels, frames, bins = maps.shape
        x = maps.transpose((0, 2, 1, 3)).reshape((batch, frames, channels * bins))
        return self.out(x), features[:, -self.history :]


class ConformerBlock(nn.Cell):
    """x + FF/2, + attention, + convolution, + FF/2, LayerNorm. LayerNorm throughout: neither
    padding nor streaming disturbs it, as they would BatchNorm."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        dim = config.encoder_dim
        self.feed_forward = FeedForward(dim, config.feed_forward)
        self.attention = Attention(dim, config.heads)
        self.convolution = CausalConvolution(dim, config.conv_kernel)
        self.second_feed_forward = FeedForward(dim, config.feed_forward)
        self.norm = nn.LayerNorm((dim,))

    def construct(
        self, x: Tensor, bias: Tensor, cache: tuple | None = None, keep: Tensor | None = None
    ):
        """x (B, T, D), bias of the scores; returns x and (keys, values, convolution inputs)."""
        x = x + 0.5 * _drop(self.feed_forward(x), keep, 0)
        heard, keys, values = self.attention(x, bias, cache)
        x = x + _drop(heard, keep, 1)
        mixed, frames = self.convolution(x, None if cache is None else cache[2])
        x = x + _drop(mixed, keep, 2)
        x = x + 0.5 * _drop(self.second_feed_forward(x), keep, 3)
        return self.norm(x), (keys, values, frames)


class FeedForward(nn.Cell):
    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.norm = nn.LayerNorm((dim,))
        self.inner = nn.Dense(dim, hidden)
        self.outer = nn.Dense(hidden, dim)

    def construct(self, x: Tensor) -> Tensor:
        return self.outer(ops.silu(self.inner(self.norm(x))))


class Attention(nn.Cell):
    """Multi-head self-attention; the scores and their softmax are float32 in any precision."""

    def __init__(self, dim: int, heads: int):
        super().__init__()
        if dim % heads:
            raise ValueError(f"model.encoder_dim {dim} must be a multiple of model.heads {heads}")
        self.heads, self.dim = heads, dim
        self.scale = (dim // heads) ** -0.5
        self.norm = nn.LayerNorm((dim,))
        self.inputs = nn.Dense(dim, 3 * dim)
        self.output = nn.Dense(dim, dim)
        self.scores = ops.BatchMatMul(transpose_b=True)
        self.mix = ops.BatchMatMul()

    def construct(self, x: Tensor, bias: Tensor, cache: tuple | None = None):
        batch, frames = x.shape[0], x.shape[1]
        parts = self.inputs(self.norm(x)).reshape((batch, frames, 3, self.heads, -1))
        queries, keys, values = parts.transpose((2, 0, 3, 1, 4))
        if cache is not None:
            keys = ops.concat((cache[0], keys), 2)
            values = ops.concat((cache[1], values), 2)
        scores = self.scores(queries * self.scale, keys).astype(bias.dtype) + bias
        weights = ops.softmax(scores, -1).astype(values.dtype)
        mixed = self.mix(weights, values).transpose((0, 2, 1, 3))
        return self.output(mixed.reshape((batch, frames, self.dim))), keys, values


class CausalConvolution(nn.Cell):
    """Gate, depthwise convolution over the last `kernel` frames, norm, SiLU."""

    def __init__(self, dim: int, kernel: int):
        super().__init__()
        self.dim, self.kernel = dim, kernel
        self.norm = nn.LayerNorm((dim,))
        self.inputs = nn.Dense(dim, 2 * dim)
        self.taps = Parameter(initializer("he_uniform", (kernel, dim)), name="taps")
        self.inner_norm = nn.LayerNorm((dim,))
        self.output = nn.Dense(dim, dim)

    def construct(self, x: Tensor, history: Tensor | None = None) -> tuple[Tensor, Tensor]:
        batch, frames = x.shape[0], x.shape[1]
        gated = ops.glu(self.inputs(self.norm(x)), -1)
        if history is None:
            history = ops.zeros((batch, self.kernel - 1, self.dim), gated.dtype)
        padded = ops.concat((history, gated), 1)
        # Time first, so that each shift is a slice in one piece: a quarter of Conv1d's time on
        # CPU, and every frame is the same sum in the same order however the stream is cut.
        shifted = padded.swapaxes(0, 1).reshape((frames + self.kernel - 1, batch * self.dim))
        taps = ops.tile(self.taps, (1, batch)).astype(gated.dtype)
        total = shifted[0:frames] * taps[0]
        for k in range(1, self.kernel):
            total = total + shifted[k : k + frames] * taps[k]
        mixed = total.reshape((frames, batch, self.dim)).swapaxes(0, 1)
        mixed = self.output(ops.silu(self.inner_norm(mixed)))
        return mixed, padded[:, frames:]


def _drop(x: Tensor, keep: Tensor, branch: int) -> Tensor:
    return x if keep is None else x * keep[branch]
