# SPDX-License-Identifier: Apache-2.0
"""What only the operators themselves can be given: empty and wrong tensors, and random values. More
bad values are in mindspore_rnnt/conformance/bad_values.py."""

import numpy as np
import pytest
from kernel.launch import lattice, poisoned, row_grad, row_stats
from oracles import random_batch

from mindspore_rnnt.native import pack_params, run_op

LENGTHS = [(5, 3), (4, 2), (6, 1)]
INT_MIN, INT_MAX = -(2**31), 2**31 - 1


@pytest.mark.parametrize(
    ("T", "U"),
    [(3, 2), (5, 2), (0, 2), (-4, 2), (4, 1), (4, 3), (4, -1), (INT_MAX, INT_MAX), (INT_MIN, 0)],
)
def test_chunks_of_rows_that_do_not_add_up(level, T, U):
    """Rows with labels, but wrong lengths for sample 1 in the lattice."""
    logits, _, logit_lengths, target_lengths = random_batch(LENGTHS, V=10).layout(padded=False)
    logit_lengths[1], target_lengths[1] = T, U
    labels = np.zeros(len(logits), np.int32)
    stats = row_stats(logits, labels)
    loss, coefficients = lattice(stats, logit_lengths, target_lengths)
    assert np.isnan(loss).all()
    assert (row_grad(logits, labels, stats, coefficients) == 0).all()


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


def guarded(shape):
    """A NaN-filled output and the memory on both sides of it."""
    size, margin = int(np.prod(shape)), 64
    memory = np.full(size + 2 * margin, 1234.5, np.float32)
    memory[margin : margin + size] = np.nan
    guard = np.lib.stride_tricks.as_strided(
        memory, (2, margin), ((size + margin) * memory.itemsize, memory.itemsize)
    )
    return memory[margin : margin + size].reshape(shape), guard
