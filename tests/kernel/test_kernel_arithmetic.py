# SPDX-License-Identifier: Apache-2.0
"""The kernel's own exp, log and conversions, seen through operators made of little else."""

import math

import numpy as np
import pytest
from kernel.launch import fused, numbers, poisoned, stored
from oracles import from_bfloat16_bits, report, to_bfloat16_bits

from mindspore_rnnt.native import pack_params, run_op

SMALLEST_NORMAL = np.finfo(np.float32).tiny


def row_exp(x):
    """exp(x): RnntRowGrad with row_max 0, row_sum, occupation and dloss 1, no posteriors."""
    y = poisoned((1, len(x)))
    stats, coefficients = np.zeros((1, 4), np.float32), np.zeros((1, 3), np.float32)
    stats[0, 1] = coefficients[0, 0] = 1
    none, one = np.array([-1], np.int32), np.ones(1, np.float32)
    run_op("RnntRowGrad", [x[None], none, stats, coefficients, one, pack_params(blank=0)], [y])
    return y[0]


def test_exp_is_within_2_ulp(level):
    """From 0 down to the smallest normal number, and where the reduction changes over."""
    x = np.concatenate(
        [
            -np.linspace(0, 87.3, 2_000_001, dtype=np.float32),
            -np.exp2(np.linspace(-40, 6.4, 1_000_001)).astype(np.float32),
            np.log(np.exp2(np.arange(-125.5, 0, 0.5))).astype(np.float32),
        ]
    )
    exact = np.exp(x.astype(np.float64))
    error = np.abs(row_exp(x) - exact) / np.spacing(exact.astype(np.float32))
    print(f"exp: {error.max():.3f} ulp at {x[error.argmax()]!r}, mean {error.mean():.3f}")
    assert error.max() <= 2.0


def test_exp_at_its_limits(level):
    x = np.array([0.0, -0.0, -87.33, -87.34, -88, -89, -104, -1e30, -np.inf, np.nan], np.float32)
    y = row_exp(x)
    assert y[0] == y[1] == 1.0
    assert y[2] >= SMALLEST_NORMAL and (y[3:5] < SMALLEST_NORMAL).all()
    assert (y[5:9] == 0).all() and np.isnan(y[9])


def test_log_add_and_log(level):
    """Two paths of log-probs a and b: the loss is -log(e^a + e^b)."""
    for a, gap in (
        (-1.0, 0.0),
        (-3.25, 1e-6),
        (-0.5, 0.3),
        (-2.0, 0.88),
        (-2.0, 7.5),
        (-1e-3, 40.0),
        (-9.0, 800.0),
    ):
        # T = 2, U = 1: label then blank, blank; or blank, then label, blank.
        log_probs = np.zeros((4, 2), np.float32)
        log_probs[0] = [np.float32(a - gap), np.float32(a)]
        exact = -np.logaddexp(np.float64(log_probs[0, 0]), np.float64(log_probs[0, 1]))
        layout = log_probs, np.int32([[1]]), np.int32([2]), np.int32([1])
        loss, _ = fused(layout, blank=0, fused_log_softmax=False)
        ulp = np.spacing(np.float32(abs(exact)))
        assert report(f"log(e^{a} + e^{a - gap})", loss, [exact]) <= ulp
    for V in (1, 2, 3, 7, 100, 4097, 70000):
        logits, targets = np.zeros((1, V), np.float32), np.zeros((1, 0), np.int32)
        loss, _ = fused((logits, targets, np.int32([1]), np.int32([0])))
        assert report(f"log {V}", loss, [math.log(V)]) <= np.spacing(np.float32(math.log(V)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("factor", [1.0, 0.37, -3e-5, 70000.0])
def test_conversions(level, dtype, factor):
    """All 65536 values there and back, and products that round, overflow and underflow."""
    bits = np.arange(65536, dtype=np.uint16)
    x = bits if dtype == "bfloat16" else bits.view(np.float16)
    y = poisoned(65536, x.dtype)
    one = np.array([1], np.int32)
    run_op("RnntScaleGrad", [x[None], one, 0 * one, np.array([factor], np.float32)], [y[None]])
    with np.errstate(over="ignore", invalid="ignore"):
        product = numbers(x) * np.float32(factor)
        expected = numbers(stored(product, dtype))
    assert np.array_equal(numbers(y), expected, equal_nan=True)
    assert np.array_equal(np.signbit(numbers(y)), np.signbit(expected)) or np.isnan(expected).any()


def test_bfloat16_oracle():
    assert np.array_equal(
        to_bfloat16_bits(from_bfloat16_bits(np.arange(0x7F81))), np.arange(0x7F81)
    )


def test_a_loss_of_zero_has_no_sign(level):
    """One class, no label: a single path of probability 1."""
    lengths = np.array([1, 3], np.int32), np.zeros(2, np.int32)
    layout = np.zeros((4, 1), np.float32), np.zeros((2, 0), np.int32), *lengths
    loss, grad = fused(layout, blank=0)
    assert (loss == 0).all() and not np.signbit(loss).any() and (grad == 0).all()
