# SPDX-License-Identifier: Apache-2.0
"""The float64 reference against path enumeration, the closed form and finite differences."""

import numpy as np
import pytest
from oracles import (
    TOLERANCE,
    Batch,
    closed_form,
    difference_gradient,
    enumerate_paths,
    ramp,
    random_batch,
    report,
    rnnt_loss_reference,
)

SMALL = [(T, U) for T in (1, 2, 3, 4) for U in (0, 1, 2, 3, 4)]


@pytest.mark.parametrize("fastemit_lambda", [0.0, 0.3])
@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("padded", [True, False])
def test_equals_path_enumeration(padded, fused, fastemit_lambda):
    batch = random_batch(SMALL, V=5, blank=2, scale=1.0)
    expected = [
        enumerate_paths(s, y, 2, fused, fastemit_lambda)
        for s, y in zip(batch.samples, batch.labels)
    ]
    losses, gradient = rnnt_loss_reference(
        *batch.layout(padded, 2, 1),
        2,
        fused_log_softmax=fused,
        fastemit_lambda=fastemit_lambda,
        reduction="none",
    )
    gradients = Batch([g for _, g in expected], batch.labels)
    wanted = np.concatenate([g.reshape(-1, 5) for g in gradients.samples])
    if padded:
        mask = batch.padded_mask(2, 1)
        assert (gradient[~mask] == 0).all()
        gradient = gradient[mask].reshape(-1, 5)
    limit = TOLERANCE["reference_enumeration"]
    assert report("loss", losses, [loss for loss, _ in expected]) <= limit
    assert report("gradient", gradient, wanted) <= limit


@pytest.mark.parametrize("T, U, V", [(1, 0, 1), (2, 0, 7), (1, 9, 3), (2000, 500, 3)])
def test_equals_closed_form(T, U, V):
    logits = np.zeros((T * (U + 1), V))
    losses, gradient = rnnt_loss_reference(
        logits, np.zeros((1, U), int), [T], [U], reduction="none"
    )
    expected = closed_form(T, U, V)
    assert report("relative", losses / max(expected, 1), [expected / max(expected, 1)]) <= 1e-12
    assert report("row sums", gradient.sum(-1), np.zeros(len(gradient))) <= 1e-12


def test_gradient_equals_central_differences():
    batch = random_batch([(3, 2), (2, 0), (1, 3)], V=4)
    logits, *rest = batch.layout(padded=False)
    _, gradient = rnnt_loss_reference(logits, *rest, reduction="none")
    wanted = difference_gradient(
        lambda x: rnnt_loss_reference(x, *rest, reduction="sum")[0], logits.astype(np.float64)
    )
    assert report("gradient", gradient, wanted) <= TOLERANCE["reference_difference"]


def test_blank_among_the_targets_adds_both_arcs():
    logits = ramp(2, 3, 5)
    losses, gradient = rnnt_loss_reference(
        logits[None], [[1, 2]], [2], [2], blank=1, reduction="none"
    )
    wanted = difference_gradient(
        lambda x: rnnt_loss_reference(x[None], [[1, 2]], [2], [2], 1, reduction="none")[0][0],
        logits,
    )
    assert report("loss", losses, [5.119183898]) <= 1e-9
    assert report("gradient", gradient[0], wanted) <= TOLERANCE["reference_difference"]


def test_a_bad_sample_is_alone():
    batch = random_batch([(3, 2), (4, 1), (2, 2), (3, 1)], V=4)
    good, good_gradient = rnnt_loss_reference(*batch.layout(padded=True), reduction="none")
    batch.samples[1][2, 0, 3] = np.nan
    batch.samples[2][:, 1, batch.labels[2][1]] = -np.inf  # no second label: no path
    losses, gradient = rnnt_loss_reference(*batch.layout(padded=True), reduction="none")
    mask = batch.padded_mask()
    assert np.isnan(losses[1]) and np.isnan(gradient[1][mask[1]]).all()
    assert np.isposinf(losses[2]) and (gradient[2] == 0).all()
    assert (gradient[~mask] == 0).all()
    for b in (0, 3):
        assert losses[b] == good[b] and (gradient[b] == good_gradient[b]).all()
    zeroed, _ = rnnt_loss_reference(
        *batch.layout(padded=True), zero_infinity=True, reduction="none"
    )
    assert zeroed[2] == 0 and np.isnan(zeroed[1])
