# SPDX-License-Identifier: Apache-2.0
"""RnntArcPosteriors against the posteriors of the reference, and beside bad samples."""

import numpy as np
from kernel.launch import poisoned, row_stats, same_bits
from oracles import LAYOUTS, labels_of, random_batch, report

from mindspore_rnnt.native import pack_params, run_op
from mindspore_rnnt.reference import rnnt_posteriors_reference

LENGTHS = [(5, 3), (1, 0), (7, 2), (2, 6), (90, 200)]


def arc_posteriors(stats, logit_lengths, target_lengths, least_loss):
    outputs = [poisoned(len(least_loss)), poisoned(stats.shape[:-1]), poisoned(stats.shape[:-1])]
    inputs = [stats, logit_lengths, target_lengths, least_loss, pack_params()]
    run_op("RnntArcPosteriors", inputs, outputs)
    return outputs


def inputs_of(padded, seed=0):
    """A batch, and stats and lengths of it."""
    batch = random_batch(LENGTHS, V=7, seed=seed)
    labels = labels_of(batch, 2, 1)
    if not padded:
        labels = labels[batch.padded_mask(2, 1)[..., 0]]
    layout = (batch.padded(2, 1) if padded else batch.packed(), *batch.layout(padded)[1:])
    return layout, [row_stats(layout[0], labels), *layout[2:]]


@LAYOUTS
def test_against_the_reference(level, padded):
    layout, inputs = inputs_of(padded)
    results = arc_posteriors(*inputs, np.zeros(len(LENGTHS), np.float32))
    right = rnnt_posteriors_reference(*layout)
    assert report("loss", results[0] / right[0], np.ones(len(LENGTHS))) <= 1e-6
    for got, wanted in zip(results[1:], right[1:]):
        assert report("posteriors", got, wanted) <= 2e-6


def test_a_loss_is_never_below_its_bound(level):
    _, inputs = inputs_of(padded=True)
    losses = arc_posteriors(*inputs, np.full(len(LENGTHS), -3e38, np.float32))[0]
    least = np.float32([0, losses[1] + 1, losses[2], losses[3] - 1, 0])
    bounded = arc_posteriors(*inputs, least)[0]
    assert same_bits(bounded, np.maximum(losses, least)) and bounded[1] == losses[1] + 1


@LAYOUTS
def test_a_refused_sample_is_its_own_affair(level, padded):
    _, inputs = inputs_of(padded)
    whole = arc_posteriors(*inputs, np.zeros(len(LENGTHS), np.float32))
    parts = arc_posteriors(*inputs, np.float32([0, 0, np.nan, 0, 0]))
    assert np.isnan(parts[0][2]) and same_bits(np.delete(parts[0], 2), np.delete(whole[0], 2))
    begin = sum(t * (u + 1) for t, u in LENGTHS[:2])
    rows = 2 if padded else slice(begin, begin + 7 * 3)
    for got, wanted in zip(parts[1:], whole[1:]):
        assert not got[rows].any() and wanted[rows].any()
        assert same_bits(np.delete(got, rows, 0), np.delete(wanted, rows, 0))


def test_lengths_that_do_not_fit_write_within_the_outputs(level):
    _, inputs = inputs_of(padded=False)
    for lengths in ([5, 1, 7, 2, 2**31 - 1], [5, 1, 7, 2, -3], [5, 1, 7, 2, 91]):
        inputs[1] = np.int32(lengths)
        loss, blank, label = arc_posteriors(*inputs, np.zeros(len(LENGTHS), np.float32))
        assert np.isnan(loss).all() and not blank.any() and not label.any()


def test_bits_do_not_depend_on_threads(same_with_any_threads):
    _, inputs = inputs_of(padded=True)
    same_with_any_threads(lambda: arc_posteriors(*inputs, np.zeros(len(LENGTHS), np.float32)))
