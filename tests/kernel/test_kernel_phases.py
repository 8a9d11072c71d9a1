# SPDX-License-Identifier: Apache-2.0
"""The three phases as operators: layouts, rows without a cell, temperature and rest."""

import numpy as np
import pytest
from kernel.launch import lattice, poisoned, row_grad, row_stats, same_bits, stored
from oracles import (
    NO_ARC,
    NO_CELL,
    TOLERANCE,
    labels_of,
    random_batch,
    report,
    rnnt_loss_reference,
    round_to,
)
from tdt import softmax

from mindspore_rnnt.native import pack_params, run_op

LENGTHS = [(5, 3), (1, 0), (7, 2)]
VOCABULARIES = (1, 2, 3, 8, 17, 50, 5000)
DTYPES = ("float32", "float16", "bfloat16")


@pytest.mark.parametrize("V", VOCABULARIES)
@pytest.mark.parametrize("poison", [np.nan, np.inf, 1e38])
def test_padded_phases_are_the_loss(level, V, poison):
    """With labels of NO_CELL in padding, the three operators in turn are the whole loss."""
    batch = random_batch(LENGTHS, V, seed=V)
    logits, labels = batch.padded(2, 1, fill=poison), labels_of(batch, 2, 1)
    stats = row_stats(logits, labels)
    loss, coefficients = lattice(stats, batch.logit_lengths, batch.target_lengths)
    gradient = row_grad(logits, labels, stats, coefficients)
    expected_loss, expected_gradient = rnnt_loss_reference(
        *batch.layout(padded=False), reduction="none"
    )
    mask = batch.padded_mask(2, 1)
    scale = np.maximum(expected_loss, 1)
    error = report("loss, relative", loss / scale, expected_loss / scale)
    assert error <= TOLERANCE["loss_relative"]
    error = report("gradient", gradient[mask], expected_gradient.ravel())
    assert error <= TOLERANCE["gradient"]["float32"]
    for padding in (stats[~mask[..., 0]], coefficients[~mask[..., 0]], gradient[~mask]):
        assert (padding == 0).all() and not np.signbit(padding).any()


def test_packed_and_padded_lattice_have_the_same_bits(level):
    """What stands in the padding of the stats is not read."""
    batch = random_batch([(37, 11), (1, 0), (64, 20), (12, 19)], V=9)
    mask = batch.padded_mask(3, 2)[..., 0]
    labels = labels_of(batch, 3, 2)[mask]
    packed = row_stats(batch.packed(), labels)
    padded = np.full((*mask.shape, 4), np.nan, np.float32)
    padded[mask] = packed
    lengths = batch.logit_lengths, batch.target_lengths
    loss, coefficients = lattice(packed, *lengths)
    padded_loss, padded_coefficients = lattice(padded, *lengths)
    assert same_bits(loss, padded_loss)
    assert same_bits(coefficients, padded_coefficients[mask])
    assert (padded_coefficients[~mask] == 0).all()


@pytest.mark.parametrize(("T", "U"), [(0, 2), (-1, 2), (8, 2), (7, 4), (7, -1), (2**31 - 1, 2)])
def test_padded_length_out_of_range(level, T, U):
    batch = random_batch(LENGTHS, V=9)
    stats = row_stats(batch.padded(), labels_of(batch))
    expected = lattice(stats, batch.logit_lengths, batch.target_lengths)
    logit_lengths, target_lengths = batch.logit_lengths, batch.target_lengths
    logit_lengths[2], target_lengths[2] = T, U
    loss, coefficients = lattice(stats, logit_lengths, target_lengths)
    assert np.isnan(loss[2]) and (coefficients[2] == 0).all()
    assert same_bits(loss[:2], expected[0][:2])
    assert same_bits(coefficients[:2], expected[1][:2])


def test_cells_that_do_not_exist(level):
    """Stats of 0 inside a sample: no arc leaves the cell, as if both log-probs were -inf."""
    batch = random_batch([(6, 3), (4, 2)], V=9)
    lengths = batch.logit_lengths, batch.target_lengths
    logits, labels = batch.padded(), labels_of(batch)
    outside = np.zeros(labels.shape, bool)
    outside[0, 0, 2:] = outside[0, 4:, 0] = outside[0, 5, 1] = True
    logits[outside] = np.nan
    windows = np.where(outside, NO_CELL, labels).astype(np.int32)
    stats = row_stats(logits, windows)
    loss, coefficients = lattice(stats, *lengths)
    log_probs = batch.padded() - np.log(np.exp(batch.padded()).sum(-1, keepdims=True))
    log_probs[outside] = -np.inf
    expected = rnnt_loss_reference(
        log_probs, batch.targets(), *lengths, fused_log_softmax=False, reduction="none"
    )[0]
    assert report("loss", loss, expected) <= 1e-5
    assert (coefficients[outside] == 0).all()
    assert (row_grad(logits, windows, stats, coefficients)[outside] == 0).all()
    stats[1, 3] = 0  # the whole last frame
    loss, coefficients = lattice(stats, *lengths)
    assert loss[1] == np.inf and (coefficients[1] == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_without_a_cell_are_not_read(level, dtype):
    """Nor is any of their stats, coefficients and upstream gradients."""
    V = 33
    logits = np.full((5, V), np.nan, np.float32)
    logits[1] = logits[3] = round_to(np.linspace(-2, 2, V), dtype)
    labels = np.array([NO_CELL, 4, NO_CELL, NO_ARC, NO_CELL], np.int32)
    cells = labels != NO_CELL
    logits = stored(logits, dtype)
    stats = row_stats(logits, labels)
    assert same_bits(stats[cells], row_stats(logits[cells], labels[cells]))
    assert (stats[~cells] == 0).all()
    coefficients = np.where(cells[:, None], [0.5, 0.25, 0.25], np.nan).astype(np.float32)
    dloss = np.where(cells, 2, np.nan).astype(np.float32)
    gradient = row_grad(
        logits, labels, np.where(cells[:, None], stats, np.nan), coefficients, dloss
    )
    alone = row_grad(logits[cells], labels[cells], stats[cells], coefficients[cells], dloss[cells])
    assert same_bits(gradient[cells], alone) and (gradient[~cells] == 0).all()


@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 2, 3), (0,), (2, 0, 3)])
def test_any_leading_shape(level, shape):
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((*shape, 11)).astype(np.float32)
    labels = rng.integers(-1, 11, shape).astype(np.int32)
    coefficients = rng.random((*shape, 3)).astype(np.float32)
    stats = row_stats(logits, labels)
    gradient = row_grad(logits, labels, stats, coefficients)
    flat = logits.reshape(-1, 11), labels.reshape(-1)
    flat_stats = row_stats(*flat)
    assert same_bits(stats.reshape(-1, 4), flat_stats)
    flat_gradient = row_grad(*flat, flat_stats, coefficients.reshape(-1, 3))
    assert same_bits(gradient.reshape(-1, 11), flat_gradient)


def test_leading_shapes_that_differ_are_refused(level):
    logits = np.zeros((2, 3, 5), np.float32)
    with pytest.raises(RuntimeError, match=r"'row_labels' must be of shape \(2, 3\), but got .*6"):
        row_stats(logits, np.zeros(6, np.int32))
    with pytest.raises(
        RuntimeError, match=r"'RnntRowStats', the 'stats' must be of shape \(2, 4\)"
    ):
        inputs = [logits[0, :2], np.zeros(2, np.int32), pack_params()]
        run_op("RnntRowStats", inputs, [poisoned((8,))])


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5, 40.0])
@pytest.mark.parametrize("V", VOCABULARIES)
def test_temperature(level, temperature, V):
    """log-probs and gradients of logits / temperature; the gradient is that of the quotient."""
    rng = np.random.default_rng(V)
    logits = (3 * rng.standard_normal((9, V))).astype(np.float32)
    labels = np.resize([0, V - 1, NO_ARC], 9).astype(np.int32)
    p = softmax(logits / np.float64(np.float32(temperature)))
    stats = row_stats(logits, labels, temperature=temperature)
    log_sum = np.log(stats[:, 1].astype(np.float64))
    rows = np.arange(9)
    blank, label = np.log(p[:, -1]), np.log(p[rows, labels])
    assert report("blank", stats[:, 2] - log_sum, blank) <= 1e-5
    expected = np.where(labels >= 0, label, -np.inf)
    assert report("label", stats[:, 3] - log_sum, expected) <= 1e-5
    coefficients = rng.random((9, 3)).astype(np.float32)
    gradient = row_grad(logits, labels, stats, coefficients, temperature=temperature)
    occupation, post_blank, post_label = coefficients.T.astype(np.float64)
    expected = p * occupation[:, None]
    expected[:, -1] -= post_blank
    expected[rows[labels >= 0], labels[labels >= 0]] -= post_label[labels >= 0]
    assert report("gradient", gradient, expected) <= TOLERANCE["gradient"]["float32"]


def test_a_temperature_of_zero_is_one(level):
    logits = np.random.default_rng(0).standard_normal((3, 20)).astype(np.float32)
    labels = np.array([0, 3, NO_ARC], np.int32)
    assert same_bits(row_stats(logits, labels), row_stats(logits, labels, temperature=1.0))
    for wrong in (-1.0, np.nan):
        assert np.isnan(row_stats(logits, labels, temperature=wrong)[:, 1]).all()


@pytest.mark.parametrize("temperature", [1.0, 2.0])
@pytest.mark.parametrize("V", VOCABULARIES)
@pytest.mark.parametrize("peak", [0.0, 20.0])
def test_rest_does_not_cancel(level, temperature, V, peak):
    """The sum of the other classes to float32 accuracy, also where blank or label takes nearly
    all of the probability."""
    rng = np.random.default_rng(V)
    logits = rng.standard_normal((8, V)).astype(np.float32)
    labels = np.resize([0, V // 2, V - 1, NO_ARC], 8).astype(np.int32)
    logits[:, -1] += peak
    stats = row_stats(logits, labels, temperature=temperature, rest=True)
    z = logits.astype(np.float64) / temperature
    terms = np.exp(z - z.max(-1, keepdims=True))
    terms[:, -1] = 0
    rows = np.flatnonzero(labels >= 0)
    terms[rows, labels[rows]] = 0
    rest = terms.sum(-1)
    assert report("rest_sum, relative", stats[:, 1] / np.maximum(rest, 1e-30), rest > 0) <= 3e-6
    plain = row_stats(logits, labels, temperature=temperature)
    assert same_bits(stats[:, [0, 2, 3]].copy(), plain[:, [0, 2, 3]].copy())


def test_rest_of_rows_without_a_softmax(level):
    """A row of -inf or with NaN is NaN; a rest of -inf is 0."""
    logits = np.full((5, 6), -np.inf, np.float32)
    logits[1, 5], logits[2, 0], logits[3, 3] = 1.0, 2.0, np.nan
    logits[4] = [-np.inf, 1.0, 1.0, 0.0, -np.inf, -np.inf]
    rest = row_stats(logits, np.zeros(5, np.int32), rest=True)[:, 1]
    assert np.isnan(rest[[0, 3]]).all() and (rest[[1, 2]] == 0).all()
    assert report("rest", rest[4], 2 + np.exp(-1)) <= 1e-6


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("V", VOCABULARIES)
def test_gradient_of_rest(level, V, dtype):
    """Blank and label get minus their posterior alone, the other classes their softmax term."""
    rng = np.random.default_rng(V)
    logits = round_to(rng.standard_normal((9, V)), dtype)
    labels = np.resize([0, V - 1, V // 2, NO_ARC, NO_CELL], 9).astype(np.int32)
    coefficients = rng.random((9, 3)).astype(np.float32)
    options = {"temperature": 2.0, "rest": True}
    stats = row_stats(stored(logits, dtype), labels, **options)
    gradient = row_grad(stored(logits, dtype), labels, stats, coefficients, **options)
    expected = np.exp((logits.astype(np.float64) - logits.max(-1, keepdims=True)) / 2)
    with np.errstate(divide="ignore"):
        expected *= (coefficients[:, 0] / stats[:, 1])[:, None]
    expected[:, -1] = -coefficients[:, 1]
    for row, label in enumerate(labels):
        if label >= 0:
            both = coefficients[row, 1] if label == V - 1 else 0
            expected[row, label] = -coefficients[row, 2] - both
    expected[labels == NO_CELL] = 0
    assert report("gradient", gradient, expected) <= TOLERANCE["gradient"][dtype]
