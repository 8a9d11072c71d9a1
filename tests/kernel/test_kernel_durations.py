# SPDX-License-Identifier: Apache-2.0
"""The duration head, RnntDurationLogProbs and RnntDurationGrad, against float64."""

import numpy as np
import pytest
from kernel.launch import numbers, poisoned, stored
from oracles import report, round_to
from tdt import softmax

from mindspore_rnnt.native import pack_params, run_op

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])


def log_probs_of(logits, labels):
    out = poisoned(logits.shape)
    run_op("RnntDurationLogProbs", [logits, labels], [out])
    return out


def gradient_of(logits, labels, coefficients, posteriors, dloss, clamp=-1.0):
    out = poisoned(logits.shape, logits.dtype)
    inputs = [logits, labels, coefficients, posteriors, dloss, pack_params(clamp=clamp)]
    run_op("RnntDurationGrad", inputs, [out])
    return numbers(out)


def head(n=300, D=5, dtype="float32", seed=0):
    """Logits that are NaN where no cell is, labels, coefficients, posteriors, dloss."""
    rng = np.random.default_rng(seed)
    logits = round_to(3 * rng.standard_normal((n, D)), dtype)
    labels = rng.integers(-2, 9, n).astype(np.int32)
    logits[labels == -2] = np.nan
    posteriors = rng.random((n, D), np.float32) / D
    coefficients = np.repeat(posteriors.sum(1, keepdims=True), 3, 1)
    return logits, labels, coefficients, posteriors, rng.standard_normal(n, np.float32)


@pytest.mark.parametrize("D", [1, 2, 5, 17, 33])
@DTYPES
def test_against_softmaxes(level, dtype, D):
    logits, labels, coefficients, posteriors, dloss = head(D=D, dtype=dtype)
    is_cell = labels != -2
    p = softmax(logits[is_cell])
    x = stored(logits, dtype)
    got = log_probs_of(x, labels)
    assert report("log-probs", got[is_cell], np.log(p)) <= 2e-6 and (got[~is_cell] == 0).all()
    for clamp in (-1.0, 0.05):
        g = p * coefficients[is_cell, :1] - posteriors[is_cell]
        g = np.clip(g, -clamp, clamp) if clamp > 0 else g
        got = gradient_of(x, labels, coefficients, posteriors, dloss, clamp)
        limit = {"float32": 2e-6, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
        assert report("gradient", got[is_cell], g * dloss[is_cell, None]) <= limit
        assert (got[~is_cell] == 0).all()


def test_nan_and_upstream_gradients_that_are_not_finite(level):
    """NaN fills its row; a gradient of 0 stays 0, and an upstream gradient of 0 drops a row."""
    logits, labels, coefficients, posteriors, dloss = head(n=6)
    labels[:] = 0
    logits[:] = 0
    logits[1, 2] = np.nan
    coefficients[2], posteriors[2] = 0, 0
    coefficients[3], posteriors[3] = np.nan, np.nan
    coefficients[4], posteriors[4] = np.nan, np.nan
    dloss[:] = [1, 1, np.inf, 1, 0, np.nan]
    log_probs = log_probs_of(logits, labels)
    assert np.isnan(log_probs[1]).all() and np.isfinite(log_probs[[0, 2, 3, 4, 5]]).all()
    got = gradient_of(logits, labels, coefficients, posteriors, dloss)
    assert np.isfinite(got[0]).all() and np.isnan(got[[1, 3]]).all()
    assert (got[[2, 4]] == 0).all() and np.isnan(got[5]).all()


def test_any_value(level):
    rng = np.random.default_rng(0)
    odd = np.float32([np.nan, np.inf, -np.inf, 0, -1, 1e30, 3])
    for _ in range(100):
        n, D = rng.integers(0, 30), rng.integers(0, 9)
        logits, posteriors = rng.choice(odd, (2, n, D))
        labels = rng.choice([-(2**31), -3, -2, -1, 0, 2**31 - 1], n).astype(np.int32)
        log_probs_of(logits, labels)
        rest = rng.choice(odd, (n, 3)), posteriors, rng.choice(odd, n)
        gradient = gradient_of(logits, labels, *rest, clamp=rng.choice(odd))
        assert (gradient[labels == -2] == 0).all()
