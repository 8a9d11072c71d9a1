# SPDX-License-Identifier: Apache-2.0
"""TDT: batches with a duration head, and the oracle, the enumeration of all paths."""

import math

import numpy as np
from oracles import random_batch

from mindspore_rnnt.reference import tdt_loss_reference

DURATION_SETS = (
    (0, 1, 2, 3, 4),
    (1,),
    (0, 1),
    (1, 0),
    (2, 0, 1),
    (2,),
    (3, 0),
    (0, 4, 2),
    (1, 2, 3, 4, 5, 6, 7, 8),
    (0, 1, 100),
)
SMALL = [(T, U) for T in (1, 2, 3, 5) for U in (0, 1, 3)]  # all paths of these can be walked


def duration_logits(shape, D, seed=0):
    """Random logits (*shape, D), float32."""
    return np.random.default_rng(seed + 100).standard_normal((*shape, D)).astype(np.float32)


class TdtBatch:
    """A batch with a duration head; what stands in padding is NaN."""

    def __init__(self, lengths, durations, V=7, blank=-1, seed=0):
        self.batch = random_batch(lengths, V, seed, blank=blank)
        self.durations, self.blank = durations, blank
        D = len(durations)
        self.heads = [duration_logits(s.shape[:2], D, seed) for s in self.batch.samples]
        self.mask = self.batch.padded_mask(2, 1)[..., 0]

    def inputs(self, padded):
        """Logits, duration logits, targets, lengths."""
        logits, *rest = self.batch.layout(padded, 2, 1)
        D = len(self.durations)
        if not padded:
            return logits, np.concatenate([h.reshape(-1, D) for h in self.heads]), *rest
        head = np.full((*self.mask.shape, D), np.nan, np.float32)
        for plane, values in zip(head, self.heads):
            plane[: values.shape[0], : values.shape[1]] = values
        return logits, head, *rest

    def reference(self, padded=False, **options):
        options = {"reduction": "none"} | options
        return tdt_loss_reference(*self.inputs(padded), self.durations, self.blank, **options)


def enumerate_tdt_paths(logits, duration_logits, labels, durations, blank=-1, sigma=0.0):
    """Loss of one sample, and the posteriors of blank and label arcs, (T, U1, D) each."""
    T, U1, _ = logits.shape
    probs, duration_probs = softmax(logits), softmax(duration_logits)
    posts = np.zeros(duration_probs.shape), np.zeros(duration_probs.shape)
    total = 0.0

    def walk(t, u, prob, path):
        nonlocal total
        if (t, u) == (T, U1 - 1):
            total += prob
            for emits, *arc in path:
                posts[emits][tuple(arc)] += prob
        if t >= T:
            return
        for i, d in enumerate(durations):
            arc = duration_probs[t, u, i] * math.exp(-sigma)
            if d > 0:
                walk(t + d, u, prob * arc * probs[t, u, blank], [*path, (0, t, u, i)])
            if u + 1 < U1 and t + d < T:
                walk(t + d, u + 1, prob * arc * probs[t, u, labels[u]], [*path, (1, t, u, i)])

    walk(0, 0, 1.0, [])
    if total == 0:
        return np.inf, *posts
    return -math.log(total), *(post / total for post in posts)


def softmax(logits):
    logits = np.asarray(logits, np.float64)
    exps = np.exp(logits - logits.max(-1, keepdims=True, initial=-np.inf))
    return exps / exps.sum(-1, keepdims=True)
