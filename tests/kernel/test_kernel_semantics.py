# SPDX-License-Identifier: Apache-2.0
"""NaN, infinities, impossible samples and upstream gradients, at every level, in every form."""

import numpy as np
import pytest
from kernel.launch import FORMS, fused, stored, two_op
from oracles import TOLERANCE, Batch, random_batch, report, rnnt_loss_reference

LENGTHS = [(5, 3), (4, 2), (6, 1)]


def rows_of(batch, b):
    """The packed rows of sample b."""
    sizes = np.cumsum([0, *(s.shape[0] * s.shape[1] for s in batch.samples)])
    return slice(sizes[b], sizes[b + 1])


def check_others(batch, got, b, **options):
    """Every sample but b is what it is without sample b."""
    loss, gradient = got
    for other in set(range(len(batch.samples))) - {b}:
        expected = rnnt_loss_reference(*batch.alone(other).layout(padded=False), **options)
        assert report("other loss", loss[other], expected[0][0]) <= 1e-5
        error = report("other gradient", gradient[rows_of(batch, other)], expected[1])
        assert error <= TOLERANCE["gradient"]["float32"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("V", [5, 37])
def test_nan_and_inf_stay_in_their_sample(level, form, value, V):
    for k in (0, V // 2, V - 1):
        batch = random_batch(LENGTHS, V)
        batch.samples[1][2, 1, k] = value
        loss, gradient = FORMS[form](batch.layout(padded=False))
        assert np.isnan(loss[1]) and np.isnan(gradient[rows_of(batch, 1)]).all()
        check_others(batch, (loss, gradient), 1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_nan_and_inf_in_half_precision(level, dtype):
    for value in (np.nan, np.inf):
        batch = random_batch(LENGTHS, 37, dtype=dtype)
        batch.samples[1][0, 0, 36] = value
        logits, *rest = batch.layout(padded=False)
        loss, gradient = two_op((stored(logits, dtype), *rest))
        assert np.isnan(loss).tolist() == [False, True, False]
        assert (
            np.isnan(gradient).any(axis=1).sum() == np.isnan(gradient[rows_of(batch, 1)]).sum() / 37
        )


@pytest.mark.parametrize("form", FORMS)
def test_minus_inf_is_a_probability_of_zero(level, form):
    V = 21
    batch = random_batch(LENGTHS, V)
    batch.samples[0][:, :, 3:7] = -np.inf
    batch.labels[0][:] = [1, 8, 2]
    batch.samples[1][0, 0, batch.labels[1][0]] = -np.inf  # one label arc less
    layout = batch.layout(padded=False)
    loss, gradient = FORMS[form](layout)
    expected = rnnt_loss_reference(*layout)
    assert report("loss", loss, expected[0]) <= 1e-5
    assert report("gradient", gradient, expected[1]) <= TOLERANCE["gradient"]["float32"]
    assert (gradient[rows_of(batch, 0), 3:7] == 0).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fused_log_softmax", [True, False])
@pytest.mark.parametrize("zero_infinity", [True, False])
def test_impossible_sample(level, form, fused_log_softmax, zero_infinity):
    batch = random_batch(LENGTHS, V=9)
    batch.samples[1][-1, -1, -1] = -np.inf  # the final blank
    options = {"fused_log_softmax": fused_log_softmax, "zero_infinity": zero_infinity}
    loss, gradient = FORMS[form](batch.layout(padded=False), **options)
    assert loss[1] == (0.0 if zero_infinity else np.inf)
    assert (gradient[rows_of(batch, 1)] == 0).all()
    check_others(batch, (loss, gradient), 1, **options)


@pytest.mark.parametrize("form", FORMS)
def test_row_without_a_softmax(level, form):
    for V in (3, 37, 5000):
        batch = random_batch(LENGTHS, V)
        batch.samples[2][3, 0, :] = -np.inf
        loss, gradient = FORMS[form](batch.layout(padded=False))
        assert np.isnan(loss[2]) and np.isnan(gradient[rows_of(batch, 2)]).all()
        check_others(batch, (loss, gradient), 2)


@pytest.mark.parametrize("form", FORMS)
def test_log_probs_are_read_only_on_their_arcs(level, form):
    batch = random_batch(LENGTHS, V=12)
    batch.labels = [np.full_like(labels, 4) for labels in batch.labels]
    clean = batch.layout(padded=False)
    layout = (clean[0].copy(), *clean[1:])
    layout[0][:, [0, 1, 7, 9]] = [np.nan, np.inf, -np.inf, 1e38]
    layout[0][rows_of(batch, 0)][3, 4] = np.nan  # row (0, U): it has no label arc
    loss, gradient = FORMS[form](layout, fused_log_softmax=False)
    expected = rnnt_loss_reference(*clean, fused_log_softmax=False)
    assert report("loss", loss, expected[0]) <= 1e-5
    assert report("gradient", gradient, expected[1]) <= TOLERANCE["gradient"]["float32"]
    assert (gradient[:, np.setdiff1d(np.arange(12), [4, 11])] == 0).all()
    for value in (np.nan, np.inf):
        layout[0][rows_of(batch, 1)] = np.where(
            np.arange(12) == 11, value, clean[0][rows_of(batch, 1)]
        )
        loss, gradient = FORMS[form](layout, fused_log_softmax=False)
        assert np.isnan(loss).tolist() == [False, True, False]
        assert np.isnan(gradient[rows_of(batch, 1)]).all()
        assert not np.isnan(gradient[rows_of(batch, 2)]).any()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_weight_of_zero_drops_a_nan_sample(level, form, zero):
    batch = random_batch(LENGTHS, V=19)
    batch.samples[1][:] = np.nan
    gradient = FORMS[form](batch.layout(padded=False), np.array([1, zero, -2], np.float32))[1]
    dropped = gradient[rows_of(batch, 1)]
    assert (dropped == 0).all() and not np.signbit(dropped).any()
    expected = rnnt_loss_reference(*batch.alone(2).layout(padded=False))[1]
    error = report("gradient", gradient[rows_of(batch, 2)], -2 * expected)
    assert error <= 2 * TOLERANCE["gradient"]["float32"]


def test_clamp_comes_before_the_upstream_gradient(level):
    layout = random_batch(LENGTHS, V=11).layout(padded=False)
    weights = np.array([100.0, -7.0, 1e-3], np.float32)
    unit = rnnt_loss_reference(*layout, clamp=0.02)[1]
    rows = np.repeat(weights, [T * (U + 1) for T, U in LENGTHS])[:, None]
    for form in FORMS.values():
        gradient = form(layout, weights, clamp=0.02)[1]
        assert (
            report("gradient / weight", gradient / rows, unit) <= TOLERANCE["gradient"]["float32"]
        )


def test_fastemit_of_zero_changes_no_bit(level):
    layout = random_batch(LENGTHS, V=11).layout(padded=False)
    plain, zero = fused(layout), fused(layout, fastemit_lambda=0.0)
    emitting = fused(layout, fastemit_lambda=0.5)
    assert np.array_equal(plain[1], zero[1]) and np.array_equal(plain[0], emitting[0])
    assert report("rows sum to", emitting[1].sum(axis=1), 0 * emitting[1][:, 0]) <= 1e-6


@pytest.mark.parametrize("padded_value", [np.nan, np.inf, -np.inf, 1e38])
def test_padding_is_not_read_and_gets_zero(level, padded_value):
    batch = random_batch([(5, 3), (1, 0), (2, 6)], V=23)
    _, *rest = batch.layout(True, extra_t=2, extra_u=1)
    mask = batch.padded_mask(2, 1)
    logits = batch.padded(2, 1, fill=padded_value)
    expected = rnnt_loss_reference(*batch.layout(padded=False))
    for form in (fused, two_op):
        loss, gradient = form((logits, *rest))
        assert report("loss", loss, expected[0]) <= 1e-5
        assert (gradient[~mask] == 0).all() and not np.signbit(gradient[~mask]).any()
        error = report("gradient", gradient[mask], expected[1].ravel())
        assert error <= TOLERANCE["gradient"]["float32"]


def test_alpha_and_beta_disagree(level):
    """Log-probs of magnitudes that do not add up: 1e30 - 1e30 + 5 depends on the order."""
    batch = random_batch(LENGTHS, V=4)
    huge = np.full((3, 1, 4), -1.0, np.float32)
    huge[:, 0, 3] = [1e30, -1e30, 5.0]
    batch.samples[1], batch.labels[1] = huge, np.zeros(0, np.int32)
    layout = batch.layout(padded=False)
    for form in FORMS.values():
        loss, gradient = form(layout, fused_log_softmax=False)
        assert np.isnan(loss).tolist() == [False, True, False]
        assert np.isnan(gradient[rows_of(batch, 1)]).all()
        check_others(batch, (loss, gradient), 1, fused_log_softmax=False)
        with pytest.raises(RuntimeError, match=r"the loss of sample 1 is .* from alpha, but"):
            form(layout, fused_log_softmax=False, may_throw=True)
    assert np.isfinite(fused(Batch(batch.samples[:1], batch.labels[:1]).layout(False))[0]).all()
