# SPDX-License-Identifier: Apache-2.0
"""Losses and gradients against every path, published values, the closed form and float64."""

from __future__ import annotations

import itertools

import numpy as np

from .batches import Batch, ramp, random_batch
from .oracles import closed_form, enumerate_paths
from .statement import WHOLE_FORMS, statement

LOG_PROBS = {"fused_log_softmax": False}
# Around the lanes of a SIMD level and of a vector core, a cache line, and chunks of a row.
VOCABULARIES = (2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 50, 64, 65, 127, 129, 512, 1023, 5003)


@statement(blank=(0, 2, -1), padded=(False, True), log_softmax=(True, False))
def every_path(run, blank, padded, log_softmax):
    """The sum over all paths, walked one by one."""
    lengths = list(itertools.product((1, 2, 4), (0, 1, 4)))
    batch = random_batch(lengths, V=5, seed=1, blank=blank)
    options = {"blank": blank, "fused_log_softmax": log_softmax}
    found = [enumerate_paths(s, y, **options) for s, y in zip(batch.samples, batch.labels)]
    expected = Batch([gradient for _, gradient in found], batch.labels)
    got = run(batch.layout(padded), **options)
    gradient = np.nan_to_num(expected.padded()) if padded else expected.packed()
    run.equals(got, ([loss for loss, _ in found], gradient), batch)


PUBLISHED: tuple = (
    # T, U, V, blank, labels, loss, gradient of the first row; on the ramp, see `batches.ramp`
    (2, 2, 5, 0, [1, 2], 5.859677375, [-0.116986, -0.598768, 0.291710, 0.160094, 0.263950]),
    (2, 2, 5, 1, [1, 2], 5.119183898, [0.107314, -0.823069, 0.291710, 0.160094, 0.263950]),
    (3, 2, 4, 0, [1, 2], 5.203034274, None),
    (2, 1, 4, 0, [3], 3.775288082, None),
    (3, 0, 4, 0, [], 4.625894807, None),
    (2, 4, 5, 0, [1, 2, 3, 4], 8.087708182, None),
)


@statement(index=tuple(range(len(PUBLISHED))))
def published_values(run, index):
    T, U, V, blank, labels, loss, first_row = PUBLISHED[index]
    batch = Batch([np.float32(ramp(T, U + 1, V))], [np.array(labels, np.int32)])
    got_loss, gradient = run(batch.layout(False), blank=blank)
    run.close("loss", got_loss, [loss], run.backend.tolerance.of_losses(np.array([loss]), T + U))
    if first_row:
        run.close("first row", gradient[0], first_row, 1e-6 + run.backend.tolerance.gradient[0][1])


@statement()
def log_probs_have_the_posteriors_as_gradient(run):
    logits = ramp(2, 3, 5)
    log_probs = np.float32(logits - np.log(np.exp(logits).sum(-1, keepdims=True)))
    batch = Batch([log_probs], [np.array([1, 2], np.int32)])
    losses, gradient = run(batch.layout(False), blank=0, **LOG_PROBS)
    run.close("loss", losses, [5.859677375], 2 * run.backend.tolerance.loss)
    run.close("first row", gradient[0], [-0.2243, -0.7757, 0, 0, 0], 1e-4)
    run.close("sum", gradient.sum(), -4, 16 * run.backend.tolerance.gradient[0][1])


@statement(V=VOCABULARIES, padded=(False, True), large=lambda V, padded: V > 512)
def sizes(run, V, padded):
    for seed, lengths in enumerate(
        ([(3, 2)], [(1, 0), (5, 3), (2, 9), (12, 7)], [(23, 5), (1, 5), (4, 0)], [(2, 40), (1, 1)])
    ):
        run.agrees(random_batch(lengths, V, seed), padded, extra=(2, 1))


@statement(V=(1, 3, 8, 17, 50, 129, 1023, 9001), dtype=("float16", "bfloat16"))
def half_precision(run, V, dtype):
    batch = random_batch([(5, 3), (2, 4), (9, 1)], V, seed=V, dtype=dtype)
    run.agrees(batch, dtype=dtype)


OPTIONS = (
    LOG_PROBS,
    {"clamp": 0.05},
    {"fastemit_lambda": 0.4},
    {"clamp": 0.1, "fastemit_lambda": 0.4, **LOG_PROBS},
    {"blank": 1, "clamp": 0.01, "fastemit_lambda": 0.01},
)


@statement(index=tuple(range(len(OPTIONS))), V=(3, 19, 50), padded=(False, True))
def options(run, index, V, padded):
    given = OPTIONS[index]
    batch = random_batch([(7, 3), (1, 2), (16, 6)], V, seed=V, blank=given.get("blank", -1))
    if given.get("fused_log_softmax") is False:  # any numbers: nothing normalises them
        batch.samples = [s - 1.5 for s in batch.samples]
    run.agrees(batch, padded, **given)


@statement(T_U=((1, 0), (1, 1), (1, 7), (2, 5), (7, 1), (1, 40), (40, 1)))
def smallest_and_steepest_lattices(run, T_U):
    run.agrees(random_batch([T_U], V=6))


@statement(padded=(False, True))
def no_labels_at_all(run, padded):
    batch = random_batch([(3, 0), (5, 0)], V=4)
    run.expect(batch.targets().shape == (2, 0), "the targets are empty")
    run.agrees(batch, padded)


@statement()
def one_class(run):
    """With V = 1 every path has probability 1: minus the logarithm of their number."""
    batch = random_batch([(1, 0), (3, 0), (1, 3), (5, 4)], V=1)
    losses, gradient = run(batch.layout(False), blank=0)
    expected = [closed_form(T, U, 1) for T, U in ((1, 0), (3, 0), (1, 3), (5, 4))]
    run.equals((losses, gradient), (expected, np.zeros((len(gradient), 1))), batch)
    run.expect((gradient[:4] == 0).all(), "a single path of probability 1 has gradient 0")


@statement(
    sizes=((1, 0, 5), (1, 64, 3), (150, 40, 16), (300, 40, 128), (40, 300, 100), (2000, 500, 16)),
    forms=("two_op",),
    large=lambda sizes: sizes[0] > 200 or sizes[1] > 200,
)
def closed_form_of_equal_logits(run, sizes):
    """However long the lattice. A plain float32 lattice would be off by 0.14 at T = 2000."""
    T, U, V = sizes
    batch = Batch([np.full((T, U + 1, V), 3.25, np.float32)], [np.zeros(U, np.int32)])
    losses, gradient = run(batch.layout(False))
    expected = closed_form(T, U, V)
    limit = np.spacing(np.float32(expected)) + run.backend.tolerance.closed_form * expected
    run.close("loss", losses, [expected], limit)
    limit = 1e-6 + run.backend.tolerance.of_gradient(np.zeros(1), T + U, "float32")
    run.close("rows sum to 0", gradient.sum(-1), np.zeros(len(gradient)), limit)


@statement(sizes=((400, 90, 20), (2000, 40, 8)), large=lambda sizes: True)
def long_samples(run, sizes):
    T, U, V = sizes
    run.agrees(random_batch([(T, U)], V, seed=1))


@statement(V=(40000, 131072), dtype=("float32", "float16", "bfloat16"), large=lambda V, dtype: True)
def widest_rows(run, V, dtype):
    run.agrees(random_batch([(2, 1), (1, 2)], V, dtype=dtype), dtype=dtype)


@statement(forms=WHOLE_FORMS)
def a_float16_loss_is_float32(run):
    """Each frame costs 3000: the loss is far above float16's 65504."""
    batch = Batch([np.tile(np.float32([0, -3000]), (50, 1, 1))], [np.zeros(0, np.int32)])
    losses, _ = run(batch.layout(False), "float16")
    run.close("loss", losses, [150000], run.backend.tolerance.loss_relative * 150000)


@statement()
def confident_logits(run):
    """Losses near 0 are never negative, and rows of large logits lose nothing."""
    batch = random_batch([(30, 0), (12, 5)], V=17, seed=3, scale=40.0)
    batch.samples[0][:, :, -1] += 400
    losses, _ = run.agrees(batch)
    run.expect((losses >= 0).all(), f"losses {losses} are negative")
    for seed in range(5):
        batch = random_batch([(4, 2), (1, 3), (9, 1)], V=3, seed=seed, scale=20)
        losses, _ = run(batch.layout(False))
        run.expect((losses >= 0).all(), f"losses {losses} are negative")


@statement(shift=(64.0, -64.0, 1000.0))
def shifted_logits(run, shift):
    """A constant in every logit changes nothing but what float32 loses of them."""
    batch = random_batch([(6, 3), (5, 4)], V=11, seed=8)
    batch.samples = [np.float32(s + np.float32(shift)) for s in batch.samples]
    run.agrees(batch)
