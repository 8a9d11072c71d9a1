# SPDX-License-Identifier: Apache-2.0
"""The float64 references of the family against path enumeration, definitions and differences."""

import numpy as np
import pytest
from oracles import Batch, difference_gradient, random_batch, report
from paths import best_path, loss_within

from mindspore_rnnt.reference import (
    expected_frames_reference,
    prune_ranges_reference,
    rnnt_align_reference,
    rnnt_distillation_loss_reference,
    rnnt_loss_pruned_reference,
    rnnt_loss_reference,
    rnnt_loss_simple_reference,
    rnnt_posteriors_reference,
)
from mindspore_rnnt.reference.lattice import arcs

SMALL = [(T, U) for T in (1, 2, 3, 4) for U in (0, 1, 2, 3, 4)]
EXACT, DIFFERENCE = 1e-12, 1e-7


def test_best_path():
    batch = random_batch(SMALL, V=5)
    frames, log_probs, path_log_prob = rnnt_align_reference(*batch.layout(padded=True))
    for b, (logits, labels) in enumerate(zip(batch.samples, batch.labels)):
        lp_blank, lp_label, _ = arcs(np.float64(logits), labels, -1)
        U, (best, expected) = len(labels), best_path(lp_blank, lp_label)
        assert abs(path_log_prob[b] - best) <= EXACT
        assert (frames[b, :U] == expected).all() and (frames[b, U:] == -1).all()
        assert (log_probs[b, :U] == lp_label[expected, np.arange(U)]).all()


def test_of_equal_paths_the_earliest_emission():
    """Log-probs that are small integers: sums are exact, and many paths are equal."""
    rng = np.random.default_rng(0)
    batch = Batch(
        [-rng.integers(0, 3, (T, U + 1, 3)).astype(np.float32) for T, U in SMALL],
        [np.zeros(U, np.int32) for _, U in SMALL],
    )
    frames, _, _ = rnnt_align_reference(*batch.layout(padded=False), fused_log_softmax=False)
    for b, logits in enumerate(batch.samples):
        lp_blank, lp_label, _ = arcs(logits, batch.labels[b], -1, False)
        _, expected = best_path(lp_blank, lp_label)
        assert (frames[b, : len(expected)] == expected).all()


def test_posteriors_add_up():
    batch = random_batch(SMALL, V=5)
    losses, blank, label = rnnt_posteriors_reference(*batch.layout(padded=True, extra_t=1))
    expected, _ = rnnt_loss_reference(*batch.layout(padded=True, extra_t=1), reduction="none")
    assert report("loss", losses, expected) == 0
    assert report("blanks", blank.sum((1, 2)), batch.logit_lengths) <= EXACT
    assert report("labels", label.sum((1, 2)), batch.target_lengths) <= EXACT


def test_expected_frames_of_certain_and_of_even_posteriors():
    label = np.zeros((2, 4, 3))
    label[0, 2, 0] = 1.0
    label[1, :3, :2] = 1 / 3
    mean, deviation = expected_frames_reference(label, [4, 3], [1, 2], max_u=2)
    assert report("mean", mean, [[2, 0], [1, 1]]) <= EXACT
    assert report("deviation", deviation, [[0, 0], np.full(2, np.sqrt(2 / 3))]) <= EXACT


def simple_batch(seed=0, V=6):
    """am, lm, targets, lengths: three samples, one of them without a label."""
    rng = np.random.default_rng(seed)
    am, lm = rng.normal(size=(3, 4, V)), rng.normal(size=(3, 3, V))
    return am, lm, rng.integers(0, V - 1, (3, 2)), np.array([4, 2, 3]), np.array([2, 0, 1])


def test_simple_without_smoothing_is_the_loss_of_the_sum():
    am, lm, *rest = simple_batch()
    logits = am[:, :, None] + lm[:, None]
    losses, blank, label = rnnt_loss_simple_reference(am, lm, *rest)
    expected = rnnt_posteriors_reference(logits, *rest)
    for name, got, wanted in zip(("loss", "blank", "label"), (losses, blank, label), expected):
        assert report(name, got, wanted) <= EXACT


def test_simple_with_the_label_or_acoustic_part_alone():
    """With all weight on lm the arcs are those of log_softmax(lm); likewise for am."""
    am, lm, *rest = simple_batch()
    losses, _, _ = rnnt_loss_simple_reference(am, lm, *rest, lm_only_scale=1.0)
    expected, _ = rnnt_loss_reference(np.repeat(lm[:, None], 4, axis=1), *rest, reduction="none")
    assert report("lm only", losses, expected) <= EXACT
    losses, _, _ = rnnt_loss_simple_reference(am, 0 * lm, *rest, am_only_scale=1.0)
    expected, _ = rnnt_loss_reference(np.repeat(am[:, :, None], 3, axis=2), *rest, reduction="none")
    assert report("am only", losses, expected) <= EXACT


@pytest.mark.parametrize("S", [2, 3, 7])
def test_windows_are_valid(S):
    rng = np.random.default_rng(S)
    T, U = rng.integers(1, 9, 40), rng.integers(0, 12, 40)
    blank, label = rng.random((2, 40, 8, 12))
    starts = prune_ranges_reference(blank, label, T, U, S)
    for b in range(40):
        windows, last = starts[b, : T[b]], max(U[b] + 1 - S, 0)
        assert windows[0] == 0 and (windows <= last).all() and (starts[b, T[b] :] == 0).all()
        steps = np.diff(windows)
        assert ((steps >= 0) & (steps < S)).all()
        assert windows[-1] == last or U[b] > (S - 1) * T[b]


def test_windows_follow_the_posteriors():
    """All mass on one path: the window starts are those that hold it, the first of ties."""
    blank, label = np.zeros((1, 4, 4)), np.zeros((1, 4, 4))
    blank[0, [0, 1, 2, 3], [0, 1, 2, 3]] = 1
    label[0, [1, 2, 3], [0, 1, 2]] = 1
    # Frame 1 may start at 0 (blank 1 is inside) or at 1 (less the label that enters): 0.
    starts = prune_ranges_reference(blank, label, [4], [3], 2)
    assert starts.tolist() == [[0, 0, 1, 2]]


def test_pruned_equals_path_enumeration():
    rng = np.random.default_rng(0)
    for T, U in SMALL:
        S = 2
        logits = rng.normal(size=(1, T, S, 5))
        starts = np.sort(rng.integers(0, U + 1, (1, T)))
        starts[0, 0] = 0
        cells, exists = np.zeros((T, U + 1, 5)), np.zeros((T, U + 1), bool)
        for t in range(T):
            for i in range(min(S, U + 1 - starts[0, t])):
                cells[t, starts[0, t] + i], exists[t, starts[0, t] + i] = logits[0, t, i], True
        labels = rng.integers(0, 4, U)
        lp_blank, lp_label, _ = arcs(cells, labels, -1)
        losses, _ = rnnt_loss_pruned_reference(logits, starts, [labels], [T], [U])
        expected = loss_within(lp_blank, lp_label, exists)
        assert report(f"T {T}, U {U}", losses, [expected]) <= EXACT


def test_pruned_samples_without_a_loss():
    """NaN fills the cells that exist. Sample 1 has no path, sample 2 is whole."""
    logits, starts = np.zeros((3, 2, 2, 4)), [[0, 1], [0, 0], [0, 1]]
    logits[0, 1, 0, 2] = np.nan
    rest = ([[1, 2]] * 3, [2, 2, 2], [1, 2, 2])
    for zero_infinity, impossible in ((False, np.inf), (True, 0.0)):
        losses, gradient = rnnt_loss_pruned_reference(
            logits, starts, *rest, zero_infinity=zero_infinity
        )
        # One path is left: label, blank, label, blank, of probability 1/4 each.
        assert np.isnan(losses[0]) and losses[1] == impossible
        assert report("whole", losses[2], 4 * np.log(4)) <= EXACT
        assert np.isnan(gradient[0, 0]).all() and np.isnan(gradient[0, 1, 0]).all()
        assert (gradient[0, 1, 1] == 0).all() and (gradient[1] == 0).all()
        assert np.isfinite(gradient[2]).all() and gradient[2].any()


def test_pruned_with_whole_windows_is_the_loss():
    batch = random_batch([(3, 2), (4, 1)], V=5)
    logits, *rest = batch.layout(padded=True)
    options = {"clamp": 0.3, "fastemit_lambda": 0.2}
    got = rnnt_loss_pruned_reference(logits, np.zeros((2, 4), int), *rest, **options)
    expected = rnnt_loss_reference(logits, *rest, reduction="none", **options)
    for name, a, b in zip(("loss", "gradient"), got, expected):
        assert report(name, a, b) <= EXACT


def test_pruned_gradient_equals_central_differences():
    rng = np.random.default_rng(0)
    logits, starts = rng.normal(size=(2, 3, 2, 4)), [[0, 0, 1], [0, 1, 1]]
    rest = ([[1, 2], [0, 1]], [3, 2], [2, 1])
    losses, gradient = rnnt_loss_pruned_reference(logits, starts, *rest)
    assert np.isfinite(losses).all()
    wanted = difference_gradient(
        lambda x: rnnt_loss_pruned_reference(x, starts, *rest)[0].sum(), logits
    )
    assert report("gradient", gradient, wanted) <= DIFFERENCE


@pytest.mark.parametrize("temperature", [1.0, 2.5])
@pytest.mark.parametrize("V, teacher_V, blank", [(5, 5, -1), (2, 2, 0), (5, 8, 4), (1, 1, 0)])
def test_distillation_gradient_equals_central_differences(V, teacher_V, blank, temperature):
    rng = np.random.default_rng(0)
    logits, teacher = rng.normal(size=(14, V)), rng.normal(size=(14, teacher_V))
    # The first label is the blank: one class with it.
    rest = ([[blank % V, 0], [0, 0]], [4, 2], [2, 0], blank, temperature)
    losses, gradient = rnnt_distillation_loss_reference(logits, teacher, *rest)
    assert (losses >= 0).all() and (losses > 0).all() == (V > 1)
    wanted = difference_gradient(
        lambda x: rnnt_distillation_loss_reference(x, teacher, *rest)[0].sum(), logits
    )
    assert report("gradient", gradient, wanted) <= DIFFERENCE


def test_distillation_of_a_cell_by_its_definition():
    student, teacher = np.log([[0.1, 0.2, 0.3, 0.4]]), np.log([[0.4, 0.3, 0.2, 0.1]])
    losses, _ = rnnt_distillation_loss_reference(student, teacher, np.zeros((1, 0)), [1], [0])
    assert report("rest and blank", losses, [0.9 * np.log(0.9 / 0.6) + 0.1 * np.log(0.25)]) <= EXACT
    losses, _ = rnnt_distillation_loss_reference(
        np.vstack([student, student]), np.vstack([teacher, teacher]), [[1]], [1], [1]
    )
    with_label = 0.3 * np.log(1.5) + 0.6 * np.log(1.5) + 0.1 * np.log(0.25)
    without = 0.9 * np.log(1.5) + 0.1 * np.log(0.25)
    assert report("three classes", losses, [with_label + without]) <= EXACT


def test_distillation_into_an_excluded_class():
    student = np.array([[0.0, -np.inf, 0.0], [0.0, 0.0, 0.0]])
    losses, gradient = rnnt_distillation_loss_reference(student, np.zeros((2, 3)), [[1]], [1], [1])
    assert np.isposinf(losses[0]) and (gradient == 0).all()
