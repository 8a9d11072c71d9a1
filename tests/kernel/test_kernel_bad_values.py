# SPDX-License-Identifier: Apache-2.0
"""Values that no check stopped: their sample has loss NaN and gradient 0, the rest is right."""

import numpy as np
import pytest
from kernel.launch import fused, in_chunks, poisoned, two_op
from oracles import random_batch, report, rnnt_loss_reference

from mindspore_rnnt.native import pack_params, run_op

LENGTHS = [(5, 3), (4, 2), (6, 1)]
INT_MIN, INT_MAX = -(2**31), 2**31 - 1


@pytest.mark.parametrize("form", [fused, two_op])
@pytest.mark.parametrize("label", [-1, 10, 99999, INT_MIN, INT_MAX])
@pytest.mark.parametrize("padded", [False, True], ids=["packed", "padded"])
def test_label_out_of_range(level, form, label, padded):
    batch = random_batch(LENGTHS, V=10)
    layout = batch.layout(padded)
    expected = rnnt_loss_reference(*layout)
    layout[1][1, 1] = label
    check_bad_sample(form(layout), expected, batch, 1, padded)


@pytest.mark.parametrize("form", [fused, two_op])
@pytest.mark.parametrize(
    ("T", "U"), [(0, 2), (-1, 2), (7, 2), (INT_MAX, 2), (INT_MIN, 2), (4, -1), (4, 4), (4, INT_MAX)]
)
def test_padded_length_out_of_range(level, form, T, U):
    batch = random_batch(LENGTHS, V=10)
    layout = batch.layout(padded=True)
    expected = rnnt_loss_reference(*layout)
    layout[2][1], layout[3][1] = T, U
    check_bad_sample(form(layout), expected, batch, 1, padded=True)


@pytest.mark.parametrize("form", [fused, two_op, in_chunks])
@pytest.mark.parametrize(
    ("T", "U"),
    [(3, 2), (5, 2), (0, 2), (-4, 2), (4, 1), (4, 3), (4, -1), (INT_MAX, INT_MAX), (INT_MIN, 0)],
)
def test_packed_rows_that_do_not_add_up(level, form, T, U):
    layout = random_batch(LENGTHS, V=10).layout(padded=False)
    if form is in_chunks:
        run = chunks_with_lengths(layout, T, U)
    else:
        layout[2][1], layout[3][1] = T, U
        run = form(layout)
    assert np.isnan(run[0]).all() and (run[1] == 0).all()


def test_more_labels_than_targets_hold(level):
    """The rows add up, but the labels of sample 1 are not all there."""
    batch = random_batch([(2, 1), (2, 3)], V=6)
    logits, targets, *lengths = batch.layout(padded=False)
    loss, gradient = two_op((logits, targets[:, :2].copy(), *lengths))
    assert np.isnan(loss).tolist() == [False, True] and (gradient[4:] == 0).all()
    assert (
        report("other loss", loss[:1], rnnt_loss_reference(*batch.alone(0).layout(False))[0]) < 1e-6
    )


@pytest.mark.parametrize("blank", [10, -11, 1e20, -1e20, -1e-20, 0.5, -0.5, np.nan, np.inf])
def test_blank_out_of_range(level, blank):
    layout = random_batch(LENGTHS, V=10).layout(padded=False)
    for form in (fused, two_op, in_chunks):
        loss, gradient = form(layout, blank=blank)
        assert np.isnan(loss).all()
        assert (gradient == 0).all() or form is in_chunks  # rows alone do not know their sample


@pytest.mark.parametrize("form", [fused, two_op])
@pytest.mark.parametrize("upstream", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("V", [5, 10, 40])
def test_a_gradient_of_zero_stays_zero_whatever_comes_from_upstream(level, form, upstream, V):
    """A loss of NaN or inf has an upstream gradient of that kind, as in the mean of its square."""
    batch = random_batch(LENGTHS, V=V)
    layout = batch.layout(padded=False)
    layout[1][0, 1] = V  # no class
    rows = np.cumsum([0, *(T * (U + 1) for T, U in LENGTHS)])
    layout[0][rows[1] : rows[2], layout[1][1, 0]] = -np.inf  # no path emits the first label
    dloss = np.array([upstream, upstream, 2.0], np.float32)
    expected = rnnt_loss_reference(*batch.alone(2).layout(False))
    loss, gradient = form(layout, dloss)
    assert np.isnan(loss[0]) and loss[1] == np.inf
    assert (gradient[: rows[2]] == 0).all()
    assert report("loss", loss[2:], expected[0]) < 1e-6
    assert report("gradient", gradient[rows[2] :], 2 * expected[1]) < 1e-6


def test_empty_tensors(level):
    params = pack_params()
    none = np.zeros(0, np.int32)
    loss, grad = poisoned(0), poisoned((0, 5))
    run_op("RnntFused", [grad, np.zeros((0, 3), np.int32), none, none, params], [loss, grad])
    for shape in ((0, 5), (2, 0, 3, 5), (2, 3, 0, 5), (2, 3, 4, 0)):
        two = np.array([1, 1], np.int32)
        loss, grad = poisoned(2), poisoned(shape)
        run_op("RnntFused", [grad, np.zeros((2, 3), np.int32), two, two, params], [loss, grad])
        assert np.isnan(loss).all() and (grad == 0).all()
    run_op("RnntRowStats", [poisoned((0, 5)), none, params], [poisoned((0, 4))])
    run_op("RnntRowStats", [poisoned((2, 0)), two, params], [poisoned((2, 4))])


def test_anything_goes(level):
    """Random values between guards: no crash, no write outside, no output left unwritten."""
    rng = np.random.default_rng(0)
    odd = np.array([INT_MIN, -2, -1, 0, 1, 2, 3, 4, 5, 9, INT_MAX])
    for _ in range(400):
        B, V, max_t, max_u = (int(rng.integers(1, n)) for n in (4, 20, 5, 5))
        padded = rng.integers(2)
        logit_lengths, target_lengths = rng.choice(odd, (2, B)).astype(np.int32)
        targets = rng.choice(odd, (B, max_u - 1)).astype(np.int32)
        shape = (B, max_t, max_u, V) if padded else (int(rng.integers(1, 30)), V)
        logits = rng.standard_normal(shape).astype(np.float32)
        params = pack_params(rng.integers(-V, V), rng.normal(), bool(rng.integers(2)))
        inputs = [logits, targets, logit_lengths, target_lengths, params]
        rows = logits.size // V
        (loss, guard_loss), (grad, guard_grad) = guarded((B,)), guarded(shape)
        run_op("RnntFused", inputs, [loss, grad])
        assert not np.isnan(grad).any(), "every row is written, and none is NaN"
        (state, guard_state), (two_op_grad, guard_two) = guarded((rows, 5)), guarded(shape)
        run_op("RnntForward", inputs, [loss, state])
        run_op("RnntBackward", [*inputs, state, np.ones(B, np.float32)], [two_op_grad])
        assert np.array_equal(grad, two_op_grad)
        stats = rng.standard_normal((rows, 4)).astype(np.float32)
        coefficients, guard_coefficients = guarded((rows, 3))
        run_op("RnntLattice", [stats, logit_lengths, target_lengths, params], [loss, coefficients])
        row_labels = rng.choice(odd, rows).astype(np.int32)
        flat = logits.reshape(rows, V)
        stats, guard_stats = guarded((rows, 4))
        run_op("RnntRowStats", [flat, row_labels, params], [stats])
        dloss = np.ones(rows, np.float32)
        dlogits, guard_rows = guarded((rows, V))
        run_op("RnntRowGrad", [flat, row_labels, stats, coefficients, dloss, params], [dlogits])
        guards = (
            guard_loss,
            guard_grad,
            guard_state,
            guard_two,
            guard_coefficients,
            guard_stats,
            guard_rows,
        )
        assert all((guard == 1234.5).all() for guard in guards)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: np.float64}, "'logits' must be float32, float16 or bfloat16, but got float64"),
        ({1: np.int64}, "'targets' must be int32, but got int64"),
        ({2: np.float32}, "'logit_lengths' must be int32, but got float32"),
        ({4: np.float16}, "'params' must be float32, but got float16"),
    ],
)
def test_dtypes_that_are_refused(change, message):
    inputs = [*random_batch(LENGTHS, V=10).layout(padded=False), pack_params()]
    for i, dtype in change.items():
        inputs[i] = inputs[i].astype(dtype)
    with pytest.raises(RuntimeError, match=message):
        run_op("RnntFused", inputs, [poisoned(3), poisoned(inputs[0].shape)])


def test_shapes_that_are_refused():
    inputs = [*random_batch(LENGTHS, V=10).layout(padded=False), pack_params()]
    outputs = [poisoned(3), poisoned(inputs[0].shape)]

    def refused(i, array, message):
        with pytest.raises(RuntimeError, match=message):
            run_op("RnntFused", [*inputs[:i], array, *inputs[i + 1 :]], outputs)

    refused(
        0,
        inputs[0][None],
        r"'logits' must be of shape \(3, any, any, any\), but got shape \(1, 44, 10\)",
    )
    refused(1, inputs[1][:2], r"'targets' must be of shape \(3, any\), but got shape \(2, 3\)")
    refused(2, inputs[2][None], r"'logit_lengths' must be of shape \(any,\)")
    refused(3, inputs[3][:2], r"'target_lengths' must be of shape \(3,\), but got shape \(2,\)")
    refused(4, pack_params()[:7], r"'params' must be of shape \(8,\), but got shape \(7,\)")
    with pytest.raises(RuntimeError, match=r"'grad' must be of as many entries as the logits, 440"):
        run_op("RnntFused", inputs, [outputs[0], poisoned((2, 10))])
    with pytest.raises(
        RuntimeError, match=r"'RnntFused', the number of tensors must be 7, but got 6"
    ):
        run_op("RnntFused", inputs, outputs[:1])


def check_bad_sample(got, expected, batch, b, padded):
    """Sample b has loss NaN and gradient +0; all others are as expected."""
    loss, gradient = got
    rows = [T * U1 for T, U1, _ in (s.shape for s in batch.samples)]
    owner = np.arange(len(rows)) if padded else np.repeat(np.arange(len(rows)), rows)
    others = np.arange(len(rows)) != b
    assert np.isnan(loss[b]) and (gradient[owner == b] == 0).all()
    assert report("other losses", loss[others], expected[0][others]) <= 1e-5
    assert report("other gradients", gradient[owner != b], expected[1][owner != b]) <= 2e-6


def chunks_with_lengths(layout, T, U):
    """The chunked form on rows whose labels are known, but with the wrong lengths of sample 1."""
    logits, _, logit_lengths, target_lengths = layout
    params, n = pack_params(), len(logits)
    logit_lengths[1], target_lengths[1] = T, U
    labels, loss = np.zeros(n, np.int32), poisoned(3)
    stats, coefficients, dlogits = poisoned((n, 4)), poisoned((n, 3)), poisoned(logits.shape)
    run_op("RnntRowStats", [logits, labels, params], [stats])
    run_op("RnntLattice", [stats, logit_lengths, target_lengths, params], [loss, coefficients])
    dloss = np.ones(n, np.float32)
    run_op("RnntRowGrad", [logits, labels, stats, coefficients, dloss, params], [dlogits])
    return loss, dlogits


def guarded(shape):
    """A NaN-filled output and the memory on both sides of it."""
    size, margin = int(np.prod(shape)), 64
    memory = np.full(size + 2 * margin, 1234.5, np.float32)
    memory[margin : margin + size] = np.nan
    guard = np.lib.stride_tricks.as_strided(
        memory, (2, margin), ((size + margin) * memory.itemsize, memory.itemsize)
    )
    return memory[margin : margin + size].reshape(shape), guard
