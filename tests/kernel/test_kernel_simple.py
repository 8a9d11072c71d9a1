# SPDX-License-Identifier: Apache-2.0
"""RnntSimpleStats and RnntSimpleGrad against float64: the stats and gradients of the logits
am[t] + lm[u], summed over frames or steps."""

import numpy as np
import pytest
from kernel.launch import poisoned, same_bits
from oracles import report

from mindspore_rnnt.native import pack_params, run_op


def stats_of(am, lm, am_labels, lm_labels, blank=-1):
    stats = poisoned((*am_labels.shape, lm.shape[1], 4))
    run_op("RnntSimpleStats", [am, lm, am_labels, lm_labels, pack_params(blank=blank)], [stats])
    return stats


def gradients_of(am, lm, am_labels, lm_labels, stats, coefficients, dloss, blank=-1):
    gradients = poisoned(am.shape), poisoned(lm.shape)
    inputs = [am, lm, am_labels, lm_labels, stats, coefficients, dloss, pack_params(blank=blank)]
    run_op("RnntSimpleGrad", inputs, list(gradients))
    return gradients


def batch(B=2, max_t=11, max_u1=5, V=9, seed=0):
    """Sample b lacks b frames and b steps, whose rows are NaN; coefficients, upstream gradients."""
    rng = np.random.default_rng(seed)
    am = 2 * rng.standard_normal((B, max_t, V), np.float32)
    lm = rng.standard_normal((B, max_u1, V), np.float32)
    am_labels = np.full((B, max_t), -1, np.int32)
    lm_labels = rng.integers(-1, V, (B, max_u1)).astype(np.int32)
    for b in range(B):
        am[b, max_t - b :], lm[b, max_u1 - b :] = np.nan, np.nan
        am_labels[b, max_t - b :], lm_labels[b, max_u1 - b :] = -2, -2
    coefficients = rng.random((B, max_t, max_u1, 3), np.float32) / 4
    return am, lm, am_labels, lm_labels, coefficients, rng.standard_normal(B, np.float32)


def is_cell(am_labels, lm_labels):
    return (am_labels != -2)[:, :, None] & (lm_labels != -2)[:, None]


def plain(am, lm, am_labels, lm_labels, coefficients, dloss, blank=-1):
    """log_sum, log-probs of blank and label of each cell, and both gradients."""
    x = am[:, :, None].astype(np.float64) + lm[:, None]
    top = x.max(-1)
    log_sum = top + np.log(np.exp(x - top[..., None]).sum(-1))
    log_probs = x - log_sum[..., None]
    has_label = np.broadcast_to((lm_labels >= 0)[:, None], log_sum.shape)
    labels = np.broadcast_to(np.maximum(lm_labels, 0)[:, None, :, None], (*log_sum.shape, 1))
    of_label = np.take_along_axis(log_probs, labels, -1)[..., 0]
    g = np.exp(log_probs) * coefficients[..., :1]
    g[..., blank] -= coefficients[..., 1]
    k = np.arange(x.shape[-1])
    g -= ((k == labels) & has_label[..., None]) * coefficients[..., 2:]
    cells = is_cell(am_labels, lm_labels)[..., None]
    g = np.where(cells, g * dloss[:, None, None, None], 0)
    of_label = np.where(has_label, of_label, -np.inf)
    return log_sum, log_probs[..., blank], of_label, g.sum(2), g.sum(1)


def assert_right(batch, blank=-1, limit=3e-6):
    *inputs, coefficients, dloss = batch
    log_sum, of_blank, of_label, *gradients = plain(*batch, blank)
    cells = is_cell(*inputs[2:])
    stats = stats_of(*inputs, blank)
    assert (stats[~cells] == 0).all()
    row_max, row_sum, blank_gap, label_gap = np.float64(stats[cells]).T
    scale = np.maximum(1, np.abs(log_sum[cells]))
    assert report("log_sum", (row_max + np.log(row_sum)) / scale, log_sum[cells] / scale) <= 1e-6
    for gap, right in ((blank_gap, of_blank), (label_gap, of_label)):
        right, has = right[cells], np.isfinite(right[cells])
        assert (gap[~has] == -np.inf).all()
        got = (gap - np.log(row_sum))[has] / scale[has]
        assert report("log-prob", got, right[has] / scale[has]) <= 1e-6
    for got, right in zip(gradients_of(*inputs, stats, coefficients, dloss, blank), gradients):
        assert report("gradient", got, right) <= limit


@pytest.mark.parametrize("V", [1, 2, 9, 33, 515, 1100])
def test_against_formed_logits(level, V):
    assert_right(batch(V=V))
    assert_right(batch(B=3, max_t=6, max_u1=3, V=V, seed=1), blank=0)


@pytest.mark.parametrize("max_t, max_u1", [(1, 1), (4, 2), (9, 17)])
def test_sizes(level, max_t, max_u1):
    assert_right(batch(B=1, max_t=max_t, max_u1=max_u1))


@pytest.mark.parametrize("peak", [60, 90, 200, 1e4])
def test_cells_in_which_the_product_underflows(level, peak):
    """Peaks at different classes, in parts of the row of their own; in all cells or in a few."""
    for everywhere in (True, False):
        am, lm, *rest = batch(V=1100)
        am[0, :: 1 if everywhere else 4, 3] += peak
        lm[0, :: 1 if everywhere else 2, 1050] += peak
        assert_right((am, lm, *rest), limit=3e-6 * max(peak / 8, 1))


def test_peaks_that_float32_cannot_tell_from_their_sum(level):
    """1e10 + 100 is 1e10 in float32, so the row has two peaks as soon as it is formed."""
    am, lm, am_labels, lm_labels, coefficients, dloss = batch(B=1, max_t=1, max_u1=1, V=4)
    am[:], lm[:] = 0, 0
    am[..., 0], lm[..., 2], coefficients[..., 1:] = 1e10, 100, 0
    stats = stats_of(am, lm, am_labels, lm_labels)
    assert stats[0, 0, 0, 0] == np.float32(1e10) and stats[0, 0, 0, 1] == 1
    got = gradients_of(am, lm, am_labels, lm_labels, stats, coefficients, dloss)
    expected = coefficients[0, 0, 0, 0] * dloss[0] * np.float32([1, 0, 0, 0])
    assert report("gradient", got[0][0, 0], expected) <= 1e-7


def test_bad_samples_are_alone(level):
    """NaN in one row, upstream gradients of 0, inf and NaN, a row without a softmax."""
    inputs = batch(B=5, V=40)
    *rows, coefficients, dloss = inputs
    good_stats = stats_of(*rows)
    good = gradients_of(*rows, good_stats, coefficients, dloss)
    am, lm, am_labels, lm_labels = rows
    am[0, 2, 7], lm[1, 0], am[3, 1] = np.nan, -np.inf, np.nan
    coefficients[0], coefficients[1], coefficients[2], dloss[2:4] = np.nan, np.nan, 0, [np.inf, 0]
    stats = stats_of(*rows)
    assert np.isnan(stats[0, 2, :, 1]).all() and same_bits(stats[4], good_stats[4])
    got = gradients_of(*rows, stats, coefficients, dloss)
    for gradient, clean, labels in zip(got, good, (am_labels, lm_labels)):
        assert np.isnan(gradient[:2][labels[:2] != -2]).all()
        assert (gradient[2:4] == 0).all() and same_bits(gradient[4], clean[4])
        assert (gradient[labels == -2] == 0).all()


def test_any_value(level):
    """Labels, stats and coefficients of any kind: nothing is read or written outside."""
    rng = np.random.default_rng(0)
    odd = np.float32([np.nan, np.inf, -np.inf, 0, -1, 1e30, -1e30, 3])
    for _ in range(100):
        B, max_t, max_u1, V = rng.integers(1, 3), *rng.integers(0, 10, 3)
        am, lm = rng.choice(odd, (B, max_t, V)), rng.choice(odd, (B, max_u1, V))
        any_label = [-(2**31), -3, -2, -1, 0, V - 1, V, 2**31 - 1]
        labels = [rng.choice(any_label, (B, n)).astype(np.int32) for n in (max_t, max_u1)]
        blank = int(rng.choice([-1, 0, 99]))
        stats = stats_of(am, lm, *labels, blank)
        odd_stats = stats if rng.random() < 0.5 else rng.choice(odd, stats.shape)
        rest = odd_stats, rng.choice(odd, (B, max_t, max_u1, 3)), rng.choice(odd, B)
        for gradient, label in zip(gradients_of(am, lm, *labels, *rest, blank), labels):
            assert (gradient[label == -2] == 0).all()


def test_any_thread_count(level, same_with_any_threads):
    am, lm, *inputs, coefficients, dloss = batch(B=3, max_t=30, max_u1=12, V=1500)
    am[0, ::3, 3], lm[0, ::2, 1400] = 100, 100
    rows = am, lm, *inputs
    (stats,) = same_with_any_threads(lambda: [stats_of(*rows)])
    same_with_any_threads(lambda: gradients_of(*rows, stats, coefficients, dloss))


@pytest.mark.parametrize("place", range(8))
def test_wrong_shapes(place):
    inputs = [*batch()[:4], None, *batch()[4:], pack_params()]
    inputs[4] = stats_of(*inputs[:4])
    inputs[place] = np.concatenate([inputs[place], inputs[place][:1]])
    outputs = [poisoned((2, 11, 9)), poisoned((2, 5, 9))]
    with pytest.raises(RuntimeError, match=r"For 'RnntSimpleGrad', the '.*' must be of shape"):
        run_op("RnntSimpleGrad", inputs, outputs)
