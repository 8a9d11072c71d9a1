# SPDX-License-Identifier: Apache-2.0
"""Packed and padded layouts, and the indices between them."""

import mindspore as ms
import numpy as np
import pytest
from calls import numbers
from mindspore import Tensor
from oracles import random_batch

from mindspore_rnnt import pack_logits, packed_indices, rnnt_loss, unpack_logits

LENGTHS = [(5, 3), (1, 0), (4, 2), (2, 5)]


def test_packed_indices_by_hand():
    frame_rows, step_rows = packed_indices([2, 1], [1, 2], max_t=3, max_u=4)
    # (b, t, u): 000 001 010 011 | 100 101 102, with b * 3 + t and b * 5 + u
    assert frame_rows.tolist() == [0, 0, 1, 1, 3, 3, 3]
    assert step_rows.tolist() == [0, 1, 0, 1, 5, 6, 7]
    assert frame_rows.dtype == step_rows.dtype == np.int32


def test_packed_indices_take_the_longest_sample_by_default():
    T, U = zip(*LENGTHS)
    default, given = packed_indices(T, U), packed_indices(np.array(T), list(U), 5, 5)
    assert all(np.array_equal(a, b) for a, b in zip(default, given))
    assert len(default[0]) == sum(t * (u + 1) for t, u in LENGTHS)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ([2**62, 1], [3, 0]),
            r"must be at most 2\*\*31 - 1, but got 4611686018427387904",
        ),
        (([1, 1], [0, 2**31]), r"'target_lengths' must be at most 2\*\*31 - 1.*in sample 1"),
        (([1, 1], [0, 0], 2**30 + 1, 1), "'max_t' must be at most 1073741824, .*got 1073741825"),
        (([1, 1], [0, 0], 1, 2**30), "'max_u' must be at most 1073741823, .*got 1073741824"),
    ],
)
def test_sizes_that_would_overflow(arguments, message):
    with pytest.raises(ValueError, match=message):
        packed_indices(*arguments)


def test_lengths_with_rows_that_wrap_to_those_of_the_logits():
    """2**62 * 4 + 1 rows are 1 row in int64."""
    logits, targets = Tensor(np.zeros((1, 5), np.float32)), Tensor(np.zeros((2, 3), np.int32))
    lengths = Tensor(np.array([2**62, 1])), Tensor(np.array([3, 0]))
    with pytest.raises(
        ValueError, match=r"'logits' must be of as many rows .* 18446744073709551617"
    ):
        rnnt_loss(logits, targets, *lengths)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_pack_and_unpack(dtype):
    batch = random_batch(LENGTHS, V=6, dtype=dtype)
    lengths = Tensor(batch.logit_lengths), Tensor(batch.target_lengths)
    packed = pack_logits(Tensor(batch.padded(2, 1)).astype(getattr(ms, dtype)), *lengths)
    assert np.array_equal(numbers(packed), batch.packed())
    padded = unpack_logits(packed, *lengths, fill=-7)
    assert padded.dtype == packed.dtype
    assert np.array_equal(numbers(padded), batch.padded(fill=-7))


def test_gradients_reach_every_row_once_and_no_padding():
    batch = random_batch(LENGTHS, V=6)
    lengths = Tensor(batch.logit_lengths), Tensor(batch.target_lengths)
    rng = np.random.default_rng(0)
    of_packed = Tensor(rng.standard_normal(batch.packed().shape).astype(np.float32))
    of_padded = Tensor(rng.standard_normal(batch.padded().shape).astype(np.float32))

    def pack(x):
        return (pack_logits(x, *lengths) * of_packed).sum()

    def unpack(x):
        return (unpack_logits(x, *lengths) * of_padded).sum()

    gradient = numbers(ms.grad(pack)(Tensor(batch.padded())))
    mask = batch.padded_mask()
    assert np.array_equal(gradient[mask], numbers(of_packed).ravel())
    assert (gradient[~mask] == 0).all()
    gradient = numbers(ms.grad(unpack)(Tensor(batch.packed())))
    assert np.array_equal(gradient.ravel(), numbers(of_padded)[mask])


TWO_SAMPLES = Tensor(np.zeros((2, 3, 2, 5), np.float32))

BAD = [
    (
        lambda: packed_indices([2, 0], [1, 1]),
        "'logit_lengths' must be at least 1.*got 0 in sample 1",
    ),
    (lambda: packed_indices([2], [-1]), "'target_lengths' must be at least 0.*got -1 in sample 0"),
    (lambda: packed_indices([2, 4], [1, 1], max_t=3), "at most max_t = 3, but got 4 in sample 1"),
    (lambda: packed_indices([2, 4], [1, 2], max_u=1), "at most max_u = 1, but got 2 in sample 1"),
    (lambda: packed_indices([2, 4], [1]), "same length, but got 2 and 1"),
    (lambda: packed_indices([], []), "B >= 1"),
    (lambda: pack_logits(Tensor(np.zeros((6, 5), np.float32)), [3], [1]), "rank 4.*6, 5"),
    (
        lambda: unpack_logits(Tensor(np.zeros((7, 5), np.float32)), [3], [1]),
        r"shape \(6, V\).*but got \(7, 5\)",
    ),
    (lambda: unpack_logits(Tensor(np.zeros((0, 5), np.float32)), [], []), "B >= 1"),
    (lambda: pack_logits(TWO_SAMPLES, [3], [1]), "must be of 2 samples.*but got 1 samples"),
    (lambda: pack_logits(TWO_SAMPLES, [3] * 3, [1] * 3), "must be of 2 samples.*got 3 samples"),
    (
        lambda: pack_logits(TWO_SAMPLES, [3, 4], [1, 1]),
        r"For 'pack_logits', the 'logit_lengths' must be in \[1, 3\], "
        "as the shape of 'padded' allows, but got 4 in sample 1",
    ),
    (
        lambda: pack_logits(TWO_SAMPLES, [3, 3], [2, 1]),
        r"For 'pack_logits', the 'padded' must be of shape .* with max_U \+ 1 >= 3, as "
        "'target_lengths' reach 2, but got 2 in shape",
    ),
    (
        lambda: pack_logits(TWO_SAMPLES, [3, 3], [3, 1]),
        r"For 'pack_logits', the 'target_lengths' must be in \[0, 1\], "
        "as the shape of 'padded' allows, but got 3 in sample 0",
    ),
    (lambda: unpack_logits(TWO_SAMPLES, [3, 0], [1, 1]), "For 'unpack_logits', .*0 in sample 1"),
]

WRONG_TYPES = [
    (lambda: packed_indices([2.5], [1]), "'logit_lengths' must hold ints, but got float64"),
    (lambda: packed_indices([2], [True]), "'target_lengths' must hold ints, but got bool"),
    (lambda: packed_indices([2], [1], max_t="2"), "'max_t' must be an int, but got str"),
    (lambda: packed_indices([2], [1], max_u=1.0), "'max_u' must be an int, but got float"),
    (lambda: pack_logits(np.zeros((1, 3, 2, 5)), [3], [1]), "'padded' must be a Tensor.*ndarray"),
    (lambda: unpack_logits(np.zeros((6, 5)), [3], [1]), "'packed' must be a Tensor.*ndarray"),
]


@pytest.mark.parametrize("call, message", BAD)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("call, message", WRONG_TYPES)
def test_wrong_types(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("function", [pack_logits, unpack_logits])
def test_a_graph_is_refused(function):
    rows = Tensor(np.zeros((1, 2, 2, 3) if function is pack_logits else (4, 3), np.float32))
    with pytest.raises(RuntimeError, match=f"'{function.__name__}', a graph cannot be compiled"):
        ms.jit(function)(rows, Tensor([2]), Tensor([1]))


def test_an_error_inside_a_gradient_leaves_the_next_compiled_gradient_right():
    def pack_too_few(x):
        return pack_logits(x, [3], [1]).sum()

    @ms.jit
    def square(x):
        return (x * x).sum()

    with pytest.raises(ValueError, match="2 samples"):
        ms.grad(pack_too_few)(TWO_SAMPLES)
    gradient = ms.jit(ms.grad(square))(TWO_SAMPLES + 3)
    assert (numbers(gradient) == 6).all()
