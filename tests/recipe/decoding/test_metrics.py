# SPDX-License-Identifier: Apache-2.0
"""Error rates against jiwer, an independent implementation."""

import jiwer
import numpy as np
import pytest

from mindspore_rnnt.recipe.data.grammar import load_grammar
from mindspore_rnnt.recipe.decoding.metrics import (
    CharErrorRate,
    Errors,
    SentenceAccuracy,
    SlotAccuracy,
    WrongOrders,
    error_rate,
)
from mindspore_rnnt.recipe.decoding.ticket import TicketParser


def _texts(rng, count, longest, letters="甲乙丙丁戊"):
    return ["".join(rng.choice(list(letters), rng.integers(1, longest))) for _ in range(count)]


def test_character_errors_equal_jiwers():
    rng = np.random.default_rng(3)
    references, hypotheses = _texts(rng, 200, 20), _texts(rng, 200, 20)
    metric = CharErrorRate()
    metric.update(hypotheses[:77], references[:77])
    metric.update(hypotheses[77:], references[77:])
    expected = jiwer.cer(references, hypotheses)
    print("cer", metric.eval(), expected)
    assert metric.eval() == pytest.approx(expected, abs=1e-12)
    for reference, hypothesis in zip(references, hypotheses):
        theirs = jiwer.process_characters(reference, hypothesis)
        ours = error_rate(reference, hypothesis)
        assert ours.total == theirs.substitutions + theirs.insertions + theirs.deletions
        assert ours.insertions - ours.deletions == len(hypothesis) - len(reference)


def test_word_errors_equal_jiwers():
    reference, hypothesis = "the cat sat on the mat", "the cat sit on mat now"
    ours = error_rate(reference.split(), hypothesis.split())
    assert ours.rate == pytest.approx(jiwer.wer(reference, hypothesis), abs=1e-12)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ("abc", "abc", Errors(0, 0, 0, 3)),
        ("abc", "axc", Errors(1, 0, 0, 3)),
        ("abc", "abxc", Errors(0, 1, 0, 3)),
        ("abc", "ac", Errors(0, 0, 1, 3)),
        ("abc", "", Errors(0, 0, 3, 3)),
        ("", "ab", Errors(0, 2, 0, 0)),
        ("", "", Errors(0, 0, 0, 0)),
    ],
)
def test_kinds_of_errors(reference, hypothesis, expected):
    assert error_rate(reference, hypothesis) == expected


def test_rates_without_a_reference():
    assert Errors().rate == 0.0
    assert Errors(insertions=1).rate == float("inf")


def test_clear_starts_again_and_bad_updates_raise():
    metric = CharErrorRate()
    metric.update(["ab"], ["xx"])
    metric.clear()
    metric.update(["ab"], ["ab"])
    assert metric.eval() == 0.0
    with pytest.raises(ValueError, match="two equally long lists"):
        metric.update(["a"], [])
    with pytest.raises(RuntimeError, match="SentenceAccuracy has seen nothing"):
        SentenceAccuracy().eval()


def test_sentences_and_slots():
    right = "记录二号主变油温过高"
    one_slot_wrong = "记录三号主变油温过高"
    nonsense = "记录二号主变油温"
    sentences = SentenceAccuracy()
    sentences.update([right, one_slot_wrong, nonsense], [right] * 3)
    assert sentences.eval() == pytest.approx(1 / 3)
    slots = SlotAccuracy(TicketParser(load_grammar("inspection.yaml")))
    slots.update([right, one_slot_wrong, nonsense], [right] * 3)
    assert slots.eval() == pytest.approx((5 + 4 + 0) / 15)
    slots.update([right], ["不在语法里"])
    assert slots.eval() == pytest.approx(9 / 15), "unknown references do not count"


def test_wrong_orders_are_those_given_for_another_command():
    right, another = "记录二号主变油温过高", "记录三号主变油温过高"
    orders = WrongOrders(TicketParser(load_grammar("inspection.yaml")))
    heard = [right, another, "记录二号主变油温", "", another]
    orders.update(heard, [right] * 4 + ["不在语法里"])
    assert orders.eval() == pytest.approx(1 / 4), "what gives no order is not a wrong one"
    assert orders.counted == 4
