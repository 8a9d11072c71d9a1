# SPDX-License-Identifier: Apache-2.0
"""The same input gives the same bits: for any thread count, batch and layout, after a fork."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from kernel.launch import fused, same_bits, stored, two_op
from oracles import random_batch

from mindspore_rnnt import native

LENGTHS = [(37, 11), (1, 0), (64, 20), (12, 19), (90, 3)]


@pytest.mark.parametrize("V", [50, 257])
@pytest.mark.parametrize("padded", [False, True], ids=["packed", "padded"])
def test_any_thread_count(level, set_threads, V, padded):
    layout = random_batch(LENGTHS, V).layout(padded)
    set_threads(1)
    expected = fused(layout), two_op(layout)
    for threads in (2, 3, 8):
        set_threads(threads)
        assert native.get_num_threads() == threads
        for one, many in zip(expected, (fused(layout), two_op(layout))):
            assert same_bits(one[0], many[0]) and same_bits(one[1], many[1])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_alone_and_in_a_batch(level, dtype):
    batch = random_batch(LENGTHS, V=50, dtype=dtype)
    logits, *rest = batch.layout(padded=False)
    loss, gradient = fused((stored(logits, dtype), *rest))
    row = 0
    for b in range(len(LENGTHS)):
        logits, *rest = batch.alone(b).layout(padded=False)
        alone = fused((stored(logits, dtype), *rest))
        assert same_bits(alone[0], loss[b : b + 1])
        assert same_bits(alone[1], gradient[row : row + len(logits)])
        row += len(logits)


def test_large_gradients_written_around_the_caches(level):
    """16 MB and more; rows begin at every offset within a cache line."""
    for dtype in ("float32", "float16", "bfloat16"):
        V = 1001
        batch = random_batch([(60, 40), (1, 0), (150, 40)], V, dtype=dtype)
        logits, *rest = batch.layout(padded=False)
        loss, gradient = two_op((stored(logits, dtype), *rest))
        assert gradient.size * (4 if dtype == "float32" else 2) > 16 << 20
        first = batch.alone(0).layout(padded=False)
        alone = two_op((stored(first[0], dtype), *first[1:]))
        assert same_bits(alone[0], loss[:1]) and same_bits(alone[1], gradient[: 60 * 41])
        assert not np.isnan(gradient).any()


def test_packed_and_padded(level):
    batch = random_batch(LENGTHS, V=50)
    packed, padded = fused(batch.layout(False)), fused(batch.layout(True, 3, 2))
    assert same_bits(packed[0], padded[0])
    assert same_bits(packed[1].ravel(), padded[1][batch.padded_mask(3, 2)])


def test_callers_at_the_same_time(set_threads):
    """The threads serve one caller; the others work alone."""
    layouts = [random_batch(LENGTHS, V=257, seed=seed).layout(padded=False) for seed in range(3)]
    set_threads(3)
    expected = [fused(layout) for layout in layouts]
    with ThreadPoolExecutor(3) as callers:
        for _ in range(20):
            for (loss, gradient), alone in zip(callers.map(fused, layouts), expected):
                assert same_bits(loss, alone[0]) and same_bits(gradient, alone[1])


def test_after_a_fork(set_threads):
    """Threads do not survive a fork: the child does without them."""
    layout = random_batch(LENGTHS, V=257).layout(padded=False)
    set_threads(2)
    expected = fused(layout)
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that hangs ends with a signal
        loss, gradient = fused(layout)
        right = same_bits(loss, expected[0]) and same_bits(gradient, expected[1])
        os._exit(0 if right and native.get_num_threads() == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert native.get_num_threads() == 2
