# SPDX-License-Identifier: Apache-2.0
"""Loss and gradient against the float64 reference, over sizes, dtypes, layouts and options."""

import numpy as np
import pytest
from calls import loss_and_gradient, tensors
from oracles import TOLERANCE, closed_form, ramp, random_batch, report, rnnt_loss_reference
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
    expected, expected_gradient = rnnt_loss_reference(*layout, **options)
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


# Found by path enumeration on the ramp ((7t + 3u + 5k) mod 11) / 10, see oracles.ramp.
PUBLISHED = [
    (2, 2, 5, 0, [1, 2], 5.859677375, [-0.116986, -0.598768, 0.291710, 0.160094, 0.263950]),
    (2, 2, 5, 1, [1, 2], 5.119183898, [0.107314, -0.823069, 0.291710, 0.160094, 0.263950]),
    (3, 2, 4, 0, [1, 2], 5.203034274, None),
    (2, 1, 4, 0, [3], 3.775288082, None),
    (3, 0, 4, 0, [], 4.625894807, None),
    (2, 4, 5, 0, [1, 2, 3, 4], 8.087708182, None),
]


@pytest.mark.parametrize("T, U, V, blank, labels, loss, first_row", PUBLISHED)
def test_published_values(T, U, V, blank, labels, loss, first_row):
    inputs = tensors(
        (
            ramp(T, U + 1, V)[None].astype(np.float32),
            np.array([labels]),
            np.array([T]),
            np.array([U]),
        )
    )
    got, gradient = loss_and_gradient(inputs, blank=blank, reduction="none")
    assert report("loss", got, [loss]) <= 1e-6
    if first_row:
        assert report("gradient", gradient[0, 0, 0], first_row) <= 1e-6


def test_log_probs_have_a_gradient_of_minus_the_posteriors():
    T, U, V = 2, 2, 5
    logits = ramp(T, U + 1, V)
    log_probs = (logits - np.log(np.exp(logits).sum(-1, keepdims=True)))[None].astype(np.float32)
    inputs = tensors((log_probs, np.array([[1, 2]]), np.array([T]), np.array([U])))
    loss, gradient = loss_and_gradient(inputs, blank=0, fused_log_softmax=False)
    assert report("loss", loss, 5.859677375) <= 1e-6
    assert report("gradient", gradient[0, 0, 0], [-0.2243, -0.7757, 0, 0, 0]) <= 1e-4
    assert report("sum", gradient.sum(), -(T + U)) <= 1e-5


@pytest.mark.parametrize("T, U, V", [(1, 0, 5), (1, 64, 3), (257, 64, 16), (2000, 500, 16)])
def test_closed_form_to_one_ulp(T, U, V):
    """A float32 lattice would be off by 0.14 at T = 2000, U = 500."""
    logits = np.full((T * (U + 1), V), 3.25, np.float32)
    inputs = tensors((logits, np.zeros((1, U), int), np.array([T]), np.array([U])))
    loss, gradient = loss_and_gradient(inputs, form="two-op", reduction="none")
    expected = closed_form(T, U, V)
    assert report("loss", loss, [expected]) <= np.spacing(np.float32(expected))
    assert report("row sums", gradient.sum(-1), np.zeros(len(logits))) <= 1e-6
