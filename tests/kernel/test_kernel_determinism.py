# SPDX-License-Identifier: Apache-2.0
"""The same bits where the kernel takes another way: large gradients, several callers, a fork. More
is in mindspore_rnnt/conformance/determinism.py."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from kernel.launch import fused, same_bits, stored, two_op
from oracles import random_batch

from mindspore_rnnt import native

LENGTHS = [(37, 11), (1, 0), (64, 20), (12, 19), (90, 3)]


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
