# SPDX-License-Identifier: Apache-2.0
"""The work order of every sentence of the grammar, and of what is none."""

import itertools

import numpy as np
import pytest
import yaml

from mindspore_rnnt.recipe.data.grammar import load_grammar
from mindspore_rnnt.recipe.decoding.ticket import TicketParser
from mindspore_rnnt.tools.configs import config_path


@pytest.fixture(scope="module")
def grammar():
    return load_grammar("inspection.yaml")


def test_every_sentence_gives_its_own_work_order(grammar):
    slots = yaml.safe_load(config_path("inspection.yaml").read_text(encoding="utf-8"))["slots"]
    parser = TicketParser(grammar)
    orders = set()
    names = ["action", "number", "device", "defect", "ticket"]
    for phrases in itertools.product(*(slots[name] for name in names)):
        action, number, device, defect, ticket = phrases
        text = f"{action}{number}号{device}{defect}{ticket}"
        order = parser.parse(text)
        assert order == {
            "understood": True,
            "text": text,
            **{name: slots[name][phrase] for name, phrase in zip(names, phrases)},
        }
        orders.add(repr(order))
    assert len(orders) == 1800
    assert list(order) == ["understood", "text", "action", "device", "number", "defect", "ticket"]


@pytest.mark.parametrize(
    ("text", "expected", "found"),
    [
        ("", "action", ""),
        ("今天天气", "action", "今天天气"),
        ("记录七号主变渗油", "number", "七号主变渗油"),
        ("记录二主变渗油", "号", "主变渗油"),
        ("记录二号主变", "defect", ""),
        ("记录二号主变油温过高并通", "ticket", "并通"),
        ("记录二号主变油温过高并通知值班长好", "end", "好"),
        ("记录二号主变渗油上报三号油泵好", "defect", "好"),  # of the second command
    ],
)
def test_what_is_not_understood_says_where(grammar, text, expected, found):
    order = TicketParser(grammar).parse(text)
    print(order)
    assert order["understood"] is False
    assert (order["expected"], order["found"]) == (expected, found)


def test_any_two_commands_in_a_row_are_two_orders(grammar):
    parser, sentences = TicketParser(grammar), grammar.sentences()
    rng = np.random.default_rng(1)
    for count in (1, 2, 3):
        for _ in range(100):
            said = [sentences[number] for number in rng.integers(len(sentences), size=count)]
            assert parser.parse_all("".join(said)) == [parser.parse(text) for text in said]
    # No command begins inside another, so that there is one way to cut any number of them.
    starts = set(grammar.slots["action"])
    assert not [text for text in sentences for start in starts if text.find(start, 1) > 0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "记录二号主变",
        "记录二号主变渗油上报",
        "好记录二号主变渗油",
        "记录二号主变渗油好上报一号油泵渗油",
    ],
)
def test_anything_beside_commands_gives_no_order(grammar, text):
    assert TicketParser(grammar).parse_all(text) == []


def test_what_can_be_cut_in_two_ways_gives_no_order(tmp_path):
    path = tmp_path / "g.yaml"
    path.write_text("template: '{a}{b}'\nslots: {a: {甲: 1, 乙: 2, 甲乙: 3}, b: {丙: 4, '': 5}}\n")
    parser = TicketParser(load_grammar(path))
    assert [order["a"] for order in parser.parse_all("乙甲")] == [2, 1]
    assert [order["a"] for order in parser.parse_all("甲乙")] == [3], "one command comes first"
    assert parser.parse_all("甲乙甲") == [], "甲, 乙, 甲 or 甲乙, 甲"


def test_a_phrase_that_begins_another_is_still_parsed(tmp_path):
    path = tmp_path / "g.yaml"
    path.write_text(
        "template: '{a}{b}'\nslots: {a: {甲: 1, 甲乙: 2}, b: {乙丙: 3, 丙: 4, 丁: 5}}\n"
    )
    parser = TicketParser(load_grammar(path))
    assert (parser.parse("甲乙丁")["a"], parser.parse("甲丁")["a"]) == (2, 1)
    assert parser.parse("甲乙丙")["understood"]
