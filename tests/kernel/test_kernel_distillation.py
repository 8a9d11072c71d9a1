# SPDX-License-Identifier: Apache-2.0
"""RnntDistillation against float64: classes from row_stats, and stats and samples of any value."""

import numpy as np
import pytest
from kernel.launch import poisoned, row_stats, same_bits
from oracles import report

from mindspore_rnnt.native import pack_params, run_op


def distil(stats, teacher, labels, samples, least_loss, temperature=1.0):
    loss, coefficients = poisoned(len(least_loss)), poisoned((*stats.shape[:-1], 3))
    params = pack_params(temperature=temperature, rest=True)
    inputs = [stats, teacher, labels, samples, least_loss, params]
    run_op("RnntDistillation", inputs, [loss, coefficients])
    return loss, coefficients


def rows(n=700, V=9, B=3, seed=0):
    """Logits of student and teacher; labels with every kind of row; samples in order."""
    rng = np.random.default_rng(seed)
    student, teacher = 3 * rng.standard_normal((2, n, V), np.float32)
    labels = rng.integers(-2, V - 1, n).astype(np.int32)
    return student, teacher, labels, np.sort(rng.integers(0, B, n)).astype(np.int32)


def plain(student, teacher, labels, samples, B, temperature):
    """Losses, and coefficients of rows, from softmaxes in float64. The blank is the last class."""
    losses, coefficients = np.zeros(B), np.zeros((len(labels), 3))
    for r, (label, b) in enumerate(zip(labels, samples)):
        if label == -2:
            continue
        p, q = (np.exp(x[r].astype(np.float64) / temperature) for x in (teacher, student))
        p, q = (_classes(x / x.sum(), label) for x in (p, q))
        losses[b] += sum(p * np.log(p / q) for p, q in zip(p, q) if p > 0)
        coefficients[r] = np.array([q[2] - p[2], p[0] - q[0], p[1] - q[1]]) / temperature
    return losses, coefficients


def _classes(p, label):
    of_label = p[label] if label >= 0 else 0.0
    rest = np.delete(p, [len(p) - 1, label] if label >= 0 else [len(p) - 1]).sum()
    return np.array([p[-1], of_label, rest])


def stats_of(x, labels, temperature=1.0):
    return row_stats(x, labels, temperature=temperature, rest=True)


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_against_softmaxes(level, temperature):
    student, teacher, labels, samples = rows()
    stats = [stats_of(x, labels, temperature) for x in (student, teacher)]
    loss, coefficients = distil(*stats, labels, samples, np.zeros(3, np.float32), temperature)
    expected = plain(student, teacher, labels, samples, 3, temperature)
    assert report("loss", loss / expected[0], np.ones(3)) <= 1e-6
    assert report("coefficients", coefficients, expected[1]) <= 1e-6


def test_a_model_into_itself_is_exactly_0(level):
    student, _, labels, samples = rows()
    stats = stats_of(student, labels)
    loss, coefficients = distil(stats, stats, labels, samples, np.zeros(3, np.float32))
    assert (loss == 0).all() and (coefficients == 0).all()


def test_bad_rows_cost_their_sample_only(level):
    """NaN in the teacher; a class that only the teacher has; a sample that is refused."""
    student, teacher, labels, _ = rows(n=400)
    labels[:] = 1
    samples = np.repeat(np.arange(4, dtype=np.int32), 100)
    stats = [stats_of(x, labels) for x in (student, teacher)]
    good = distil(*stats, labels, samples, np.zeros(4, np.float32))
    teacher[150, 3], student[210, 1] = np.nan, -np.inf
    stats = [stats_of(x, labels) for x in (student, teacher)]
    least_loss = np.float32([np.nan, 0, 0, -1e30])
    loss, coefficients = distil(*stats, labels, samples, least_loss)
    assert np.isnan(loss[:2]).all() and loss[2] == np.inf and loss[3] == good[0][3]
    assert (coefficients[:100] == 0).all() and np.isnan(coefficients[100:200]).all()
    assert (coefficients[200:300] == 0).all()
    assert same_bits(coefficients[300:], good[1][300:])


def test_a_rest_of_nothing(level):
    """Two classes only: the rest has probability 0 on both sides; then on the student's alone."""
    labels, samples = np.zeros(5, np.int32), np.zeros(5, np.int32)
    x, y = np.random.default_rng(0).standard_normal((2, 5, 2), np.float32)
    two = [stats_of(z, labels) for z in (x, y)]
    assert (two[0][:, 1] == 0).all()
    loss, coefficients = distil(*two, labels, samples, np.zeros(1, np.float32))
    expected = plain(x, y, labels, samples, 1, 1.0)
    assert report("loss", loss / expected[0], [1]) <= 1e-6
    assert report("coefficients", coefficients, expected[1]) <= 1e-6
    three = stats_of(np.zeros((5, 3), np.float32), labels)
    assert distil(two[0], three, labels, samples, np.zeros(1, np.float32))[0] == np.inf


def test_any_value(level):
    """Samples out of range, stats of any kind: nothing is read or written outside."""
    rng = np.random.default_rng(0)
    odd = np.float32([np.nan, np.inf, -np.inf, 0, -1, 1e30, 1e-30, 0.5])
    for _ in range(200):
        n, B = rng.integers(0, 40), rng.integers(1, 5)
        stats, teacher = rng.choice(odd, (2, n, 4))
        labels, samples = rng.choice([-(2**31), -3, -2, -1, 0, 3, 2**31 - 1], (2, n))
        least_loss = rng.choice(np.float32([np.nan, 0]), B)
        ints = labels.astype(np.int32), samples.astype(np.int32)
        loss, coefficients = distil(stats, teacher, *ints, least_loss, rng.choice(odd))
        assert np.isnan(loss[np.isnan(least_loss)]).all()
        outside = (ints[0] == -2) | (ints[1] < 0) | (ints[1] >= B)
        assert (coefficients[outside] == 0).all()


def test_any_thread_count(level, same_with_any_threads):
    student, teacher, labels, samples = rows(n=9000)
    stats = [stats_of(x, labels) for x in (student, teacher)]
    same_with_any_threads(lambda: distil(*stats, labels, samples, np.zeros(3, np.float32)))
