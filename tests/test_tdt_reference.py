# SPDX-License-Identifier: Apache-2.0
"""The float64 reference of TDT against path enumeration, finite differences and plain RNN-T."""

import numpy as np
import pytest
from oracles import TOLERANCE, difference_gradient, random_batch, report
from tdt import DURATION_SETS, SMALL, TdtBatch, duration_logits, enumerate_tdt_paths, softmax

from mindspore_rnnt.reference import rnnt_loss_reference, tdt_loss_reference

LENGTHS = [*SMALL, (1, 2), (4, 3), (5, 2)]


@pytest.mark.parametrize("durations", DURATION_SETS, ids=str)
def test_equals_path_enumeration(durations):
    case, expected = TdtBatch(LENGTHS, durations, V=5), [[], [], []]
    for logits, head, labels in zip(case.batch.samples, case.heads, case.batch.labels):
        loss, blank, label = enumerate_tdt_paths(logits, head, labels, durations, sigma=0.05)
        occupation = (blank + label).sum(-1, keepdims=True)
        tokens = softmax(logits) * occupation
        tokens[:, :, -1] -= blank.sum(-1)
        for u, k in enumerate(labels):
            tokens[:, u, k] -= label[:, u].sum(-1)
        of_durations = softmax(head) * occupation - blank - label
        for results, x in zip(expected, (np.array([loss]), tokens, of_durations)):
            results.append(x.reshape(-1, *x.shape[2:]) if x.ndim == 3 else x)
    got = case.reference(sigma=0.05)
    for what, a, b in zip(("loss", "gradient", "durations"), got, expected):
        assert report(what, a, np.concatenate(b)) <= TOLERANCE["reference_enumeration"]


def test_gradients_equal_central_differences():
    batch, durations = random_batch([(4, 2), (2, 0)], V=3), (2, 0, 1)
    logits, *rest = batch.layout(padded=False)
    head = duration_logits(logits.shape[:1], 3).astype(np.float64)

    def loss_of(logits, head):
        return tdt_loss_reference(logits, head, *rest, durations, reduction="sum")[0]

    _, gradient, duration_gradient = tdt_loss_reference(
        logits, head, *rest, durations, reduction="none"
    )
    logits = logits.astype(np.float64)
    limit = TOLERANCE["reference_difference"]
    wanted = difference_gradient(lambda x: loss_of(x, head), logits)
    assert report("gradient", gradient, wanted) <= limit
    wanted = difference_gradient(lambda x: loss_of(logits, x), head)
    assert report("durations", duration_gradient, wanted) <= limit


def test_one_path_of_blanks():
    """Without labels and with durations (0, 1) each blank takes one frame, as in RNN-T."""
    batch = random_batch([(3, 0), (5, 0)], V=4)
    layout = batch.layout(padded=False)
    head = np.zeros((len(layout[0]), 2))
    loss = tdt_loss_reference(layout[0], head, *layout[1:], (0, 1), reduction="none")[0]
    expected = rnnt_loss_reference(*layout, reduction="none")[0] + batch.logit_lengths * np.log(2)
    assert report("loss", loss, expected) <= 1e-12
