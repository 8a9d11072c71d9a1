# SPDX-License-Identifier: Apache-2.0
"""A sure command is a ticket; all else is none, and says why."""

import numpy as np
import pytest

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data.grammar import load_grammar
from mindspore_rnnt.recipe.data.text import Vocabulary
from mindspore_rnnt.recipe.decoding.confidence import Calibration
from mindspore_rnnt.recipe.decoding.found import Found
from mindspore_rnnt.recipe.decoding.ticket import TicketParser
from mindspore_rnnt.recipe.decoding.verdict import Judge

GRAMMAR = load_grammar("inspection.yaml")
VOCABULARY = Vocabulary(GRAMMAR.characters())
COMMAND = "记录二号主变油温过高"


def judged(text, probabilities=(), grammar=True):
    parser = TicketParser(GRAMMAR) if grammar else None
    probabilities = [*probabilities, *[1.0] * (len(text) - len(probabilities))]
    count = len(text)
    found = Found(tuple(VOCABULARY.encode(text)), tuple(range(count)), tuple(np.log(probabilities)))
    judge = Judge(config.load(), VOCABULARY, parser, Calibration())
    report = judge(found, [0.04 * (n + 1) for n in range(count)])
    assert judge.passes(found) == bool(report.get("orders"))
    return report


def test_a_sure_command_is_a_ticket():
    report = judged(COMMAND, [0.9, 0.8])
    assert report["reason"] is None and report["text"] == COMMAND
    assert (report["order"]["number"], report["order"]["understood"]) == (2, True)
    assert report["confidence"] == pytest.approx(0.72 ** (1 / len(COMMAND)), abs=1e-4)
    assert report["orders"] == [report["order"]]
    first = report["characters"][0]
    assert first == {"text": "记", "seconds": 0.04, "confidence": 0.9}


@pytest.mark.parametrize(
    ("text", "probabilities", "reason"),
    [
        ("", [], "nothing was recognised"),
        (
            COMMAND,
            [0.4, 0.4, 0.3, *[0.4] * 7],
            "unsure: confidence 0.39 is below 0.5; least sure of '二' (0.30)",
        ),
        ("记录二号主变", [], "half a command: defect (油温过高 | "),
        ("记录二号主", [], "half a command: device (主变 | "),
        (
            "油泵油泵",
            [],
            "outside the grammar: action (记录 | 上报 | 复核) was expected",
        ),
        (COMMAND + "记", [], "outside the grammar: "),
        (COMMAND + "上报二号油泵", [], "half a command: defect (油温过高 | "),  # the second
    ],
)
def test_all_else_says_why_not(text, probabilities, reason):
    report = judged(text, probabilities)
    print(report["reason"])
    assert report["order"] is None and report["orders"] == []
    assert report["reason"].startswith(reason)


def test_two_commands_without_a_pause_are_two_tickets():
    second = "上报三号油泵渗油并通知值班长"
    report = judged(COMMAND + second, [0.9] * len(COMMAND) + [0.8] * len(second))
    assert report["reason"] is None and report["order"] is None
    assert [order["text"] for order in report["orders"]] == [COMMAND, second]
    assert [order["number"] for order in report["orders"]] == [2, 3]
    assert report["confidence"] == pytest.approx(0.9 * 0.8, abs=1e-4), "both are right"
    report = judged(COMMAND + second, [0.7] * len(COMMAND + second))  # 0.49 that both are
    assert report["orders"] == [] and report["reason"].startswith("unsure: confidence 0.49")
    assert judged(COMMAND, [0.7] * len(COMMAND))["reason"] is None


def test_without_a_grammar_there_is_neither_order_nor_reason():
    assert set(judged(COMMAND, grammar=False)) == {"text", "confidence", "characters"}
