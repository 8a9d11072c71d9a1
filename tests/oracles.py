# SPDX-License-Identifier: Apache-2.0
"""Batches and expected values for tests; most of it is the conformance suite's own."""

import numpy as np
import pytest
from tolerances import TOLERANCE

from mindspore_rnnt.conformance.batches import (
    NO_ARC,
    NO_CELL,
    UNREAD_LABELS,
    Batch,
    from_bfloat16_bits,
    labels_of,
    ramp,
    random_batch,
    round_to,
    to_bfloat16_bits,
)
from mindspore_rnnt.conformance.oracles import closed_form, enumerate_paths
from mindspore_rnnt.conformance.statement import largest_difference
from mindspore_rnnt.reference import rnnt_loss_reference

__all__ = [
    "LAYOUTS",
    "NO_ARC",
    "NO_CELL",
    "TOLERANCE",
    "UNREAD_LABELS",
    "Batch",
    "closed_form",
    "difference_gradient",
    "enumerate_paths",
    "from_bfloat16_bits",
    "labels_of",
    "ramp",
    "random_batch",
    "relative_errors",
    "report",
    "rnnt_loss_reference",
    "round_to",
    "to_bfloat16_bits",
]

LAYOUTS = pytest.mark.parametrize("padded", [False, True], ids=["packed", "padded"])


def difference_gradient(loss_of, x, step=1e-5):
    """Central differences of a scalar function of a float64 array."""
    gradient = np.zeros_like(x)
    for index in np.ndindex(*x.shape):
        high, low = x.copy(), x.copy()
        high[index] += step
        low[index] -= step
        gradient[index] = (loss_of(high) - loss_of(low)) / (2 * step)
    return gradient


def report(what, got, expected):
    """Print and return the maximal absolute difference; NaN equals NaN, inf equals inf."""
    got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    assert got.shape == expected.shape, f"{what}: shape {got.shape} != {expected.shape}"
    error = largest_difference(got, expected)
    print(f"{what}: max error {error:.3g}")
    return error


def relative_errors(got, expected):
    """In norm, for each pair of arrays; prints them."""
    assert [np.shape(x) for x in got] == [np.shape(x) for x in expected]
    errors = [
        float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30)) for a, b in zip(got, expected)
    ]
    print([f"{error:.1e}" for error in errors])
    return errors
