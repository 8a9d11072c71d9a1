# SPDX-License-Identifier: Apache-2.0
"""RnntAlign against the enumeration of all paths, and on samples that have no best path."""

import numpy as np
import pytest
from kernel.launch import lattice, poisoned, row_stats, same_bits
from oracles import LAYOUTS, labels_of, random_batch, report
from paths import best_path

from mindspore_rnnt.native import pack_params, run_op
from mindspore_rnnt.reference import rnnt_align_reference
from mindspore_rnnt.reference.lattice import arcs

LENGTHS = [(5, 3), (1, 0), (7, 2), (2, 6)]


def align(stats, logit_lengths, target_lengths, targets, least_loss=None):
    frames = np.full(targets.shape, 77, np.int32)
    log_probs, path_log_prob = poisoned(targets.shape), poisoned(len(targets))
    least_loss = np.zeros(len(targets), np.float32) if least_loss is None else least_loss
    inputs = [stats, logit_lengths, target_lengths, targets, least_loss, pack_params()]
    run_op("RnntAlign", inputs, [frames, log_probs, path_log_prob])
    return frames, log_probs, path_log_prob


def stats_of(batch, padded, **options):
    logits, labels = batch.padded(2, 1), labels_of(batch, 2, 1)
    if padded:
        return row_stats(logits, labels, **options)
    return row_stats(batch.packed(), labels[batch.padded_mask(2, 1)[..., 0]], **options)


@LAYOUTS
@pytest.mark.parametrize("seed", range(5))
def test_every_path(level, padded, seed):
    """Log-probs in eighths: their sums are exact, and many paths have the same score."""
    lengths = [(1, 0), (3, 0), (1, 4), (2, 3), (4, 4), (5, 1)]
    batch = random_batch(lengths, V=4, seed=seed)
    batch.samples = [-np.abs(np.round(s)) / 8 for s in batch.samples]
    stats = stats_of(batch, padded, fused_log_softmax=False)
    got = align(stats, batch.logit_lengths, batch.target_lengths, batch.targets(extra_u=1))
    for b, (T, U) in enumerate(lengths):
        lp_blank, lp_label, _ = arcs(batch.samples[b], batch.labels[b], -1, False)
        score, frames = best_path(lp_blank, lp_label)
        print(f"T={T} U={U}: {frames}, {score}")
        assert got[0][b].tolist() == frames + [-1] * (5 - U)
        assert got[1][b].tolist() == [*lp_label[frames, range(U)], *[0] * (5 - U)]
        assert got[2][b] == score


@LAYOUTS
@pytest.mark.parametrize("lengths", [LENGTHS, [(60, 17), (3, 40), (33, 1)]], ids=str)
def test_against_the_reference(level, padded, lengths):
    batch = random_batch(lengths, V=19)
    sizes = batch.logit_lengths, batch.target_lengths
    stats = stats_of(batch, padded)
    frames, log_probs, path_log_prob = align(stats, *sizes, batch.targets())
    expected = rnnt_align_reference(*batch.layout(padded=False))
    assert (frames == expected[0]).all()
    assert report("log_probs", log_probs, expected[1]) <= 2e-6
    assert report("path, relative", path_log_prob / expected[2], np.ones(len(lengths))) <= 3e-7
    loss = lattice(stats, *sizes)[0]
    assert (path_log_prob <= np.nextafter(-loss, np.float32(np.inf))).all()


def test_equal_logits_emit_everything_in_the_first_frame(level):
    batch = random_batch([(40, 30)], V=8)
    batch.samples[0][:] = 0
    stats = stats_of(batch, padded=False)
    frames, log_probs, path_log_prob = align(
        stats, batch.logit_lengths, batch.target_lengths, batch.targets()
    )
    assert (frames == 0).all()
    assert report("log_probs", log_probs, np.full((1, 30), -np.log(8))) <= 1e-6
    assert report("path_log_prob", path_log_prob, [-70 * np.log(8)]) <= 1e-4


@LAYOUTS
def test_a_sample_without_a_path_touches_no_other(level, padded):
    batch = random_batch(LENGTHS, V=19)
    sizes = batch.logit_lengths, batch.target_lengths
    expected = align(stats_of(batch, padded), *sizes, batch.targets(1))
    batch.samples[0][2, 1, 4] = np.nan
    batch.samples[2][:, 1, batch.labels[2][1]] = -np.inf  # no path emits the second label
    frames, log_probs, path_log_prob = align(stats_of(batch, padded), *sizes, batch.targets(1))
    assert np.isnan(path_log_prob[0]) and path_log_prob[2] == -np.inf
    assert (frames[[0, 2]] == -1).all()
    assert np.isnan(log_probs[0, :3]).all() and (log_probs[2, :2] == -np.inf).all()
    assert (log_probs[0, 3:] == 0).all() and (log_probs[2, 2:] == 0).all()
    for got, right in zip((frames, log_probs, path_log_prob), expected):
        assert np.array_equal(got[[1, 3]], right[[1, 3]])


@pytest.mark.parametrize(("T", "U"), [(0, 2), (8, 2), (7, 5), (7, -1), (7, 2**31 - 1)])
def test_wrong_lengths(level, T, U):
    batch = random_batch(LENGTHS[:3], V=19)
    stats, targets = stats_of(batch, padded=True)[:, :7], batch.targets()
    sizes = batch.logit_lengths, batch.target_lengths
    expected = align(stats, *sizes, targets)
    sizes[0][2], sizes[1][2] = T, U
    got = align(stats, *sizes, targets)
    assert np.isnan(got[2][2]) and (got[0][2] == -1).all()
    for one, right in zip(got, expected):
        assert np.array_equal(one[:2], right[:2])


def test_a_refused_sample_touches_no_other(level):
    """Its least loss is NaN: a label is no class."""
    batch = random_batch(LENGTHS, V=19)
    inputs = stats_of(batch, False), batch.logit_lengths, batch.target_lengths, batch.targets(1)
    expected = align(*inputs)
    frames, log_probs, path_log_prob = align(*inputs, np.float32([0, 0, np.nan, -1e30]))
    assert (frames[2] == -1).all() and np.isnan(path_log_prob[2])
    assert np.isnan(log_probs[2, :2]).all() and (log_probs[2, 2:] == 0).all()
    for got, right in zip((frames, log_probs, path_log_prob), expected):
        assert np.array_equal(got[[0, 1, 3]], right[[0, 1, 3]])


def test_no_labels_at_all(level):
    batch = random_batch([(3, 0), (1, 0)], V=5)
    stats = row_stats(batch.packed(), np.full(4, -1, np.int32))
    for width in (0, 1):
        targets = np.zeros((2, width), np.int32)
        got = align(stats, batch.logit_lengths, batch.target_lengths, targets)
        loss = lattice(stats, batch.logit_lengths, batch.target_lengths)[0]
        assert same_bits(got[2], -loss) and (got[0] == -1).all() and (got[1] == 0).all()


def test_any_thread_count(level, same_with_any_threads):
    batch = random_batch([(90, 30), (7, 3), (64, 20)], V=9)
    inputs = stats_of(batch, True), batch.logit_lengths, batch.target_lengths, batch.targets()
    same_with_any_threads(lambda: align(*inputs))
