# SPDX-License-Identifier: Apache-2.0
"""What the loss means at the edges: infinities, NaN, padding, blanks, options, upstream gradients.

`LOG_SOFTMAX` is the axis of logits against given log-probs.
"""

from __future__ import annotations

import numpy as np

from ..reference import rnnt_loss_reference
from .batches import Batch, ramp, random_batch
from .statement import WHOLE_FORMS, statement

LENGTHS = [(5, 3), (4, 2), (6, 0), (1, 4)]
LAYOUTS, LOG_SOFTMAX = (False, True), (True, False)
DTYPES = ("float32", "float16", "bfloat16")


@statement(padded=LAYOUTS)
def negative_blank_wraps(run, padded):
    for blank, positive in ((-1, 6), (-7, 0), (-3, 4)):
        layout = random_batch(LENGTHS, V=7, blank=positive).layout(padded)
        run.same_bits(f"blank {blank}", run(layout, blank=blank), run(layout, blank=positive))


@statement(padded=LAYOUTS)
def a_blank_among_the_labels_adds_both_arcs(run, padded):
    batch = Batch([np.float32(ramp(2, 3, 5))], [np.array([1, 2], np.int32)])
    losses, gradient = run.agrees(batch, padded, blank=1)
    row = run.backend.tolerance
    run.close("loss", losses, [5.119183898], row.of_losses(losses, 4))
    expected = [0.107314, -0.823069, 0.291710, 0.160094, 0.263950]
    run.close("first row", gradient.reshape(-1, 5)[0], expected, 1e-6 + row.gradient[0][1])
    batch = random_batch([(3, 2), (2, 3), (4, 1)], V=4, blank=1)
    for labels in batch.labels:
        labels[0] = 1
    run.agrees(batch, padded, blank=1)


@statement(fill=(np.nan, np.inf, -np.inf, 1e38), log_softmax=LOG_SOFTMAX, forms=WHOLE_FORMS)
def padding_is_not_read_and_gets_zero(run, fill, log_softmax):
    batch = random_batch(LENGTHS, V=23)
    _, *rest = batch.layout(True, 2, 3)
    losses, gradient = run((batch.padded(2, 3, fill), *rest), fused_log_softmax=log_softmax)
    own, padding = batch.split(gradient)
    run.expect((padding == 0).all() and not np.signbit(padding).any(), "the padding has +0")
    packed = losses, np.concatenate([rows.reshape(-1, 23) for rows in own])
    run.same_bits("packed", packed, run(batch.layout(False), fused_log_softmax=log_softmax))


@statement(padded=LAYOUTS, log_softmax=LOG_SOFTMAX)
def minus_infinity_is_a_probability_of_zero(run, padded, log_softmax):
    batch = random_batch(LENGTHS, V=21)
    batch.samples[0][1:3, 1, batch.labels[0][1]] = -np.inf  # label arcs
    batch.samples[0][0, :2, -1] = -np.inf  # blank arcs
    batch.samples[1][2, 1, :] = np.where(np.arange(21) < 19, -np.inf, batch.samples[1][2, 1])
    batch.labels[1][:] = 19
    losses, gradient = run.agrees(batch, padded, fused_log_softmax=log_softmax)
    own, _ = batch.split(gradient)
    run.expect(np.isfinite(losses).all(), f"losses {losses} are finite")
    run.expect(np.isfinite(np.concatenate([g.ravel() for g in own])).all(), "gradient is finite")
    for rows, sample in zip(own, batch.samples):
        run.expect((rows[np.isneginf(sample)] == 0).all(), "the gradient of -inf is 0")


IMPOSSIBLE = {
    "no final blank": lambda sample, labels: sample[-1:, -1:, -1].fill(-np.inf),
    "no second label": lambda sample, labels: sample[:, 1, labels[1]].fill(-np.inf),
    "no blank": lambda sample, labels: sample[..., -1].fill(-np.inf),
}


@statement(
    why=tuple(IMPOSSIBLE), padded=LAYOUTS, log_softmax=LOG_SOFTMAX, zero_infinity=(False, True)
)
def an_impossible_sample(run, why, padded, log_softmax, zero_infinity):
    """Its loss is infinite (or 0 with `zero_infinity`), its gradient 0."""
    batch = random_batch(LENGTHS, V=9)
    IMPOSSIBLE[why](batch.samples[1], batch.labels[1])
    options = {"fused_log_softmax": log_softmax, "zero_infinity": zero_infinity}
    losses, gradient = run.agrees(batch, padded, **options)
    run.expect(losses[1] == (0 if zero_infinity else np.inf), f"loss {losses[1]}")
    run.expect((batch.split(gradient)[0][1] == 0).all(), "its gradient is 0")


POISON = {"NaN": np.nan, "inf": np.inf, "row of -inf": None}


@statement(poison=tuple(POISON), V=(7, 37, 700), padded=LAYOUTS)
def a_sample_without_softmax_is_nan_and_alone(run, poison, V, padded):
    batch = random_batch(LENGTHS, V)
    clean = run(batch.layout(padded))
    for column in (0, V // 2, V - 1):
        batch = random_batch(LENGTHS, V)
        if poison == "row of -inf":
            batch.samples[1][2, 1, :] = -np.inf
        else:
            batch.samples[1][2, 1, column] = POISON[poison]
        got = run.agrees(batch, padded)
        expect_nan_alone(run, batch, got, clean, 1)


@statement(value=(np.nan, np.inf), dtype=DTYPES[1:])
def nan_and_infinity_in_half_precision(run, value, dtype):
    batch = random_batch(LENGTHS, V=37, dtype=dtype)
    clean = run(batch.layout(False), dtype)
    batch.samples[1][0, 0, 36] = value
    expect_nan_alone(run, batch, run(batch.layout(False), dtype), clean, 1)


def expect_nan_alone(run, batch, got, clean, b):
    """Sample b is NaN, every other has the bits of `clean`."""
    losses, gradient = got
    own, padding = batch.split(gradient)
    run.expect(np.isnan(losses[b]) and np.isnan(own[b]).all(), f"sample {b} is NaN")
    run.expect((padding == 0).all(), "the padding has 0")
    others = [other for other in range(len(own)) if other != b]
    clean_own, _ = batch.split(clean[1])
    run.expect(np.array_equal(losses[others], clean[0][others]), "the other losses are unchanged")
    for other in others:
        run.expect(np.array_equal(own[other], clean_own[other]), f"sample {other} is unchanged")


@statement(padded=LAYOUTS)
def log_probs_are_read_on_their_arcs_only(run, padded):
    """Other entries may hold anything; in the last column of a sample no label is read."""
    batch = random_batch(LENGTHS, V=12)
    for labels in batch.labels:
        labels[:] = 4
    options = {"fused_log_softmax": False}
    clean = run.agrees(batch, padded, **options)
    for sample in batch.samples:
        sample[..., [0, 1, 7, 9]] = [np.nan, np.inf, -np.inf, 1e38]
        sample[:, -1, 4] = np.nan
    got = run(batch.layout(padded), **options)
    run.same_bits("other entries", got, clean)
    unread = np.setdiff1d(np.arange(12), [4, 11])
    run.expect((got[1][..., unread] == 0).all(), "their gradient is 0")
    for value in (np.nan, np.inf):
        for t, u, k in ((2, 1, 11), (2, 1, 4), (3, 1, 11)):  # the last: no path has this blank
            bad = Batch([s.copy() for s in batch.samples], batch.labels)
            bad.samples[1][t, u, k] = value
            expect_nan_alone(run, bad, run(bad.layout(padded), **options), clean, 1)


@statement(log_softmax=LOG_SOFTMAX)
def fastemit(run, log_softmax):
    """Posteriors of labels count more in the gradient; the loss is unscaled."""
    batch = random_batch(LENGTHS, V=11)
    options = {"fused_log_softmax": log_softmax}
    plain = run.agrees(batch, **options)
    run.same_bits("lambda 0", run(batch.layout(False), fastemit_lambda=0.0, **options), plain)
    losses, gradient = run.agrees(batch, fastemit_lambda=0.5, **options)
    run.expect(np.array_equal(losses, plain[0]), "the loss is unscaled")
    run.expect(not np.array_equal(gradient, plain[1]), "the gradient is not")
    if log_softmax:
        limit = 1e-6 + run.backend.tolerance.gradient[0][1]
        run.close("rows sum to 0", gradient.sum(-1), np.zeros(len(gradient)), limit)


@statement(padded=LAYOUTS)
def clamp_comes_before_the_upstream_gradient(run, padded):
    batch = random_batch(LENGTHS, V=11)
    layout = batch.layout(padded)
    weights = np.float32([100.0, -7.0, 1e-3, 1.0])
    losses, unit = rnnt_loss_reference(*layout, clamp=0.02, reduction="none")
    run.expect(np.abs(unit).max() == 0.02, "the clamp has something to do")
    losses_got, gradient = run(layout, dloss=weights, clamp=0.02)
    scaled = gradient / batch.per_row(weights, gradient)
    run.equals((losses_got, scaled), (losses, unit), batch)


@statement(scale=(1.0, 7.0, -2.0, 65536.0, 0.0), padded=LAYOUTS)
def the_gradient_scales_with_the_upstream_gradient(run, scale, padded):
    """Loss scaling and weights reach the logits; 0 gives an exact 0."""
    batch = random_batch(LENGTHS, V=7)
    layout = batch.layout(padded, 1, 1)
    weights = np.float32(scale) * np.float32([1.0, -3.0, 0.5, 0.0])
    got = run(layout, dloss=weights)
    expected = rnnt_loss_reference(*layout, reduction="none")
    run.equals(got, expected, batch, scale=batch.per_row(weights, expected[1]))
    own, _ = batch.split(got[1])
    run.expect((own[3] == 0).all() and (scale != 0 or (got[1] == 0).all()), "0 gives an exact 0")


@statement(zero=(0.0, -0.0), padded=LAYOUTS)
def a_weight_of_zero_drops_a_nan_sample(run, zero, padded):
    batch = random_batch(LENGTHS, V=19)
    batch.samples[1][:] = np.nan
    layout = batch.layout(padded)
    _, gradient = run(layout, dloss=np.float32([1, zero, -2, 1]))
    own, _ = batch.split(gradient)
    run.expect((own[1] == 0).all() and not np.signbit(own[1]).any(), "its gradient is +0")
    run.expect(np.isfinite(gradient).all(), "the rest is finite")
    _, unit = rnnt_loss_reference(*batch.alone(2).layout(False), reduction="none")
    limit = 2 * run.backend.tolerance.gradient[0][1]
    run.close("sample 2", own[2], -2 * unit.reshape(own[2].shape), limit)


@statement(upstream=(np.inf, -np.inf, np.nan), V=(5, 10, 40), forms=WHOLE_FORMS)
def a_gradient_of_zero_stays_zero(run, upstream, V):
    """A loss of NaN or inf has an upstream gradient of that kind, as in the mean of its square."""
    batch = random_batch([(5, 3), (4, 2), (6, 1)], V)
    batch.samples[1][:, 0, batch.labels[1][0]] = -np.inf  # no path
    logits, targets, *lengths = batch.layout(False)
    targets[0, 1] = V  # no class
    layout = (logits, targets, *lengths)
    losses, gradient = run(layout, dloss=np.float32([upstream, upstream, 2.0]))
    own, _ = batch.split(gradient)
    run.expect(np.isnan(losses[0]) and losses[1] == np.inf, f"losses {losses}")
    run.expect((own[0] == 0).all() and (own[1] == 0).all(), "their gradient is 0")
    _, unit = rnnt_loss_reference(*batch.alone(2).layout(False), reduction="none")
    limit = 2 * run.backend.tolerance.gradient[0][1]
    run.close("sample 2", own[2], 2 * unit.reshape(own[2].shape), limit)


@statement()
def alpha_and_beta_must_agree(run):
    """Log-probs of magnitudes that do not add up: 1e30 - 1e30 + 5 depends on the order."""
    batch = random_batch([(5, 3), (3, 0), (6, 1)], V=4)
    clean = run(batch.layout(False), fused_log_softmax=False)
    batch.samples[1] = np.full((3, 1, 4), -1.0, np.float32)
    batch.samples[1][:, 0, 3] = [1e30, -1e30, 5.0]
    if not run.backend.reports_mismatch or run.form == "chunked":
        got = run(batch.layout(False), fused_log_softmax=False)
        return expect_nan_alone(run, batch, got, clean, 1)
    try:
        run(batch.layout(False), fused_log_softmax=False)
    except RuntimeError as error:
        run.expect("the loss of sample 1 is" in str(error), str(error))
    else:
        run.expect(False, "no error")
