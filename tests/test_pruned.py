# SPDX-License-Identifier: Apache-2.0
"""prune_ranges and rnnt_loss_pruned against float64."""

from functools import partial

import mindspore as ms
import numpy as np
import pytest
from calls import refused as refused_by
from mindspore import Tensor
from modes import MODES, refuse_double_backward, run, run_gradient
from oracles import TOLERANCE, report, round_to

from mindspore_rnnt import prune_ranges, rnnt_loss, rnnt_loss_pruned, rnnt_posteriors
from mindspore_rnnt.reference import prune_ranges_reference, rnnt_loss_pruned_reference

WEIGHTS = [1.0, -2.0, 0.5]
OPTIONS = {"blank": 2, "clamp": 0.3, "fastemit_lambda": 0.2}


def pruned_batch(S=3, V=9, seed=0, extra=1, dtype="float32"):
    """logits, starts, targets, lengths. What is no cell is NaN or out of range."""
    rng = np.random.default_rng(seed)
    T, U = np.array([7, 3, 5], np.int32), np.array([5, 4, 0], np.int32)
    logits = rng.normal(size=(3, 7 + extra, S, V)).astype(np.float32) * 2
    targets = np.resize(np.array((99999, -1, -100), np.int32), (3, 5 + extra))
    starts = np.full((3, 7 + extra), -77, np.int32)
    for b in range(3):
        targets[b, : U[b]] = (rng.integers(0, V - 1, U[b]) + 3) % V  # never the class 2
        posteriors = rng.random((2, 1, T[b], U[b] + 1))
        starts[b, : T[b]] = prune_ranges_reference(*posteriors, T[b : b + 1], U[b : b + 1], S)[0]
        is_cell = starts[b, : T[b], None] + np.arange(S) <= U[b]
        logits[b, : T[b]][~is_cell] = np.nan
        logits[b, T[b] :] = np.nan
    return round_to(logits, dtype), starts, targets, T, U


def assert_equal(batch, got, dtype="float32", weights=WEIGHTS, **options):
    losses, gradient = rnnt_loss_pruned_reference(*batch, **options)
    scale = np.where(np.isfinite(losses), losses, 1)
    assert report("relative loss", got[0] / scale, losses / scale) <= 1e-6
    wanted = np.reshape(weights, (3, 1, 1, 1)) * gradient
    assert report("gradient", got[2], wanted) <= 2 * TOLERANCE["gradient"][dtype]


@pytest.mark.parametrize("mode", MODES)
def test_loss_and_gradient(mode):
    batch = pruned_batch()
    got = run_gradient(rnnt_loss_pruned, batch, (0,), mode, WEIGHTS, reduction="none", **OPTIONS)
    assert_equal(batch, got, **OPTIONS)


@pytest.mark.parametrize("S", [2, 5, 6, 9])
def test_any_window(S):
    """Two steps do not reach U in sample 1; nine are wider than the lattice."""
    batch = pruned_batch(S, V=30)
    got = run_gradient(rnnt_loss_pruned, batch, (0,), weights=WEIGHTS, reduction="none", blank=2)
    assert_equal(batch, got, blank=2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype):
    batch = pruned_batch(V=40, dtype=dtype)
    logits = Tensor(batch[0]).astype(getattr(ms, dtype))
    inputs = (logits, *(x.astype(np.int64) for x in batch[1:]))
    got = run_gradient(rnnt_loss_pruned, inputs, (0,), weights=WEIGHTS, reduction="none", blank=2)
    assert_equal(batch, got, dtype, blank=2)


def test_equals_rnnt_loss_where_the_windows_hold_all():
    rng = np.random.default_rng(0)
    logits, targets = (
        rng.normal(size=(2, 5, 4, 11)).astype(np.float32),
        np.int32([[1, 2, 3], [4, 5, 0]]),
    )
    lengths = np.int32([5, 3]), np.int32([3, 2])
    expected = run_gradient(rnnt_loss, (logits, targets, *lengths), (0,))
    batch = (logits, np.zeros((2, 5), np.int32), targets, *lengths)
    for a, b in zip(run_gradient(rnnt_loss_pruned, batch, (0,)), expected):
        assert report("both", a, b) <= 1e-7


@pytest.mark.parametrize("mode", ["pynative", "graph"])
def test_windows_that_leave_no_path(mode):
    """Sample 0: not up to U. Sample 1: a gap. The third keeps its bits."""
    batch = pruned_batch()
    options = {"reduction": "none", "blank": 2}
    good = run_gradient(rnnt_loss_pruned, batch, (0,), mode, WEIGHTS, **options)
    batch[1][0, :7] = 0
    batch[1][1, :3] = 0, 0, 4
    batch[0][:2] = 0
    got = run_gradient(rnnt_loss_pruned, batch, (0,), mode, WEIGHTS, **options)
    assert np.isposinf(got[0][:2]).all() and got[0][2] == good[0][2]
    assert (got[2][:2] == 0).all() and (got[2][2] == good[2][2]).all()
    zeroed = run(rnnt_loss_pruned, batch, mode, zero_infinity=True, **options)[0]
    assert (zeroed[:2] == 0).all()


def test_nan_stays_in_its_sample_and_a_weight_of_0_drops_it():
    batch, options = pruned_batch(), {"reduction": "none", "blank": 2}
    good = run_gradient(rnnt_loss_pruned, batch, (0,), weights=WEIGHTS, **options)
    batch[0][0, 3, 0, 4] = np.inf
    got = run_gradient(rnnt_loss_pruned, batch, (0,), weights=WEIGHTS, **options)
    is_cell = ~np.isnan(batch[0][0]).any(-1)
    assert np.isnan(got[0][0]) and np.isnan(got[2][0][is_cell]).all()
    assert (got[2][0][~is_cell] == 0).all() and (got[2][1:] == good[2][1:]).all()
    got = run_gradient(rnnt_loss_pruned, batch, (0,), weights=[0, -2.0, 0.5], **options)
    assert (got[2][0] == 0).all() and (got[2][1:] == good[2][1:]).all()


@pytest.mark.parametrize(
    "place, value, mode",
    [
        *((place, x, "pynative") for place, x in ((1, -1), (1, 99), (2, 9), (3, 0), (3, 99))),
        *((place, x, "graph_dynamic") for place, x in ((4, -3), (1, 99))),
    ],
)
def test_unchecked_bad_values_cost_their_sample_only(place, value, mode):
    batch = pruned_batch()
    options = {"reduction": "none", "validate": False, "blank": 2}
    good = run_gradient(rnnt_loss_pruned, batch, (0,), mode, WEIGHTS, **options)
    batch[place][0] = value
    got = run_gradient(rnnt_loss_pruned, batch, (0,), mode, WEIGHTS, **options)
    assert np.isnan(got[0][0]) and (got[2][0] == 0).all()
    assert (got[0][1:] == good[0][1:]).all() and (got[2][1:] == good[2][1:]).all()


@pytest.mark.parametrize("columns", [0, 1])
def test_no_labels_at_all(columns):
    rng = np.random.default_rng(0)
    batch = (
        rng.normal(size=(2, 3, 2, 5)).astype(np.float32),
        np.zeros((2, 3), np.int32),
        np.full((2, columns), 99, np.int32),
        np.array([3, 2], np.int32),
        np.zeros(2, np.int32),
    )
    losses, gradient = rnnt_loss_pruned_reference(*batch)
    got = run_gradient(rnnt_loss_pruned, batch, (0,), reduction="none")
    assert report("loss", got[0], losses) <= 1e-6 and report("gradient", got[2], gradient) <= 2e-6


@pytest.mark.parametrize("S", [2, 3, 20])
@pytest.mark.parametrize("mode", MODES)
def test_prune_ranges(mode, S):
    rng = np.random.default_rng(S)
    T, U = (rng.integers(low, 9, 12).astype(np.int32) for low in (1, 0))
    blank, label = rng.random((2, 12, 9, 10)).astype(np.float32)
    expected = prune_ranges_reference(blank, label, T, U, S)

    def ranges(blank, label, logit_lengths, target_lengths):
        return prune_ranges((blank, blank, label), logit_lengths, target_lengths, S)

    (got,) = run(ranges, (blank, label, T, U), mode)
    assert got.dtype == np.int32 and (got == expected).all()


def test_prune_ranges_of_ties_and_of_nan():
    blank, label = np.zeros((2, 4, 6), np.float32), np.zeros((2, 4, 6), np.float32)
    blank[0, :, 2] = 1  # three windows hold it
    blank[1] = np.nan
    T, U = np.int32([4, 3]), np.int32([5, 5])
    posteriors = (None, Tensor(blank), Tensor(label))
    starts = prune_ranges(posteriors, Tensor(T), Tensor(U), 3).asnumpy()
    assert starts[0].tolist() == prune_ranges_reference(blank, label, T, U, 3)[0].tolist()
    assert starts[0, 0] == 0 and ((starts[1] >= 0) & (starts[1] <= 3)).all()


def test_from_posteriors_of_the_whole_lattice_to_a_tight_bound():
    """Windows that hold nearly all of the probability lose nearly nothing of the loss."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(1, 12, 9, 20)).astype(np.float32)
    targets = rng.integers(0, 19, (1, 8)).astype(np.int32)
    for u in range(8):
        logits[0, u : u + 3, u, targets[0, u]] += 6
    logits[0, :, :, 19] += 5
    lengths = np.int32([12]), np.int32([8])
    whole = run(rnnt_loss, (logits, targets, *lengths))[0]
    ints = [Tensor(x) for x in (targets, *lengths)]
    starts = prune_ranges(rnnt_posteriors(Tensor(logits), *ints), *ints[1:], 5).asnumpy()
    window = starts[:, :, None] + np.arange(5)
    pruned = np.take_along_axis(logits, window[..., None], 2)
    loss = run(rnnt_loss_pruned, (pruned, starts, targets, *lengths))[0]
    print(whole, loss)
    assert 0 <= loss - whole <= 0.05 * whole


def test_refusals():
    names = ("logits", "starts", "targets", "logit_lengths", "target_lengths")
    refused = partial(refused_by, rnnt_loss_pruned, inputs=dict(zip(names, pruned_batch())))
    logits, starts, targets, T, _ = pruned_batch()
    refused(TypeError, "'starts' must be a Tensor of one of .* got Float32", starts=logits)
    refused(ValueError, r"'logits' must be of shape \(B, max_T, S, V\), but", logits=logits[0])
    refused(ValueError, r"'starts' must be of .* with max_T = 8", starts=starts[:, 1:])
    refused(ValueError, r"'blank' must be in \[-9, 9\), as 'logits' has", blank=9)
    refused(TypeError, "'clamp' must be a float", clamp="1")
    refused(ValueError, "'reduction' must be one of", reduction="max")
    refused(TypeError, "'validate' must be a bool", validate=1)
    refused(
        ValueError, "'logit_lengths' .*'logits' allows, but got 0 in sample 0", logit_lengths=T - 7
    )
    labels = targets.copy()
    labels[1, 2] = 9
    refused(
        ValueError,
        r"'targets' must be in \[0, 9\).* got 9 at position 2 of sample 1",
        targets=labels,
    )
    wrong = starts.copy()
    wrong[1, 2] = 5
    refused(
        ValueError,
        r"'starts' must be in \[0, 4\], the steps of sample 1, but got 5 in frame 2",
        starts=wrong,
    )
    for prune_range, error, message in (
        (1, ValueError, "at least 2, but got 1"),
        (2.0, TypeError, "an int"),
    ):
        with pytest.raises(
            error, match=f"^For 'prune_ranges', the 'prune_range' must be {message}"
        ):
            prune_ranges((None, Tensor(logits[..., 0]), None), Tensor(T), Tensor(T), prune_range)


def test_double_backward_is_an_error_and_leaves_the_next_call_right():
    refuse_double_backward(rnnt_loss_pruned, pruned_batch(), "rnnt_loss_pruned", blank=2)
