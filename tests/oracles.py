# SPDX-License-Identifier: Apache-2.0
"""Where expected values come from: path enumeration, the closed form, differences. And batches."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from tolerances import TOLERANCE

from mindspore_rnnt.reference import rnnt_loss_reference

__all__ = [
    "NO_ARC",
    "NO_CELL",
    "TOLERANCE",
    "Batch",
    "closed_form",
    "difference_gradient",
    "enumerate_paths",
    "from_bfloat16_bits",
    "labels_of",
    "ramp",
    "random_batch",
    "report",
    "rnnt_loss_reference",
    "round_to",
    "to_bfloat16_bits",
]

NO_ARC, NO_CELL = -1, -2  # row labels that are no class
UNREAD_LABELS = (99999, -1, -100)  # what stands behind a sample's labels


def enumerate_paths(logits, labels, blank=-1, fused_log_softmax=True, fastemit_lambda=0.0):
    """Loss and gradient of one sample (T, U1, V) by walking every path. For T, U <= 4.

    A path is T blanks and U labels in any order that ends with a blank; its probability is the
    product of its arcs'.
    """
    logits = np.asarray(logits, np.float64)
    T, U1, V = logits.shape
    U, blank = U1 - 1, blank % V
    probs = np.exp(logits)
    if fused_log_softmax:
        probs = probs / probs.sum(-1, keepdims=True)
    total = 0.0
    blank_arcs, label_arcs = np.zeros((T, U1)), np.zeros((T, U1))
    for label_steps in itertools.combinations(range(T + U - 1), U):
        t = u = 0
        arcs, path_prob = [], 1.0
        for step in range(T + U):
            emits = step in label_steps
            path_prob *= probs[t, u, labels[u] if emits else blank]
            arcs.append((emits, t, u))
            t, u = (t, u + 1) if emits else (t + 1, u)
        total += path_prob
        for emits, t, u in arcs:
            (label_arcs if emits else blank_arcs)[t, u] += path_prob
    blank_arcs, label_arcs = blank_arcs / total, label_arcs / total * (1 + fastemit_lambda)
    gradient = np.zeros((T, U1, V))
    if fused_log_softmax:
        gradient += probs * (blank_arcs + label_arcs)[:, :, None]
    gradient[:, :, blank] -= blank_arcs
    for u in range(U):
        gradient[:, u, labels[u]] -= label_arcs[:, u]
    return -math.log(total), gradient


def closed_form(T, U, V):
    """The loss when all logits are equal: each of C(T+U-1, U) paths has probability V^-(T+U)."""
    paths = math.lgamma(T + U) - math.lgamma(T) - math.lgamma(U + 1)
    return (T + U) * math.log(V) - paths


def difference_gradient(loss_of, x, step=1e-5):
    """Central differences of a scalar function of a float64 array."""
    gradient = np.zeros_like(x)
    for index in np.ndindex(*x.shape):
        high, low = x.copy(), x.copy()
        high[index] += step
        low[index] -= step
        gradient[index] = (loss_of(high) - loss_of(low)) / (2 * step)
    return gradient


def ramp(T, U1, V):
    """logits[t, u, k] = ((7t + 3u + 5k) mod 11) / 10."""
    t, u, k = np.ogrid[:T, :U1, :V]
    return ((7 * t + 3 * u + 5 * k) % 11) / 10


def to_bfloat16_bits(values):
    """float32 -> bfloat16 as uint16, round to nearest even; NaN stays NaN."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def from_bfloat16_bits(bits):
    return (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32)


def round_to(values, dtype):
    """The float32 values that `values` become once stored as float32, float16 or bfloat16."""
    values = np.asarray(values, np.float32)
    if dtype == "bfloat16":
        return from_bfloat16_bits(to_bfloat16_bits(values)).reshape(values.shape)
    return values.astype(dtype).astype(np.float32)


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
        """(B, max_U + extra_u); what stands behind a sample's labels must never be read."""
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


def report(what, got, expected):
    """Print and return the maximal absolute difference; NaN equals NaN, inf equals inf."""
    got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    assert got.shape == expected.shape, f"{what}: shape {got.shape} != {expected.shape}"
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(got - expected))
    error = np.where(np.isnan(error), np.inf, error).max(initial=0.0)
    print(f"{what}: max error {error:.3g}")
    return error
