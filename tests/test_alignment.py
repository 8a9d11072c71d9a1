# SPDX-License-Identifier: Apache-2.0
"""rnnt_align, rnnt_posteriors and expected_frames against float64, in every layout and mode."""

import mindspore as ms
import numpy as np
import pytest
from calls import tensors
from mindspore import Tensor, ops
from modes import MODES, run
from oracles import LAYOUTS, Batch, random_batch, report, rnnt_loss_reference

from mindspore_rnnt import expected_frames, rnnt_align, rnnt_loss, rnnt_posteriors
from mindspore_rnnt.kernels import get_ops
from mindspore_rnnt.kernels.host import align_on_host
from mindspore_rnnt.native import pack_params
from mindspore_rnnt.reference import (
    expected_frames_reference,
    rnnt_align_reference,
    rnnt_posteriors_reference,
)

LENGTHS = [(6, 3), (4, 2), (3, 4), (5, 0)]
FUNCTIONS = {
    rnnt_align: (rnnt_align_reference, ("frames", "log_probs", "path_log_prob")),
    rnnt_posteriors: (rnnt_posteriors_reference, ("loss", "blank", "label")),
}
ABSOLUTE = {"frames": 0, "blank": 2e-6, "label": 2e-6}  # others: 1e-6 relative
EACH = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)


def assert_equal(function, got, expected):
    names = FUNCTIONS[function][1]
    assert len(got) == len(expected) == len(names)
    for name, a, b in zip(names, got, expected):
        finite = np.where(np.isfinite(b), b, 0)
        limit = ABSOLUTE.get(name, 1e-6 * max(1, np.abs(finite).max(initial=0)))
        assert report(name, a, b) <= limit


@LAYOUTS
@pytest.mark.parametrize("mode", MODES)
@EACH
def test_all_modes(function, mode, padded):
    layout = random_batch(LENGTHS, V=9, blank=2).layout(padded, 2, 1)
    expected = FUNCTIONS[function][0](*layout, 2)
    ints = np.int64 if mode in ("jit", "graph_dynamic") else np.int32
    assert_equal(function, run(function, tensors(layout, ints=ints), mode, blank=2), expected)


@LAYOUTS
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@EACH
def test_dtypes_and_log_probabilities(function, dtype, padded):
    batch = random_batch(LENGTHS, V=300, dtype=dtype)
    batch.samples = [-np.abs(x) for x in batch.samples]
    layout = batch.layout(padded, 1, 1)
    for fused in (True, False):
        got = run(function, tensors(layout, dtype), fused_log_softmax=fused)
        expected = FUNCTIONS[function][0](*layout, fused_log_softmax=fused)
        assert_equal(function, got, expected)


@pytest.mark.parametrize("mode", MODES)
def test_of_equal_paths_the_earliest_emission(mode):
    """Log-probs that are small integers: sums are exact, and many paths are equal."""
    rng = np.random.default_rng(0)
    lengths = [(T, U) for T in (1, 2, 3, 4) for U in (0, 1, 2, 3, 4)]
    batch = Batch(
        [-rng.integers(0, 3, (T, U + 1, 3)).astype(np.float32) for T, U in lengths],
        [np.zeros(U, np.int32) for _, U in lengths],
    )
    layout = batch.layout(padded=False)
    got = run(rnnt_align, layout, mode, fused_log_softmax=False)
    assert_equal(rnnt_align, got, rnnt_align_reference(*layout, fused_log_softmax=False))


@pytest.mark.parametrize("columns", [0, 1])
@pytest.mark.parametrize("mode", MODES)
@EACH
def test_no_labels_at_all(function, mode, columns):
    """Targets (B, 0), or (B, 1) beside logits with one column."""
    batch = random_batch([(3, 0), (2, 0)], V=5)
    targets = np.full((2, columns), 99, np.int32)
    for logits in (batch.packed(), batch.padded()):
        layout = (logits, targets, batch.logit_lengths, batch.target_lengths)
        assert_equal(function, run(function, layout, mode), FUNCTIONS[function][0](*layout))


def test_one_path_has_the_probability_of_all():
    """U = 0, T = 1: there is no other path, so both numbers are the same to one ulp."""
    for lengths in ([(9, 0)], [(1, 7)]):
        layout = random_batch(lengths, V=50).layout(padded=True)
        loss, path = run(rnnt_posteriors, layout)[0], run(rnnt_align, layout)[2]
        assert abs(loss[0] + path[0]) <= np.spacing(loss[0])


def test_properties_of_a_large_batch():
    lengths = [(120, 30), (90, 41), (70, 0)]
    batch = random_batch(lengths, V=80)
    layout = batch.layout(padded=True)
    loss, blank, label = run(rnnt_posteriors, layout)
    frames, _, path = run(rnnt_align, layout)
    assert report("blanks over T", blank.sum((1, 2)) / batch.logit_lengths, np.ones(3)) <= 1e-5
    U = np.maximum(batch.target_lengths, 1)
    assert report("labels over U", label.sum((1, 2)) / U, batch.target_lengths / U) <= 1e-5
    assert (path <= -loss + np.spacing(loss)).all()
    for b, (T, U) in enumerate(lengths):
        assert (np.diff(frames[b, :U]) >= 0).all() and (frames[b, :U] < T).all()
    assert (loss == rnnt_loss(*map(Tensor, layout), reduction="none").asnumpy()).all()


@LAYOUTS
@EACH
def test_a_bad_sample_is_alone(function, padded):
    """NaN logits, no path, +inf: the others keep their bits."""
    batch = random_batch([(3, 2), (4, 1), (2, 2), (3, 3), (3, 1)], V=4)
    good = run(function, batch.layout(padded))
    batch.samples[1][2, 0, 3] = np.nan
    batch.samples[2][:, 1, batch.labels[2][1]] = -np.inf
    batch.samples[3][1, 1, 0] = np.inf
    layout = batch.layout(padded)
    got, expected = run(function, layout), FUNCTIONS[function][0](*layout)
    assert_equal(function, got, expected)
    for a, b in zip(got, good):
        if len(a) == 5:  # not packed cells
            assert (a[0] == b[0]).all() and (a[4] == b[4]).all()


@pytest.mark.parametrize("label", [-1, -2, 4, 99999])
@pytest.mark.parametrize("mode", ["pynative", "graph"])
@LAYOUTS
@EACH
def test_an_unchecked_bad_label_costs_its_sample_only(function, padded, mode, label):
    batch = random_batch([(3, 2), (4, 2), (2, 1)], V=4)
    logits, targets, *lengths = batch.layout(padded)
    good = run(function, (logits, targets, *lengths), mode)
    targets[1, 1] = label
    got = run(function, (logits, targets, *lengths), mode, validate=False)
    if function is rnnt_align:
        frames, log_probs, path = got
        assert (frames[1] == -1).all() and np.isnan(log_probs[1]).all() and np.isnan(path[1])
    else:
        assert np.isnan(got[0][1])
    for a, b in zip(got, good):
        if len(a) == 3:  # not packed cells
            assert (a[[0, 2]] == b[[0, 2]]).all()


@pytest.mark.parametrize("place, value", [(2, 99), (2, 0), (2, -(2**31)), (3, 9), (3, -1)])
@LAYOUTS
@EACH
def test_unchecked_bad_lengths_are_harmless(function, padded, place, value):
    layout = [x.copy() for x in random_batch([(3, 2), (4, 2), (2, 1)], V=4).layout(padded)]
    layout[place][1] = value
    for mode in ("pynative", "graph_dynamic"):
        got = run(function, layout, mode, validate=False)
        loss = got[2 if function is rnnt_align else 0]
        assert np.isnan(loss[1]) and (padded or np.isnan(loss).all())


@pytest.mark.parametrize("mode", MODES)
@LAYOUTS
def test_expected_frames(padded, mode):
    lengths = [(60, 9), (41, 12), (3, 4), (5, 0)]
    layout = random_batch(lengths, V=20).layout(padded, 1, 2)
    posteriors = rnnt_posteriors_reference(*layout)

    def of_logits(logits, targets, logit_lengths, target_lengths):
        posteriors = rnnt_posteriors(logits, targets, logit_lengths, target_lengths)
        return expected_frames(posteriors, logit_lengths, target_lengths)

    mean, deviation = run(of_logits, layout, mode)
    max_u = 14 if padded else 12
    expected = expected_frames_reference(posteriors[2], *layout[2:], max_u)
    assert report("mean", mean, expected[0]) <= 1e-4
    assert report("deviation", deviation, expected[1]) <= 1e-4


@LAYOUTS
def test_expected_frames_of_a_bad_sample(padded):
    batch = random_batch([(3, 2), (4, 1), (2, 2)], V=4)
    batch.samples[0][2, 0, 3] = np.nan
    batch.samples[2][:, 1, batch.labels[2][1]] = -np.inf
    layout = [Tensor(x) for x in batch.layout(padded)]
    mean, deviation = expected_frames(rnnt_posteriors(*layout), *layout[2:])
    for moment in (mean.asnumpy(), deviation.asnumpy()):
        assert np.isnan(moment[[0, 2]]).all() and np.isfinite(moment[1]).all()


@pytest.mark.parametrize("compiled", [False, True], ids=["pynative", "jit"])
@EACH
def test_a_gradient_is_an_error_and_leaves_the_next_call_right(function, compiled):
    layout = random_batch([(3, 2), (4, 1)], V=5).layout(padded=False)
    inputs = [Tensor(x) for x in layout]
    _, expected = rnnt_loss_reference(*layout, reduction="sum")

    def of_result(logits, targets, logit_lengths, target_lengths):
        result = function(logits, targets, logit_lengths, target_lengths)
        return result[1].sum()

    def beside_result(logits, targets, logit_lengths, target_lengths):
        result = function(logits, targets, logit_lengths, target_lengths)
        loss = rnnt_loss(logits, targets, logit_lengths, target_lengths, reduction="sum")
        return loss + 0 * ops.stop_gradient(result[1]).sum()

    def gradient_of_result(logits, targets, logit_lengths, target_lengths):
        return ms.grad(of_result)(logits, targets, logit_lengths, target_lengths)

    def gradient_beside(logits, targets, logit_lengths, target_lengths):
        return ms.grad(beside_result)(logits, targets, logit_lengths, target_lengths)

    if compiled:
        gradient_of_result, gradient_beside = ms.jit(gradient_of_result), ms.jit(gradient_beside)
    message = f"{function.__name__} is not differentiable.*ops.stop_gradient"
    for _ in range(2):
        with pytest.raises(RuntimeError, match=message):
            gradient_of_result(*inputs).asnumpy()
        assert report("gradient", gradient_beside(*inputs).asnumpy(), expected) <= 2e-6


def test_on_the_host_for_a_device_without_the_kernel():
    """A sample without a path, one with NaN; and in a graph an error."""
    rng = np.random.default_rng(0)
    stats = np.abs(rng.standard_normal((3, 4, 3, 4), np.float32))
    stats[1, :, 1, 3] = -np.inf
    stats[2, 0, 0, 1] = np.nan
    ints = ([4, 3, 2], [2, 2, 1], np.zeros((3, 2)))
    ints = [Tensor(np.array(x, np.int32)) for x in ints]
    inputs = [Tensor(stats), *ints, Tensor(np.zeros(3, np.float32)), Tensor(pack_params())]
    for a, b in zip(align_on_host(*inputs), get_ops().align(*inputs)):
        assert a.dtype == b.dtype and np.array_equal(a.asnumpy(), b.asnumpy(), equal_nan=True)
    with pytest.raises(RuntimeError, match=r"best path is found on the host.*PyNative mode"):
        ms.jit(align_on_host)(*inputs)
