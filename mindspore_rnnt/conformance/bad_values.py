# SPDX-License-Identifier: Apache-2.0
"""Lengths and labels that no check stopped, as in a compiled graph: their sample has loss NaN and
gradient 0, and the rest of the batch is right."""

from __future__ import annotations

import numpy as np

from .batches import random_batch
from .statement import WHOLE_FORMS, statement

LENGTHS = [(5, 3), (4, 2), (6, 1)]
INT_MIN, INT_MAX = -(2**31), 2**31 - 1
LAYOUTS, LOG_SOFTMAX = (False, True), (True, False)


@statement(
    label=(-1, 10, 99999, INT_MIN, INT_MAX),
    position=(0, 1),
    padded=LAYOUTS,
    log_softmax=LOG_SOFTMAX,
    forms=WHOLE_FORMS,
)
def a_label_that_is_no_class(run, label, position, padded, log_softmax):
    batch = random_batch(LENGTHS, V=10)
    clean = run.agrees(batch, padded, fused_log_softmax=log_softmax)
    layout = batch.layout(padded)
    layout[1][1, position] = label
    expect_bad_sample(run, batch, run(layout, fused_log_softmax=log_softmax), clean, 1)


@statement(label=(10, 99999, INT_MAX), forms=("chunked",))
def a_row_label_that_is_no_class(run, label):
    """The sample's rows only carry the label, so only its loss can be NaN, and its gradient is
    whatever the other labels say: it counts with an upstream gradient of 0."""
    batch = random_batch(LENGTHS, V=10)
    clean = run.agrees(batch)
    layout = batch.layout(False)
    layout[1][1, 1] = label
    expect_bad_sample(run, batch, run(layout, dloss=np.float32([1, 0, 1])), clean, 1)


@statement(
    T_U=(
        (0, 2),
        (-1, 2),
        (7, 2),
        (INT_MAX, 2),
        (INT_MIN, 2),
        (4, -1),
        (4, 4),
        (4, INT_MAX),
        (INT_MIN, INT_MIN),
    ),
    log_softmax=LOG_SOFTMAX,
    forms=WHOLE_FORMS,
)
def a_padded_length_out_of_range(run, T_U, log_softmax):
    batch = random_batch(LENGTHS, V=10)
    clean = run.agrees(batch, padded=True, fused_log_softmax=log_softmax)
    layout = batch.layout(True)
    layout[2][1], layout[3][1] = T_U
    expect_bad_sample(run, batch, run(layout, fused_log_softmax=log_softmax), clean, 1)


@statement(
    T_U=(
        (3, 2),
        (5, 2),
        (0, 2),
        (-4, 2),
        (4, 1),
        (4, 3),
        (4, -1),
        (INT_MAX, INT_MAX),
        (INT_MIN, 0),
    ),
    forms=WHOLE_FORMS,
)
def packed_rows_that_do_not_add_up(run, T_U):
    """No row can be placed: every loss is NaN, every gradient 0."""
    layout = random_batch(LENGTHS, V=10).layout(False)
    layout[2][1], layout[3][1] = T_U
    for dloss in (None, np.float32([1, -2, 3])):
        losses, gradient = run(layout, dloss=dloss)
        run.expect(np.isnan(losses).all() and (gradient == 0).all(), f"losses {losses}")


@statement(forms=WHOLE_FORMS)
def more_labels_than_the_targets_hold(run):
    """The packed rows add up, but the last label of sample 1 is missing."""
    batch = random_batch([(3, 2), (4, 3), (3, 1)], V=9)
    clean = run.agrees(batch)
    logits, targets, *lengths = batch.layout(False)
    expect_bad_sample(run, batch, run((logits, targets[:, :2].copy(), *lengths)), clean, 1)


@statement(blank=(10, -11, 1e20, -1e20, 0.5, -0.5, -1e-20, np.nan, np.inf))
def a_blank_that_is_no_class(run, blank):
    layout = random_batch(LENGTHS, V=10).layout(False)
    try:
        losses, gradient = run(layout, blank=blank)
    except (ValueError, TypeError) as error:
        return run.expect(run.backend.refuses_options, str(error))
    run.expect(np.isnan(losses).all(), f"losses {losses}")
    # A chunk of rows has no sample, and thus no loss that could be NaN.
    run.expect((gradient == 0).all() or run.form == "chunked", "the gradient is 0")


def expect_bad_sample(run, batch, got, clean, b):
    """Sample b has loss NaN and gradient 0; all others have the bits of `clean`."""
    losses, gradient = got
    own, padding = batch.split(gradient)
    run.expect(np.isnan(losses[b]) and (own[b] == 0).all(), f"sample {b} has NaN and gradient 0")
    run.expect((padding == 0).all(), "the padding has 0")
    expected, _ = batch.split(clean[1])
    for other in (other for other in range(len(own)) if other != b):
        one = losses[other], own[other]
        run.same_bits(f"sample {other}", one, (clean[0][other], expected[other]))
