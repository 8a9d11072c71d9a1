# SPDX-License-Identifier: Apache-2.0
"""The other operators on the twin: forward with backward, and the scaling of a fused gradient."""

import sys
from pathlib import Path

import numpy as np
import pytest
from oracles import TOLERANCE, random_batch, report

sys.path.insert(0, str(Path(__file__).resolve().parent))

import kernel_on_twin as twin

from mindspore_rnnt.reference import rnnt_loss_reference

LENGTHS = [(6, 4), (9, 0), (3, 5), (1, 2)]
WEIGHTS = np.array([2.5, -3.0, 0.0, 1.0], np.float32)
LAYOUTS = pytest.mark.parametrize("padded", [False, True], ids=["packed", "padded"])


def weights_per_row(batch, padded, layout):
    if padded:
        return WEIGHTS[:, None, None, None]
    return np.repeat(WEIGHTS, batch.logit_lengths * (batch.target_lengths + 1))[:, None]


@LAYOUTS
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fused_log_softmax": False},
        {"clamp": 0.1},
        {"fastemit_lambda": 0.2, "blank": 0},
        {"clamp": 0.1, "fused_log_softmax": False, "fastemit_lambda": 0.2},
    ],
    ids=str,
)
def test_forward_and_backward(padded, options):
    blank = options.get("blank", -1)
    batch = random_batch(LENGTHS, 37, seed=1, blank=blank)
    layout = batch.layout(padded)
    loss, state, _ = twin.forward(layout, **options)
    grad, _ = twin.backward(layout, state, WEIGHTS, **options)
    expected_loss, expected = rnnt_loss_reference(*layout, **options)
    assert report("loss", loss, expected_loss) <= 1e-5
    weighted = expected * weights_per_row(batch, padded, layout)
    assert report("gradient", grad, weighted) <= 5e-5
    assert (grad[weighted == 0] == 0).all() or options.get("fused_log_softmax", True)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("V", [11, 700, 9000, 16001])
def test_both_forms_give_the_same(V, dtype):
    """The same bits in float32; in half precision one form rounds once more."""
    batch = random_batch([(4, 3), (2, 1)], V, seed=V, dtype=dtype)
    layout = batch.layout(False)
    weights = np.array([0.5, -2.0], np.float32)
    fused_loss, fused_grad, _ = twin.fused(layout, dtype)
    scaled, _ = twin.scale_grad(fused_grad, *layout[2:], weights, dtype)
    loss, state, _ = twin.forward(layout, dtype)
    grad, _ = twin.backward(layout, state, weights, dtype)
    assert (loss == fused_loss).all()
    if dtype == "float32":
        assert (grad == scaled).all()
    assert report("gradient", grad, scaled) <= 2 * TOLERANCE["gradient"][dtype]


@LAYOUTS
def test_scale_grad(padded):
    batch = random_batch(LENGTHS, 23, seed=3)
    layout = batch.layout(padded)
    grad = np.nan_to_num(layout[0], nan=7.0)  # whatever is in the padding, 0 comes out
    got, _ = twin.scale_grad(grad, *layout[2:], WEIGHTS)
    expected = grad * weights_per_row(batch, padded, layout)
    if padded:
        expected[~batch.padded_mask()] = 0
    assert (got == expected).all()


def test_a_weight_of_zero_drops_a_nan_sample():
    batch = random_batch(LENGTHS, 9, seed=4)
    batch.samples[2][1, 1, 3] = np.nan
    layout = batch.layout(False)
    loss, state, _ = twin.forward(layout)
    assert np.isnan(loss[2]) and np.isfinite(np.delete(loss, 2)).all()
    grad, _ = twin.backward(layout, state, WEIGHTS)
    assert np.isfinite(grad).all()
    everything, _ = twin.backward(layout, state, np.ones(4))
    rows = np.repeat(np.arange(4), batch.logit_lengths * (batch.target_lengths + 1))
    assert np.isnan(everything[rows == 2]).all() and np.isfinite(everything[rows != 2]).all()
    fused_grad = twin.fused(layout)[1]
    scaled, _ = twin.scale_grad(fused_grad, *layout[2:], WEIGHTS)
    assert (scaled == grad).all()


@LAYOUTS
def test_samples_without_a_gradient(padded):
    """An impossible one, one with a wild label, one whose lengths fit nothing (padded only)."""
    batch = random_batch(LENGTHS, 9, seed=5)
    batch.samples[0][:, 1, batch.labels[0][1]] = -np.inf
    logits, targets, T, U = batch.layout(padded)
    targets[2, 1] = 2**31 - 1
    if padded:
        T[3] = -4
    layout = (logits, targets, T, U)
    loss, state, _ = twin.forward(layout)
    assert loss[0] == np.inf and np.isnan(loss[2]) and np.isnan(loss[3]) == padded
    grad, _ = twin.backward(layout, state, np.ones(4))
    assert (grad == twin.fused(layout)[1]).all()
    assert np.isfinite(grad).all()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_gradient_of_zero_stays_zero_whatever_comes_from_upstream(dtype):
    """Such a sample's loss is NaN or infinite, and so is what upstream makes of it."""
    batch = random_batch([(2, 1)] * 4, 9, seed=6, dtype=dtype)
    grad = batch.layout(False)[0]
    smallest = {"float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}[dtype]
    grad[:, ::2], grad[:, 1], grad[0, 3] = 0, smallest, np.nan
    upstream = np.array([np.inf, -np.inf, np.nan, 2.0], np.float32)
    lengths = batch.layout(False)[2:]
    got, _ = twin.scale_grad(grad, *lengths, upstream, dtype)
    with np.errstate(invalid="ignore"):
        expected = np.where(grad == 0, 0, grad * np.repeat(upstream, 4)[:, None])
    assert np.array_equal(got, expected, equal_nan=True)


@pytest.mark.parametrize("change", [1, -2])
def test_packed_lengths_that_do_not_add_up(change):
    logits, targets, T, U = random_batch(LENGTHS, 9).layout(False)
    T[0] += change
    layout = (logits, targets, T, U)
    loss, state, _ = twin.forward(layout)
    assert np.isnan(loss).all()
    assert (twin.backward(layout, state, WEIGHTS)[0] == 0).all()
    assert (twin.scale_grad(logits, T, U, WEIGHTS)[0] == 0).all()
