# SPDX-License-Identifier: Apache-2.0
"""Every SIMD level, form, layout and dtype against path enumeration and the float64 reference."""

import itertools

import numpy as np
import pytest
from kernel.launch import FORMS, fused, in_chunks, same_bits, stored, two_op
from oracles import (
    TOLERANCE,
    Batch,
    closed_form,
    enumerate_paths,
    ramp,
    random_batch,
    report,
    rnnt_loss_reference,
)

# Around 4, 8 and 16 lanes and a cache line, and beyond one chunk of a row (4096 float32).
VOCABULARIES = (2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 50, 127, 129, 1023, 5000)
BATCHES = (
    [(3, 2)],
    [(1, 0), (5, 3), (2, 9), (12, 7)],
    [(37, 5), (1, 5), (4, 0)],
    [(2, 64), (1, 1)],
)


def check(got, expected, dtype="float32"):
    (loss, gradient), (expected_loss, expected_gradient) = got, expected
    scale = np.maximum(np.abs(expected_loss), 1.0)
    assert (
        report("loss, relative", loss / scale, expected_loss / scale) <= TOLERANCE["loss_relative"]
    )
    assert report("gradient", gradient, expected_gradient) <= TOLERANCE["gradient"][dtype]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("blank", [0, 2, -1])
def test_every_path(level, form, blank):
    for T, U in itertools.product((1, 2, 4), (0, 1, 4)):
        batch = random_batch([(T, U)], V=5, seed=10 * T + U, blank=blank)
        loss, gradient = enumerate_paths(batch.samples[0], batch.labels[0], blank)
        got_loss, got_gradient = FORMS[form](batch.layout(padded=False), blank=blank)
        check((got_loss, got_gradient), ([loss], gradient.reshape(-1, 5)))


@pytest.mark.parametrize("V", VOCABULARIES)
@pytest.mark.parametrize("padded", [False, True], ids=["packed", "padded"])
def test_sizes(level, V, padded):
    for seed, lengths in enumerate(BATCHES):
        batch = random_batch(lengths, V, seed)
        layout = batch.layout(padded, extra_t=2, extra_u=1)
        expected = rnnt_loss_reference(*layout)
        check(fused(layout), expected)
        check(two_op(layout), expected)
        if not padded:
            check(in_chunks(layout), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("form", FORMS)
def test_half_precision(level, dtype, form):
    for V in (1, 3, 8, 17, 50, 129, 1023, 9001):
        batch = random_batch([(5, 3), (2, 4), (9, 1)], V, seed=V, dtype=dtype)
        layout = batch.layout(padded=False)
        expected = rnnt_loss_reference(*layout)
        check(FORMS[form]((stored(layout[0], dtype), *layout[1:])), expected, dtype)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "options",
    [
        {"fused_log_softmax": False},
        {"clamp": 0.05},
        {"fastemit_lambda": 0.4},
        {"fused_log_softmax": False, "clamp": 0.1, "fastemit_lambda": 0.4},
        {"blank": 1, "clamp": 0.01, "fastemit_lambda": 0.01},
    ],
    ids=str,
)
def test_options(level, form, options):
    for V in (3, 16, 50):
        batch = random_batch([(7, 3), (1, 2), (20, 6)], V, seed=V, blank=options.get("blank", -1))
        if not options.get("fused_log_softmax", True):
            batch.samples = [s - 1.5 for s in batch.samples]  # any numbers: nothing normalises them
        layout = batch.layout(padded=False)
        check(FORMS[form](layout, **options), rnnt_loss_reference(*layout, **options))


@pytest.mark.parametrize("form", FORMS)
def test_blank_among_the_labels(level, form):
    logits = ramp(2, 3, 5).astype(np.float32)
    batch = Batch([logits], [np.array([1, 2], np.int32)])
    loss, gradient = FORMS[form](batch.layout(padded=False), blank=1)
    expected = [0.107314, -0.823069, 0.291710, 0.160094, 0.263950]
    assert report("loss", loss, [5.119183898]) <= 1e-6
    assert report("gradient[0, 0]", gradient[0], expected) <= 1e-6
    check((loss, gradient), rnnt_loss_reference(*batch.layout(padded=False), blank=1))


def test_one_class(level):
    """V = 1: every path has probability 1, and the loss is minus the logarithm of their number."""
    for T, U in ((1, 0), (1, 3), (5, 4)):
        batch = Batch([np.zeros((T, U + 1, 1), np.float32)], [np.zeros(U, np.int32)])
        loss, gradient = two_op(batch.layout(padded=False), blank=0)
        assert report("loss", loss, [closed_form(T, U, 1)]) <= 1e-6
        assert (
            report("gradient", gradient, np.zeros((T * (U + 1), 1)))
            <= TOLERANCE["gradient"]["float32"]
        )
        assert U > 0 or not np.signbit(loss[0])


@pytest.mark.parametrize(("T", "U", "V"), [(2000, 500, 16), (300, 40, 128), (40, 300, 1000)])
def test_long_lattice_is_exact(level, T, U, V):
    """All-equal logits have a closed form; one float32 ulp, however long the lattice."""
    layout = Batch([np.zeros((T, U + 1, V), np.float32)], [np.ones(U, np.int32)]).layout(False)
    (loss,) = fused(layout)[0]
    expected = closed_form(T, U, V)
    print(f"loss {loss!r}, closed form {expected!r}")
    assert abs(loss - expected) <= np.spacing(np.float32(expected))


def test_confident_logits(level):
    """Losses near 0 are never negative, and rows of large logits lose nothing."""
    batch = random_batch([(30, 0), (12, 5)], V=17, seed=3, scale=40.0)
    batch.samples[0][:, :, -1] += 400
    layout = batch.layout(padded=False)
    loss, gradient = two_op(layout)
    assert (loss >= 0).all()
    check((loss, gradient), rnnt_loss_reference(*layout))


@pytest.mark.parametrize("padded", [False, True], ids=["packed", "padded"])
@pytest.mark.parametrize("fused_log_softmax", [True, False])
def test_forms_have_the_same_bits(level, padded, fused_log_softmax):
    """Also with an upstream gradient: weights may be negative, and 0 drops a sample."""
    batch = random_batch([(7, 3), (1, 0), (12, 9), (3, 2)], V=37, seed=1)
    layout = batch.layout(padded, extra_t=1, extra_u=2)
    dloss = np.array([0.25, -3.0, 1e-3, 0.0], np.float32)
    options = {"clamp": 0.3, "fastemit_lambda": 0.1, "fused_log_softmax": fused_log_softmax}
    one, two = fused(layout, dloss, **options), two_op(layout, dloss, **options)
    assert same_bits(one[0], two[0]) and same_bits(one[1], two[1])
    if not padded:
        three = in_chunks(layout, dloss, **options)
        assert same_bits(one[0], three[0]) and same_bits(one[1], three[1])
