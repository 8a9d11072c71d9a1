# SPDX-License-Identifier: Apache-2.0
"""RnntRowLabels against NumPy: legal batches, and lengths and labels that may be anything."""

import numpy as np
import pytest
from kernel.launch import poisoned
from oracles import LAYOUTS
from row_labels import BAD_VALUES, expected_row_labels, legal_batch, with_bad_value

from mindspore_rnnt import packed_indices
from mindspore_rnnt.native import pack_params, run_op


def row_labels(shape, targets, logit_lengths, target_lengths, blank=-1, fused=True):
    """Of logits that are NaN: they are not read."""
    labels, samples = (np.full(shape[:-1], 77, np.int32) for _ in range(2))
    least_loss = poisoned(len(targets))
    inputs = [poisoned(shape), targets, logit_lengths, target_lengths]
    params = pack_params(blank, fused_log_softmax=fused)
    run_op("RnntRowLabels", [*inputs, params], [labels, samples, least_loss])
    return labels, samples, least_loss


def assert_equal(got, expected):
    for a, b in zip(got, expected):
        assert a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype == np.float32)


@pytest.mark.parametrize("blank, fused", [(-1, True), (-1, False), (0, True), (3, True)])
@LAYOUTS
def test_legal_batches(padded, blank, fused):
    shape, ints = legal_batch(padded)
    expected = expected_row_labels(shape, *ints, blank, fused)
    assert_equal(row_labels(shape, *ints, blank, fused), expected)


def test_packed_rows_are_those_of_packed_indices():
    shape, (targets, *lengths) = legal_batch(padded=False)
    labels, samples, _ = row_labels(shape, targets, *lengths)
    max_t, max_u = 9, targets.shape[1]
    frames, steps = packed_indices(*lengths, max_t, max_u)
    assert (samples == frames // max_t).all()
    u = steps % (max_u + 1)
    is_last = u == lengths[1][samples]
    assert (labels == np.where(is_last, -1, targets[samples, np.minimum(u, max_u - 1)])).all()


@pytest.mark.parametrize("place, value", BAD_VALUES)
@LAYOUTS
def test_a_bad_value_costs_its_sample_only(padded, place, value):
    """In packed rows, lengths that do not add up cost all samples."""
    shape, ints = legal_batch(padded, ((5, 3), (4, 1), (1, 2), (6, 4)))
    ints = with_bad_value(ints, place, value)
    expected = expected_row_labels(shape, *ints)
    got = row_labels(shape, *ints)
    assert_equal(got, expected)
    alone = padded or place == 0
    assert np.isnan(got[2]).tolist() == [not alone, np.isnan(expected[2][1]), not alone, not alone]


def test_packed_lengths_that_add_up_but_hold_a_bad_one():
    """A sample without rows: the others keep theirs. And a number of rows that wraps to 0."""
    shape, (targets, T, U) = legal_batch(padded=False)
    T[1], shape = 0, (shape[0] - 4, shape[1])
    got = row_labels(shape, targets, T, U)
    assert_equal(got, expected_row_labels(shape, targets, T, U))
    assert np.isnan(got[2]).tolist() == [False, True, False, False]
    T, U = np.full(4, -(2**31), np.int32), np.full(4, 2**31 - 1, np.int32)
    T[:] = 2**30
    assert np.isnan(row_labels((0, 7), targets, T, U)[2]).all()


@pytest.mark.parametrize("blank", [7, -8, 2**20])
@LAYOUTS
def test_a_blank_that_is_no_class(padded, blank):
    shape, ints = legal_batch(padded)
    assert_equal(row_labels(shape, *ints, blank), expected_row_labels(shape, *ints, blank))


@LAYOUTS
def test_random_values(padded):
    rng = np.random.default_rng(0)
    odd = np.array([-(2**31), -2, -1, 0, 1, 2, 3, 5, 9, 2**31 - 1])
    for _ in range(300):
        B, V, max_t, max_u = (int(rng.integers(1, n)) for n in (4, 8, 5, 5))
        T, U = rng.choice(odd, (2, B)).astype(np.int32)
        targets = rng.choice(odd, (B, max_u)).astype(np.int32)
        shape = (B, max_t, int(rng.integers(1, 6)), V) if padded else (int(rng.integers(20)), V)
        got = row_labels(shape, targets, T, U)
        assert_equal(got, expected_row_labels(shape, targets, T, U))


def test_shapes_that_are_refused():
    shape, ints = legal_batch(padded=True)
    for wrong in ([ints[0][:3], *ints[1:]], [ints[0], ints[1][:3], ints[2]]):
        with pytest.raises(RuntimeError, match="For 'RnntRowLabels', "):
            row_labels(shape, *wrong)
