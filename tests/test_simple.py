# SPDX-License-Identifier: Apache-2.0
"""rnnt_loss_simple and simple_posteriors against float64."""

import mindspore as ms
import numpy as np
import pytest
from calls import refused as refused_by
from mindspore import Tensor, ops
from modes import MODES, refuse_double_backward, run, run_gradient
from oracles import report
from simple_oracle import peaked_batch, simple_batch, simple_gradients

from mindspore_rnnt import prune_ranges, rnnt_loss, rnnt_loss_simple, simple_posteriors
from mindspore_rnnt.reference import rnnt_loss_simple_reference as reference

LOSS, POSTERIOR, GRADIENT = 1e-6, 1e-5, 1e-5  # the loss relative, the others absolute
WEIGHTS = [1.0, -2.0, 0.5]
SCALES = (
    {},
    {"lm_only_scale": 0.25},
    {"am_only_scale": 0.4},
    {"lm_only_scale": 0.6, "am_only_scale": 0.4},
    {"lm_only_scale": 0.25, "am_only_scale": 0.1},
)


def assert_gradients(batch, got, weights=WEIGHTS, limit=GRADIENT, **options):
    losses, dam, dlm = simple_gradients(*batch, weights, **options)
    assert report("relative loss", got[0] / losses, np.ones(3)) <= LOSS
    for name, gradient, wanted in (("am", got[2], dam), ("lm", got[3], dlm)):
        wanted = np.where(np.isnan(wanted), 0, wanted)
        assert report(name, gradient, wanted) <= limit * max(1, np.abs(wanted).max())


@pytest.mark.parametrize(
    "mode, scales",
    [*(("pynative", scales) for scales in SCALES[:-1]), *((mode, SCALES[-1]) for mode in MODES)],
    ids=str,
)
def test_loss_and_gradients(mode, scales):
    batch = simple_batch()
    options = {"blank": 2, "reduction": "none", **scales}
    got = run_gradient(rnnt_loss_simple, batch, (0, 1), mode, WEIGHTS, **options)
    assert_gradients(batch, got, blank=2, **scales)


@pytest.mark.parametrize("mode, scales", [("pynative", {}), *((m, SCALES[-1]) for m in MODES)])
def test_posteriors(mode, scales):
    batch = simple_batch()
    got = run(simple_posteriors, batch, mode, reduction="none", **scales)
    expected = reference(*batch, **scales)
    assert report("relative loss", got[0] / expected[0], np.ones(3)) <= LOSS
    assert report("blank", got[1], expected[1]) <= POSTERIOR
    assert report("label", got[2], expected[2]) <= POSTERIOR


def test_posteriors_reduce_their_loss_as_the_loss_does():
    batch = simple_batch()
    for options in ({}, {"reduction": "sum"}):
        loss = run(rnnt_loss_simple, batch, **options)[0]
        posteriors = simple_posteriors(*map(Tensor, batch), **options)
        assert posteriors.loss.shape == () and float(posteriors.loss) == float(loss)
        assert prune_ranges(posteriors, *map(Tensor, batch[3:]), 2).shape == batch[0].shape[:2]


@pytest.mark.parametrize("dtype, limit", [("float16", 1e-3), ("bfloat16", 8e-3)])
def test_half_precision(dtype, limit):
    batch = simple_batch(V=40, dtype=dtype)
    half = [Tensor(x).astype(getattr(ms, dtype)) for x in batch[:2]]
    scales = SCALES[-1]
    options = {"reduction": "none", **scales}
    got = run_gradient(rnnt_loss_simple, (*half, *batch[2:]), (0, 1), weights=WEIGHTS, **options)
    assert_gradients(batch, got, limit=limit, **scales)


@pytest.mark.parametrize("mode", ["pynative", "graph_dynamic"])
def test_where_the_product_underflows(mode):
    """k2 says 112.66 in place of 100.69 in such a cell."""
    batch = peaked_batch()
    got = run_gradient(rnnt_loss_simple, batch, (0, 1), mode, WEIGHTS, reduction="none")
    assert_gradients(batch, got)


def test_one_cell_that_underflows():
    am, lm = np.zeros((1, 1, 2), np.float32), np.zeros((1, 1, 2), np.float32)
    am[0, 0, 0] = lm[0, 0, 1] = 100.0
    lengths = np.array([1], np.int32), np.array([0], np.int32)
    got = run(rnnt_loss_simple, (am, lm, np.zeros((1, 0), np.int32), *lengths))
    assert report("loss", got[0], np.log(2)) <= 1e-5  # of terms of 100


def test_more_cells_that_underflow_than_one_chunk():
    rng = np.random.default_rng(0)
    am = rng.normal(size=(2, 30, 12)).astype(np.float32)
    lm = rng.normal(size=(2, 11, 12)).astype(np.float32)
    am[:, :, 3] += 100
    lm[:, :, 7] += 100
    lengths = np.array([30, 25], np.int32), np.array([10, 10], np.int32)
    batch = (am, lm, rng.integers(0, 11, (2, 10)).astype(np.int32), *lengths)
    got = run_gradient(rnnt_loss_simple, batch, (0, 1), weights=[1, 1], reduction="none")
    losses, dam, dlm = simple_gradients(*batch, [1, 1])
    assert report("relative loss", got[0] / losses, np.ones(2)) <= 2e-6  # terms of 100
    for name, gradient, wanted in (("am", got[2], dam), ("lm", got[3], dlm)):
        assert report(name, gradient, wanted) <= 1e-4


def test_equals_rnnt_loss_on_the_sum():
    am, lm, *rest = simple_batch(V=200, extra=0)
    logits = Tensor(np.nan_to_num(am)[:, :, None] + np.nan_to_num(lm)[:, None])
    expected = rnnt_loss(logits, *map(Tensor, rest), reduction="sum").asnumpy()
    got = run(rnnt_loss_simple, (am, lm, *rest), reduction="sum")
    assert abs(got[0] / expected - 1) <= LOSS


@pytest.mark.parametrize(
    "mode, scales", [("pynative", {}), ("pynative", SCALES[-1]), ("graph", SCALES[-1])], ids=str
)
def test_a_bad_sample_is_alone(mode, scales):
    """NaN, and no path: the others keep their bits. A weight of 0 drops even a NaN sample."""
    batch = simple_batch()
    options = {"reduction": "none", **scales}
    good = run_gradient(rnnt_loss_simple, batch, (0, 1), mode, WEIGHTS, **options)
    batch[0][0, 1, 4] = np.nan
    batch[1][1, :5, batch[2][1, 0]] = -np.inf  # the first label of sample 1 has no probability
    for weights, nan in ((WEIGHTS, True), ([0.0, -2.0, 0.5], False)):
        got = run_gradient(rnnt_loss_simple, batch, (0, 1), mode, weights, **options)
        assert np.isnan(got[0][0]) and np.isposinf(got[0][1])
        for name, gradient, clean in (("am", got[2], good[2]), ("lm", got[3], good[3])):
            used = gradient[0, : (7 if name == "am" else 3)]
            assert np.isnan(used).all() if nan else (used == 0).all()
            assert (gradient[1] == 0).all() and (gradient[2] == clean[2]).all()
            assert (gradient[0, (7 if name == "am" else 3) :] == 0).all()
    zeroed = run(rnnt_loss_simple, batch, zero_infinity=True, **options)[0]
    assert zeroed[1] == 0 and zeroed[2] == good[0][2]


@pytest.mark.parametrize(
    "place, value, mode",
    [
        *((place, x, "pynative") for place, x in ((2, -1), (2, 9), (3, 0), (3, 99), (4, 9))),
        (4, -3, "graph_dynamic"),
    ],
)
def test_unchecked_bad_values_cost_their_sample_only(place, value, mode):
    batch, options = simple_batch(), {"reduction": "none", "validate": False}
    good = run_gradient(rnnt_loss_simple, batch, (0, 1), mode, [1, 1, 1], **options)
    batch[place][0] = value
    got = run_gradient(rnnt_loss_simple, batch, (0, 1), mode, [1, 1, 1], **options)
    assert np.isnan(got[0][0])
    for gradient, clean in zip(got[2:], good[2:]):
        assert (gradient[0] == 0).all() and (gradient[1:] == clean[1:]).all()


@pytest.mark.parametrize("columns", [0, 1])
def test_no_labels_at_all(columns):
    rng = np.random.default_rng(0)
    am, lm = rng.normal(size=(2, 3, 5)), rng.normal(size=(2, 1, 5))
    batch = (am.astype(np.float32), lm.astype(np.float32), np.full((2, columns), 99, np.int32))
    batch = (*batch, np.array([3, 2], np.int32), np.zeros(2, np.int32))
    got = run_gradient(rnnt_loss_simple, batch, (0, 1), weights=[1, 1], reduction="none")
    losses, dam, dlm = simple_gradients(*batch, [1, 1])
    assert report("loss", got[0] / losses, np.ones(2)) <= LOSS
    assert report("am", got[2], dam) <= GRADIENT and report("lm", got[3], dlm) <= GRADIENT


def refused(error, message, **changes):
    names = ("am", "lm", "targets", "logit_lengths", "target_lengths")
    inputs = dict(zip(names, simple_batch()))
    for function in (rnnt_loss_simple, simple_posteriors):
        refused_by(function, error, message, inputs=inputs, **changes)


def test_refusals():
    am, lm, targets, _, U = simple_batch()
    refused(TypeError, "'lm' must be a Tensor, but got NoneType", lm=None)
    refused(TypeError, "'am' must be a Tensor of one of .* got Int32", am=targets)
    refused(ValueError, r"'am' must be of shape \(B, max_T, V\), but got shape", am=am[0])
    refused(ValueError, r"'lm' must be of .* with V = 9, but got", lm=lm[:, :, 1:])
    refused(ValueError, r"'targets' must be of .* with max_U = 5", targets=targets[:, 1:])
    refused(ValueError, r"'target_lengths' must be of shape \(B\) with B = 3", target_lengths=U[1:])
    refused(ValueError, r"'blank' must be in \[-9, 9\), as 'am' has 9 classes, but got 9", blank=9)
    refused(ValueError, "'reduction' must be one of", reduction="max")
    refused(ValueError, "'am_only_scale' must be at least 0, but got -0.1", am_only_scale=-0.1)
    refused(TypeError, "'lm_only_scale' must be a float, but got str", lm_only_scale="1")
    refused(
        ValueError,
        "'lm_only_scale' must be at most 1 together with 'am_only_scale', but got 0.6 and 0.6",
        lm_only_scale=0.6,
        am_only_scale=0.6,
    )
    refused(TypeError, "'zero_infinity' must be a bool", zero_infinity=1)
    refused(
        ValueError, "'logit_lengths' .*'am' allows, but got 9 in sample 1", logit_lengths=[7, 9, 5]
    )
    refused(ValueError, "'target_lengths' .*'lm' allows, but got 6 in", target_lengths=U * 0 + 6)
    refused(ValueError, r"'targets' must be in \[0, 9\), as 'am' has", targets=targets * 0 + 9)


def test_gradients_that_are_refused():
    inputs = [Tensor(x) for x in simple_batch()]

    def of_posteriors(am, lm, targets, logit_lengths, target_lengths):
        return simple_posteriors(am, lm, targets, logit_lengths, target_lengths)[1].sum()

    def beside(am, lm, targets, logit_lengths, target_lengths):
        posteriors = simple_posteriors(am, lm, targets, logit_lengths, target_lengths)
        used = ops.where(am == am, am, 0.0)
        return used.sum() + 0 * ops.stop_gradient(posteriors[1]).sum()

    def refused(am, lm, targets, logit_lengths, target_lengths):
        return ms.grad(of_posteriors)(am, lm, targets, logit_lengths, target_lengths)

    def allowed(am, lm, targets, logit_lengths, target_lengths):
        return ms.grad(beside)(am, lm, targets, logit_lengths, target_lengths)

    for wrap in (lambda f: f, ms.jit):
        with pytest.raises(RuntimeError, match="simple_posteriors is not differentiable"):
            wrap(refused)(*inputs).asnumpy()
        assert np.isfinite(wrap(allowed)(*inputs).asnumpy()).all()
    refuse_double_backward(rnnt_loss_simple, inputs, "rnnt_loss_simple")
