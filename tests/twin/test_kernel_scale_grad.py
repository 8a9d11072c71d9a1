# SPDX-License-Identifier: Apache-2.0
"""RnntScaleGrad on the twin, on gradients that RnntFused does not make."""

import sys
from pathlib import Path

import numpy as np
import pytest
from oracles import random_batch

sys.path.insert(0, str(Path(__file__).resolve().parent))

import kernel_on_twin as twin

LENGTHS = [(6, 4), (9, 0), (3, 5), (1, 2)]
WEIGHTS = np.array([2.5, -3.0, 0.0, 1.0], np.float32)
LAYOUTS = pytest.mark.parametrize("padded", [False, True], ids=["packed", "padded"])


def weights_per_row(batch, padded, layout):
    if padded:
        return WEIGHTS[:, None, None, None]
    return np.repeat(WEIGHTS, batch.logit_lengths * (batch.target_lengths + 1))[:, None]


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
