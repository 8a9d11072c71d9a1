# SPDX-License-Identifier: Apache-2.0
"""The same input gives the same bits: any number of threads, alone or in a batch, either form."""

import numpy as np
import pytest
from calls import FORMS, loss_and_gradient, tensors
from oracles import random_batch

from mindspore_rnnt import native

LENGTHS = [(37, 9), (61, 4), (1, 0), (50, 17), (2, 30)]


@pytest.fixture
def thread_count():
    yield native.set_num_threads
    native.set_num_threads(0)


def _same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("padded", [False, True], ids=["packed", "padded"])
def test_any_number_of_threads(padded, form, thread_count):
    inputs = tensors(random_batch(LENGTHS, V=129).layout(padded))
    results = []
    for threads in (1, 2, 3, 8):
        thread_count(threads)
        results.append(loss_and_gradient(inputs, form=form, reduction="none"))
    assert all(_same(result, results[0]) for result in results)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("form", FORMS)
def test_alone_or_in_a_batch_packed_or_padded(form, dtype):
    batch = random_batch(LENGTHS, V=129, dtype=dtype)
    loss, gradient = loss_and_gradient(
        tensors(batch.layout(False), dtype), form=form, reduction="none"
    )
    in_padded = loss_and_gradient(
        tensors(batch.layout(True, 3, 2), dtype), form=form, reduction="none"
    )
    assert np.array_equal(loss, in_padded[0])
    assert np.array_equal(gradient.ravel(), in_padded[1][batch.padded_mask(3, 2)])
    row = 0
    for b, sample in enumerate(batch.samples):
        alone = tensors(batch.alone(b).layout(False), dtype)
        rows = sample.shape[0] * sample.shape[1]
        expected = loss[b : b + 1], gradient[row : row + rows]
        assert _same(loss_and_gradient(alone, form=form, reduction="none"), expected)
        row += rows


@pytest.mark.parametrize("weights", [None, [1.0, -3.0, 0.0, 0.3, 7.0]])
def test_both_forms_agree_in_float32(weights):
    inputs = tensors(random_batch(LENGTHS, V=129).layout(False))
    fused, two_op = (
        loss_and_gradient(inputs, weights=weights, form=form, reduction="none") for form in FORMS
    )
    assert _same(fused, two_op)


@pytest.mark.parametrize("level", native.cpu_levels())
@pytest.mark.parametrize("form", FORMS)
def test_every_simd_level_repeats_itself(form, level):
    before = native.cpu_level()
    inputs = tensors(random_batch(LENGTHS, V=129).layout(False))
    native.select_cpu_level(level)
    try:
        first, second = (loss_and_gradient(inputs, form=form) for _ in range(2))
    finally:
        native.select_cpu_level(before)
    assert _same(first, second)
