# SPDX-License-Identifier: Apache-2.0
"""Every path of a tiny lattice, one after another. For T, U <= 4."""

import numpy as np

from mindspore_rnnt.conformance.oracles import paths


def path_log_prob(arcs, lp_blank, lp_label):
    return sum((lp_label if is_label else lp_blank)[t, u] for is_label, t, u in arcs)


def best_path(lp_blank, lp_label):
    """Log-prob and frames of the best path; of several the one that emits earliest."""
    T, U1 = lp_blank.shape
    scored = [(path_log_prob(arcs, lp_blank, lp_label), arcs) for arcs in paths(T, U1 - 1)]
    best = max(score for score, _ in scored)
    frames = [[t for is_label, t, _ in arcs if is_label] for score, arcs in scored if score == best]
    earliest = min(frames)
    assert all(np.less_equal(earliest, other).all() for other in frames)
    return best, earliest


def loss_within(lp_blank, lp_label, exists):
    """Minus the log of the summed probability of the paths that use existing cells only."""
    T, U1 = lp_blank.shape
    total = sum(
        np.exp(path_log_prob(arcs, lp_blank, lp_label))
        for arcs in paths(T, U1 - 1)
        if all(exists[t, u] for _, t, u in arcs)
    )
    return -np.log(total) if total > 0 else np.inf
