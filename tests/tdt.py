# SPDX-License-Identifier: Apache-2.0
"""The oracle of TDT, the enumeration of all paths; and random duration heads."""

import math

import numpy as np

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


def duration_logits(shape, D, seed=0):
    """Random logits (*shape, D), float32."""
    return np.random.default_rng(seed + 100).standard_normal((*shape, D)).astype(np.float32)


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
