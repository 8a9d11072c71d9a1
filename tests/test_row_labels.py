# SPDX-License-Identifier: Apache-2.0
"""The operator RnntRowLabels through MindSpore and, for devices without it, as a composition."""

import numpy as np
import pytest
from mindspore import Tensor, ops
from modes import MODES, run
from oracles import LAYOUTS
from row_labels import BAD_VALUES, LOWEST, expected_row_labels, legal_batch, with_bad_value

from mindspore_rnnt.kernels import get_ops
from mindspore_rnnt.native import pack_params
from mindspore_rnnt.row_labels import at_least, row_labels


def operator(logits, targets, logit_lengths, target_lengths, params):
    return get_ops().row_labels(logits, targets, logit_lengths, target_lengths, params)


def assert_right(function, shape, ints, mode="pynative", blank=-1, fused=True):
    params = Tensor(pack_params(blank, fused_log_softmax=fused))
    got = run(function, [np.full(shape, np.nan, np.float32), *ints, params], mode)
    for a, b in zip(got, expected_row_labels(shape, *ints, blank, fused)):
        assert a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype == np.float32)


@pytest.mark.parametrize("function", [operator, row_labels])
@pytest.mark.parametrize("mode", MODES)
@LAYOUTS
def test_all_modes(padded, mode, function):
    assert_right(function, *legal_batch(padded), mode)


@pytest.mark.parametrize("blank, fused", [(-1, False), (0, True), (3, True), (7, True), (-8, True)])
@LAYOUTS
def test_options_of_the_composition(padded, blank, fused):
    assert_right(row_labels, *legal_batch(padded), "pynative", blank, fused)


@pytest.mark.parametrize("place, value", BAD_VALUES)
@LAYOUTS
def test_bad_values_of_the_composition(padded, place, value):
    shape, ints = legal_batch(padded, ((5, 3), (4, 1), (1, 2), (6, 4)))
    assert_right(row_labels, shape, with_bad_value(ints, place, value))


def test_packed_lengths_that_add_up_but_hold_a_bad_one():
    shape, (targets, T, U) = legal_batch(padded=False)
    T[1], shape = 0, (shape[0] - 4, shape[1])
    assert_right(row_labels, shape, (targets, T, U))
    T[:], U[:] = 2**30, 2**31 - 1  # 2**61 rows each: their sum wraps
    assert_right(row_labels, (1, 7), (targets, T, U))


@pytest.mark.parametrize("choose", [np.fmax, np.maximum], ids=lambda f: f.__name__)
def test_losses_have_the_bound_and_keep_nan_whatever_a_device_makes_of_a_maximum(
    choose, monkeypatch
):
    monkeypatch.setattr(ops, "maximum", lambda *x: Tensor(choose(*(y.asnumpy() for y in x))))
    losses = np.float32([1, -1e-7, -1, np.nan, np.inf, 2, np.nan, np.nan])
    least_loss = np.float32([0, 0, LOWEST, 0, 0, np.nan, np.nan, LOWEST])
    expected = np.float32([1, 0, -1, np.nan, np.inf, np.nan, np.nan, np.nan])
    got = at_least(Tensor(losses), Tensor(least_loss)).asnumpy()
    assert np.array_equal(got, expected, equal_nan=True)
