# SPDX-License-Identifier: Apache-2.0
"""Error rates of texts with known edits; sentences, slots and orders."""

import pytest

from mindspore_rnnt.recipe.data.grammar import load_grammar
from mindspore_rnnt.recipe.decoding.metrics import (
    CharErrorRate,
    MissedOrders,
    SentenceAccuracy,
    SlotAccuracy,
    WordErrorRate,
    WrongOrders,
    right_characters,
)
from mindspore_rnnt.recipe.decoding.ticket import TicketParser


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ("abc", "abc", (0, 0, 0, 3)),
        ("abc", "axc", (1, 0, 0, 3)),
        ("abc", "abxc", (0, 1, 0, 3)),
        ("abc", "ac", (0, 0, 1, 3)),
        ("abc", "", (0, 0, 3, 3)),
        ("", "ab", (0, 2, 0, 0)),
        ("", "", (0, 0, 0, 0)),
        ("ab", " ab", (0, 1, 0, 2)),
        ("记录二号", "记录三号", (1, 0, 0, 4)),
    ],
)
def test_kinds_of_errors(reference, hypothesis, expected):
    metric = CharErrorRate()
    metric.update([hypothesis], [reference])
    found = (metric.substitutions, metric.insertions, metric.deletions, metric.length)
    assert found == expected


def test_a_rate_is_over_all_updates_and_no_mean_of_rates():
    metric = CharErrorRate()
    metric.update(["ax"], ["ab"])
    metric.update(["abcdefgh", "k"], ["abcdefgh", ""])
    assert metric.eval() == pytest.approx(2 / 10)


def test_words():
    metric = WordErrorRate()
    metric.update(["the cat sit on mat now"], ["the cat sat on the mat"])
    assert metric.eval() == pytest.approx(3 / 6)


def test_rates_without_a_reference():
    metric = CharErrorRate()
    assert metric.eval() == 0.0
    metric.update(["a"], [""])
    assert metric.eval() == float("inf")


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [("abc", "abc", "111"), ("abc", "axc", "101"), ("abc", " abxc", "01101"), ("", "a", "0")],
)
def test_right_characters(reference, hypothesis, expected):
    assert right_characters(reference, hypothesis) == [one == "1" for one in expected]


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
    parser = TicketParser(load_grammar("inspection.yaml"))
    orders, missed = WrongOrders(parser), MissedOrders(parser)
    heard = [right, another, "记录二号主变油温", "", another]
    orders.update(heard, [right] * 4 + ["不在语法里"])
    missed.update(heard, [right] * 4 + ["不在语法里"])
    assert missed.eval() == pytest.approx(2 / 4)
    assert orders.eval() == pytest.approx(1 / 4), "what gives no order is not a wrong one"
    assert orders.counted == 4


def test_of_two_commands_a_lost_one_makes_the_order_wrong():
    one, two = "记录二号主变油温过高", "上报三号油泵渗油"
    parser = TicketParser(load_grammar("inspection.yaml"))
    orders, missed = WrongOrders(parser), MissedOrders(parser)
    for metric in (orders, missed):
        metric.update([one + two, one, one + two[:-1], two + one], [one + two] * 4)
    assert missed.eval() == pytest.approx(1 / 4)
    assert orders.eval() == pytest.approx(2 / 4)
