# SPDX-License-Identifier: Apache-2.0
"""Batches to compute losses of: random ones, the ramp, and both layouts of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NO_ARC, NO_CELL = -1, -2  # row labels that are no class
UNREAD_LABELS = (99999, -1, -100)  # what fills a row of targets beyond its sample's labels


@dataclass
class Batch:
    """Samples of logits (T, U1, V) float32, their labels (U,), and both ways to lay them out."""

    samples: list
    labels: list

    @property
    def logit_lengths(self):
        return np.array([s.shape[0] for s in self.samples], np.int32)

    @property
    def target_lengths(self):
        return np.array([s.shape[1] - 1 for s in self.samples], np.int32)

    def targets(self, extra_u=0):
        """(B, max_U + extra_u); entries beyond a sample's labels must never be read."""
        width = int(self.target_lengths.max()) + extra_u
        unread = np.resize(UNREAD_LABELS, (len(self.labels), width)).astype(np.int32)
        for row, labels in zip(unread, self.labels):
            row[: len(labels)] = labels
        return unread

    def packed(self):
        """(sum T * U1, V)."""
        return np.concatenate([s.reshape(-1, s.shape[-1]) for s in self.samples])

    def padded(self, extra_t=0, extra_u=0, fill=np.nan):
        """(B, max_T + extra_t, max_U1 + extra_u, V); the padding is NaN and must never be read."""
        max_t = int(self.logit_lengths.max()) + extra_t
        max_u1 = int(self.target_lengths.max()) + 1 + extra_u
        shape = (len(self.samples), max_t, max_u1, self.samples[0].shape[-1])
        padded = np.full(shape, fill, np.float32)
        for place, sample in zip(padded, self.samples):
            place[: sample.shape[0], : sample.shape[1]] = sample
        return padded

    def padded_mask(self, extra_t=0, extra_u=0):
        """True where `padded` holds a sample's own row."""
        return ~np.isnan(
            Batch([np.zeros_like(s) for s in self.samples], self.labels).padded(extra_t, extra_u)
        )

    def layout(self, padded, extra_t=0, extra_u=0):
        """(logits, targets, logit_lengths, target_lengths) in one of the two layouts."""
        logits = self.padded(extra_t, extra_u) if padded else self.packed()
        targets = self.targets(extra_u if padded else 0)
        return logits, targets, self.logit_lengths, self.target_lengths

    def alone(self, b):
        return Batch([self.samples[b]], [self.labels[b]])

    @property
    def row_counts(self):
        return self.logit_lengths * (self.target_lengths + 1)

    def split(self, gradient):
        """The rows (T, U1, V) of each sample in a gradient, packed or padded; and the padding."""
        if gradient.ndim == 2:
            parts = np.split(gradient, np.cumsum(self.row_counts)[:-1])
            return [p.reshape(s.shape) for p, s in zip(parts, self.samples)], gradient[:0]
        extra_t = gradient.shape[1] - self.logit_lengths.max()
        extra_u = gradient.shape[2] - self.target_lengths.max() - 1
        own = [g[: s.shape[0], : s.shape[1]] for g, s in zip(gradient, self.samples)]
        return own, gradient[~self.padded_mask(extra_t, extra_u)]

    def per_row(self, values, gradient):
        """One value a sample, to multiply its rows of a packed or padded gradient with."""
        if gradient.ndim == 4:
            return np.asarray(values)[:, None, None, None]
        return np.repeat(values, self.row_counts)[:, None]


def random_batch(lengths, V, seed=0, dtype="float32", scale=2.0, blank=-1):
    """A Batch of [(T, U), ...]: values exact in `dtype`, labels never blank (unless V = 1)."""
    rng = np.random.default_rng(seed)
    samples, labels = [], []
    for T, U in lengths:
        samples.append(round_to(scale * rng.standard_normal((T, U + 1, V)), dtype))
        drawn = rng.integers(0, max(V - 1, 1), U)
        labels.append((drawn + (drawn >= blank % V) * (V > 1)).astype(np.int32))
    return Batch(samples, labels)


def labels_of(batch, extra_t=0, extra_u=0):
    """(B, max_T, max_U1): the label of each cell, NO_ARC in the last column, NO_CELL in padding."""
    mask = batch.padded_mask(extra_t, extra_u)[..., 0]
    labels = np.full(mask.shape, NO_CELL, np.int32)
    for plane, T, sample_labels in zip(labels, batch.logit_lengths, batch.labels):
        plane[:T, : len(sample_labels) + 1] = [*sample_labels, NO_ARC]
    return labels


def ramp(T, U1, V):
    """logits[t, u, k] = ((7t + 3u + 5k) mod 11) / 10."""
    t, u, k = np.ogrid[:T, :U1, :V]
    return ((7 * t + 3 * u + 5 * k) % 11) / 10


def round_to(values, dtype):
    """The float32 values that `values` become once stored as float32, float16 or bfloat16."""
    values = np.asarray(values, np.float32)
    if dtype == "bfloat16":
        return from_bfloat16_bits(to_bfloat16_bits(values)).reshape(values.shape)
    return values.astype(dtype).astype(np.float32)


def stored(values, dtype):
    """float32 values as an array of `dtype`; bfloat16 as its bits, uint16."""
    return to_bfloat16_bits(values) if dtype == "bfloat16" else np.asarray(values).astype(dtype)


def numbers(array):
    """What `stored` made, back as float32."""
    return from_bfloat16_bits(array) if array.dtype == np.uint16 else array.astype(np.float32)


def to_bfloat16_bits(values):
    """float32 -> bfloat16 as uint16, round to nearest even; NaN stays NaN."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def from_bfloat16_bits(bits):
    return (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32)
