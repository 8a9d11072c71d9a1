# SPDX-License-Identifier: Apache-2.0
"""Loss and gradient against the float64 reference, over sizes, dtypes, layouts and options."""

import numpy as np
import pytest
from calls import loss_and_gradient, tensors
from oracles import TOLERANCE, random_batch, report, rnnt_loss_reference
from pairwise import name, pairwise

MAX_ELEMENTS = 4_000_000


def _lengths(case):
    """B samples; the first has the full size, the others are shorter."""
    B, T, U = case["B"], case["T"], case["U"]
    return [(max(1, T - T * b // (B + 1)), max(0, U - U * b // (B + 1))) for b in range(B)]


GRID = pairwise(
    allowed=lambda c: sum(T * (U + 1) for T, U in _lengths(c)) * c["V"] <= MAX_ELEMENTS,
    B=(1, 2, 5),
    T=(1, 2, 37, 257),
    U=(0, 1, 5, 64),
    V=(1, 2, 3, 15, 16, 17, 31, 127, 129, 1023, 5000),
    dtype=("float32", "float16", "bfloat16"),
    padded=(False, True),
    form=("fused", "two-op"),
    blank=(-1, 0),
    clamp=(-1.0, 0.05),
    fused=(True, False),
    fastemit_lambda=(0.0, 0.1),
)


@pytest.mark.parametrize("case", GRID, ids=name)
def test_grid(case):
    batch = random_batch(_lengths(case), case["V"], dtype=case["dtype"], blank=case["blank"])
    if not case["fused"]:  # log-probs are negative, and large ones would drown the tolerance
        batch.samples = [-np.abs(s) for s in batch.samples]
    layout = batch.layout(case["padded"], extra_t=1, extra_u=2)
    options = {
        "blank": case["blank"],
        "clamp": case["clamp"],
        "fused_log_softmax": case["fused"],
        "fastemit_lambda": case["fastemit_lambda"],
    }
    expected, expected_gradient = rnnt_loss_reference(*layout, reduction="none", **options)
    loss, gradient = loss_and_gradient(
        tensors(layout, case["dtype"]), form=case["form"], reduction="none", **options
    )
    limit = TOLERANCE["loss_absolute"] + TOLERANCE["loss_relative"] * np.abs(expected).max()
    assert report("loss", loss, expected) <= limit
    assert report("gradient", gradient, expected_gradient) <= TOLERANCE["gradient"][case["dtype"]]


@pytest.mark.parametrize("form", ["fused", "two-op"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_reductions(reduction, form):
    layout = random_batch([(5, 3), (4, 2), (2, 0)], V=7).layout(padded=False)
    expected, expected_gradient = rnnt_loss_reference(*layout, reduction=reduction)
    loss, gradient = loss_and_gradient(tensors(layout), form=form, reduction=reduction)
    assert report("loss", loss, expected) <= TOLERANCE["loss_absolute"] * len(layout[2])
    assert report("gradient", gradient, expected_gradient) <= TOLERANCE["gradient"]["float32"]
