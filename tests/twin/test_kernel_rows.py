# SPDX-License-Identifier: Apache-2.0
"""RnntRowStats and RnntRowGrad by themselves, against float64: rows without a cell, temperature,
the sum over the rest, whatever the hardware does; and RnntLattice on padded stats."""

import numpy as np
import pytest
from oracles import TOLERANCE, random_batch, report, round_to
from twin import kernel_on_twin as twin
from twin.rules import RULES, ULP_NOISE

from mindspore_rnnt.reference import rnnt_loss_reference

BLANK = 2
DTYPES = pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
MODES = pytest.mark.parametrize(
    "params",
    [{}, {"temperature": 2.5}, {"rest": True}, {"temperature": 0.5, "rest": True}],
    ids=str,
)
SHAPES = pytest.mark.parametrize("rows, V", [(300, 11), (9, 700), (3, 16001)])


def rows_of(rows, V, dtype):
    rng = np.random.default_rng(V)
    x = round_to(rng.normal(0, 3, (rows, V)), dtype)
    labels = rng.integers(0, V, rows).astype(np.int32)
    labels[1::5] = -1
    labels[2::5] = -2
    labels[0] = BLANK
    return x, labels


def entries(x, labels):
    """Masks of the blank entry and of the label entry of each row."""
    columns = np.arange(x.shape[1])
    return np.broadcast_to(columns == BLANK, x.shape), columns == labels[:, None]


def expected_stats(x, labels, temperature=1.0, rest=False):
    is_blank, is_label = entries(x, labels)
    row_max = x.max(axis=1, keepdims=True).astype(np.float64)
    gaps = (x - row_max) / temperature
    summed = np.where((is_blank | is_label) & rest, 0, np.exp(gaps))
    label_gap = np.where(labels < 0, -np.inf, np.where(is_label, gaps, 0).sum(axis=1))
    stats = np.stack([row_max[:, 0], summed.sum(axis=1), gaps[:, BLANK], label_gap], axis=1)
    return np.where(labels[:, None] == -2, 0, stats), summed


@DTYPES
@MODES
@SHAPES
def test_row_stats(rows, V, dtype, params):
    check_row_stats(rows, V, dtype, params)


def check_row_stats(rows, V, dtype, params, noise=0.0):
    x, labels = rows_of(rows, V, dtype)
    expected, _ = expected_stats(x, labels, **params)
    x[labels == -2] = np.nan
    stats = twin.row_stats(x, labels, dtype, 2, blank=BLANK, **params)
    assert (stats[labels == -2] == 0).all()
    size = np.maximum(1, np.abs(np.nan_to_num(expected, neginf=0)))
    assert report("stats", stats / size, expected / size) <= 1e-6 + noise


@DTYPES
@MODES
@SHAPES
def test_row_grad(rows, V, dtype, params):
    check_row_grad(rows, V, dtype, params)


def check_row_grad(rows, V, dtype, params, noise=0.0):
    x, labels = rows_of(rows, V, dtype)
    stats, summed = expected_stats(x, labels, **params)
    rng = np.random.default_rng(1)
    coefficients = rng.uniform(0, 1, (rows, 3)).astype(np.float32)
    coefficients[labels < 0, 2] = 0
    dloss = rng.uniform(-2, 2, rows).astype(np.float32)
    is_blank, is_label = entries(x, labels)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = summed / stats[:, 1:2] * coefficients[:, :1]
    expected = expected - is_blank * coefficients[:, 1:2] - is_label * coefficients[:, 2:]
    expected = np.where(labels[:, None] == -2, 0, expected * dloss[:, None])
    x[labels == -2] = np.nan
    stats = stats.astype(np.float32)
    grad = twin.row_grad(x, labels, stats, coefficients, dloss, dtype, 2, blank=BLANK, **params)
    tolerance = 2e-6 if dtype == "float32" else 3 * TOLERANCE["gradient"][dtype]
    assert report("gradient", grad, expected) <= tolerance


@RULES
@DTYPES
@MODES
@SHAPES
def test_right_whatever_the_hardware_does(rules, rows, V, dtype, params):
    with twin.options_of_the_twin(**rules):
        check_row_stats(rows, V, dtype, params, ULP_NOISE)
        check_row_grad(rows, V, dtype, params, ULP_NOISE)


@RULES
@MODES
def test_stats_of_a_row_with_a_nan_have_one(rules, params):
    """In the first or last class, blank or label: one of the sum and the two gaps at least."""
    x, labels = rows_of(5, 70, "float32")
    labels[:] = 4
    x[range(5), [0, BLANK, 4, 64, 69]] = np.nan
    with twin.options_of_the_twin(**rules):
        stats = twin.row_stats(x, labels, blank=BLANK, **params)
    assert np.isnan(stats[:, 1:]).any(axis=1).all()


@RULES
def test_dead_rows_have_a_sum_of_nan(rules):
    x = np.full((3, 9), -np.inf, np.float32)
    x[1, BLANK] = x[2, 5] = 0.0
    for rest, expected in ((False, [np.nan, 1, 1]), (True, [np.nan, 0, 1])):
        labels = np.array([4, 4, -1], np.int32)
        with twin.options_of_the_twin(**rules):
            stats = twin.row_stats(x, labels, blank=BLANK, rest=rest)
        np.testing.assert_allclose(stats[:, 1], expected, rtol=1e-6)


@pytest.mark.parametrize("dropped", [[], [1, 3]])
def test_three_phases_on_padded_rows(dropped):
    """The padding is rows without a cell. So is the first cell of the samples `dropped`, which are
    therefore impossible."""
    batch = random_batch([(6, 4), (9, 0), (3, 5), (1, 2)], 13, seed=2)
    logits, targets, T, U = batch.layout(True, 1, 2)
    B, max_t, max_u1, _ = logits.shape
    frames, steps = np.arange(max_t)[:, None], np.arange(max_u1)
    step_labels = np.concatenate([targets, np.full((B, 1), -1)], axis=1)
    step_labels[steps >= U[:, None]] = -1
    labels = np.repeat(step_labels[:, None], max_t, axis=1).astype(np.int32)
    padding = (frames >= T[:, None, None]) | (steps > U[:, None, None])
    labels[padding] = -2
    labels[dropped, 0, 0] = -2
    stats = twin.row_stats(logits, labels)
    loss, coefficients = twin.lattice(stats, T, U)
    weights = np.array([2.0, -1.0, 0.5, 3.0], np.float32)
    dloss = np.broadcast_to(weights[:, None, None], labels.shape)
    grad = twin.row_grad(logits, labels, stats, coefficients, dloss)
    expected_loss, expected = rnnt_loss_reference(logits, targets, T, U, reduction="none")
    expected *= weights[:, None, None, None]
    expected_loss[dropped], expected[dropped] = np.inf, 0
    assert report("loss", loss, expected_loss) <= 1e-5
    assert report("gradient", grad, expected) <= 1e-5
    assert (coefficients[padding] == 0).all() and (grad[padding] == 0).all()
