# SPDX-License-Identifier: Apache-2.0
"""The kernel is right whatever the answer to what the documentation of an instruction leaves open:
what the statements of conformance/ do not reach, which run under these answers, too."""

import itertools

import numpy as np
import pytest
from oracles import TOLERANCE, random_batch, report
from twin import kernel_on_twin as twin
from twin.rules import RULES, SETTINGS, SOME_RULES, ULP_NOISE, VALUES

from mindspore_rnnt.reference import rnnt_loss_reference


def test_settings_have_every_pair_of_answers():
    for (one, first), (two, second) in itertools.combinations(VALUES.items(), 2):
        for pair in itertools.product(first, second):
            assert any((rules[one], rules[two]) == pair for rules in SETTINGS), (one, two, pair)


def mixed(vocab, dtype, fused=True):
    """One sample of each kind: right ones between those that are NaN or impossible."""
    batch = random_batch([(4, 3)] * 6 + [(3, 0), (1, 4)], vocab, seed=vocab, dtype=dtype)
    samples, labels = batch.samples, batch.labels
    samples[1][2, 1, vocab - 1 if not fused else vocab // 2] = np.nan
    samples[2][1, 1, labels[2][1]] = np.inf
    samples[3][3, 3] = -np.inf  # a dead row; impossible as log-probs
    samples[4][:, 1, labels[4][1]] = -np.inf  # impossible
    samples[5][:2, 1, labels[5][1]] = -np.inf
    return batch


def check(got, layout, dtype, **options):
    loss, grad = got
    expected_loss, expected = rnnt_loss_reference(*layout, reduction="none", **options)
    assert report("loss", loss, expected_loss) <= 1e-5 + ULP_NOISE
    tolerance = 1e-5 + ULP_NOISE + (dtype != "float32") * 3 * TOLERANCE["gradient"][dtype]
    assert report("gradient", grad, expected) <= tolerance


@RULES
@pytest.mark.parametrize("fused", [True, False], ids=["logits", "log_probs"])
@pytest.mark.parametrize("vocab, dtype", [(9, "float32"), (70, "float16"), (9, "bfloat16")])
def test_the_operator_with_attributes(rules, fused, vocab, dtype):
    batch = mixed(vocab, dtype, fused)
    layout = batch.layout(False)
    options = {"blank": vocab - 1, "fused_log_softmax": fused, "clamp": 0.2}
    with twin.options_of_the_twin(**rules):
        got = twin.fused(layout, dtype, attributes=True, **options)[:2]
    check(got, layout, dtype, **options)


@RULES
@pytest.mark.parametrize("column", [0, 15999])
def test_nan_in_a_row_of_several_pieces(rules, column):
    batch = random_batch([(2, 1)] * 3, 16000, seed=3)
    batch.samples[1][1, 0, column] = np.nan
    layout = batch.layout(False)
    with twin.options_of_the_twin(**rules):
        got = twin.fused(layout, cores=3)[:2]
    check(got, layout, "float32")


@SOME_RULES
def test_an_ordinary_utterance(rules):
    """Posteriors underflow in the corners of its lattice."""
    batch = random_batch([(120, 40)], 20, seed=4, scale=4.0)
    layout = batch.layout(False)
    with twin.options_of_the_twin(**rules):
        loss, grad, _ = twin.fused(layout)
    expected_loss, expected = rnnt_loss_reference(*layout, reduction="none")
    assert report("loss", loss / expected_loss, [1.0]) <= 2e-6
    assert report("gradient", grad, expected) <= 1e-4
