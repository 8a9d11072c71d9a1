# SPDX-License-Identifier: Apache-2.0
"""Where expected values come from when the reference itself is in question, or too general: every
path of a small lattice, and the closed form of equal logits."""

import itertools
import math

import numpy as np


def enumerate_paths(logits, labels, blank=-1, fused_log_softmax=True, fastemit_lambda=0.0):
    """Loss and gradient of one sample (T, U1, V) by walking every path, whose probability is the
    product of its arcs'. For T, U <= 4."""
    logits = np.asarray(logits, np.float64)
    T, U1, V = logits.shape
    U, blank = U1 - 1, blank % V
    probs = np.exp(logits)
    if fused_log_softmax:
        probs = probs / probs.sum(-1, keepdims=True)
    total = 0.0
    blank_arcs, label_arcs = np.zeros((T, U1)), np.zeros((T, U1))
    for arcs in paths(T, U):
        path_prob = math.prod(
            probs[t, u, labels[u] if is_label else blank] for is_label, t, u in arcs
        )
        total += path_prob
        for is_label, t, u in arcs:
            (label_arcs if is_label else blank_arcs)[t, u] += path_prob
    blank_arcs, label_arcs = blank_arcs / total, label_arcs / total * (1 + fastemit_lambda)
    gradient = np.zeros((T, U1, V))
    if fused_log_softmax:
        gradient += probs * (blank_arcs + label_arcs)[:, :, None]
    gradient[:, :, blank] -= blank_arcs
    for u in range(U):
        gradient[:, u, labels[u]] -= label_arcs[:, u]
    return -math.log(total), gradient


def paths(T, U):
    """Each path as its arcs (is_label, t, u): T blanks and U labels, the last one a blank."""
    for label_steps in itertools.combinations(range(T + U - 1), U):
        t = u = 0
        arcs = []
        for step in range(T + U):
            is_label = step in label_steps
            arcs.append((is_label, t, u))
            t, u = (t, u + 1) if is_label else (t + 1, u)
        yield arcs


def closed_form(T: int, U: int, V: int) -> float:
    """The loss when all logits are equal: each of C(T+U-1, U) paths has probability V^-(T+U)."""
    paths = math.lgamma(T + U) - math.lgamma(T) - math.lgamma(U + 1)
    return (T + U) * math.log(V) - paths
