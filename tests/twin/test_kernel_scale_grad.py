# SPDX-License-Identifier: Apache-2.0
"""RnntScaleGrad on the twin: gradients as RnntFused makes them, and others."""

import numpy as np
import pytest
from oracles import LAYOUTS, random_batch
from twin import kernel_on_twin as twin
from twin.rules import RULES

LENGTHS = [(6, 4), (9, 0), (3, 5), (1, 2)]
WEIGHTS = np.array([2.5, -3.0, 0.0, 1.0], np.float32)


def scaled(layout, weights, batch, padded):
    """Whatever is in the padding, 0 comes out. A weight of 0 and a gradient of 0 give 0."""
    rows = batch.per_row(weights, layout[0])
    with np.errstate(invalid="ignore"):
        expected = np.where((layout[0] == 0) | (rows == 0), 0, layout[0] * rows)
    if padded:
        expected[~batch.padded_mask()] = 0
    return expected


@LAYOUTS
def test_scale_grad(padded):
    batch = random_batch(LENGTHS, 23, seed=3)
    layout = batch.layout(padded)
    grad = np.nan_to_num(layout[0], nan=7.0)  # whatever is in the padding, 0 comes out
    got, _ = twin.scale_grad(grad, *layout[2:], WEIGHTS)
    assert (got == scaled(layout, WEIGHTS, batch, padded)).all()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_gradient_of_zero_stays_zero_whatever_comes_from_upstream(dtype):
    """Such a sample's loss is NaN or infinite, and so is what upstream makes of it."""
    batch = random_batch([(2, 1)] * 4, 9, seed=6, dtype=dtype)
    grad = batch.layout(False)[0]
    smallest = {"float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}[dtype]
    grad[:, ::2], grad[:, 1], grad[0, 3] = 0, smallest, np.nan
    upstream = np.array([np.inf, -np.inf, np.nan, 2.0], np.float32)
    layout = (grad, *batch.layout(False)[1:])
    got, _ = twin.scale_grad(grad, *layout[2:], upstream, dtype)
    expected = scaled(layout, upstream, batch, False)
    assert np.array_equal(got, expected, equal_nan=True)


@RULES
@LAYOUTS
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("V, lengths", [(23, LENGTHS), (16001, [(1, 1)] * 4)], ids=["23", "16001"])
def test_right_whatever_the_hardware_does(rules, padded, dtype, V, lengths):
    """On gradients as RnntFused makes them: all of a sample is NaN, or nothing."""
    batch = random_batch(lengths, V, seed=3, dtype=dtype)
    batch.samples[1][:], batch.samples[3][:] = np.nan, 0
    layout = batch.layout(padded)
    for weights in np.float32([[0.5, -3.0, -2.0, np.inf], [-2.0, np.nan, 0.0, np.nan]]):
        with twin.options_of_the_twin(**rules):
            got, _ = twin.scale_grad(layout[0], *layout[2:], weights, dtype)
        expected = scaled(layout, weights, batch, padded)
        assert np.array_equal(got, expected, equal_nan=True)
