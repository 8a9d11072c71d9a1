# SPDX-License-Identifier: Apache-2.0
"""A stream of commands through a decoder that gives known utterances."""

import numpy as np
import pytest

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data.conditions import Condition, Trials
from mindspore_rnnt.recipe.data.corpus import Utterance
from mindspore_rnnt.recipe.data.grammar import load_grammar
from mindspore_rnnt.recipe.data.text import Vocabulary
from mindspore_rnnt.recipe.decoding import microphone
from mindspore_rnnt.recipe.decoding.confidence import Calibration
from mindspore_rnnt.recipe.decoding.endpoint import Endpoint
from mindspore_rnnt.recipe.decoding.found import Found
from mindspore_rnnt.recipe.decoding.streaming import Segment
from mindspore_rnnt.recipe.decoding.ticket import TicketParser
from mindspore_rnnt.recipe.decoding.verdict import Judge

RATE = 16000
SECONDS = 2.0  # of each command
SPACING = 1.0 + SECONDS + 3.0 + 1.0  # PAUSE, the command, endpoint.silence, PAUSE
COMMAND, TICKET = "记录二号主变油温过高", "并通知值班长"


class Scripted:
    """A decoder that finds (begin, text) of `script` once the stream has come so far."""

    script = ()

    def __init__(self, recogniser, settings, biases):
        self.vocabulary = Vocabulary(load_grammar("inspection.yaml").characters())
        self.seconds = 0.0
        self.left = list(self.script)

    def accept(self, features):
        self.seconds += len(features) * 0.01
        ended = [item for item in self.left if item[0] <= self.seconds]
        self.left = [item for item in self.left if item[0] > self.seconds]
        return [self.segment(*item) for item in ended]

    def finish(self):
        return [self.segment(*item) for item in self.left]

    def segment(self, begin, text):
        ids = tuple(self.vocabulary.encode(text).tolist())
        found = Found(ids, tuple(range(len(ids))), (np.log(0.99),) * len(ids))
        end = begin + 1.0
        return Segment(found, (end,) * len(ids), begin, end, (begin, end), Endpoint.SILENCE)


@pytest.fixture
def row(monkeypatch):
    def measure(*script, commands):
        monkeypatch.setattr(microphone, "StreamingDecoder", Scripted)
        monkeypatch.setattr(Scripted, "script", script)
        settings = config.load(None, ["endpoint.silence=3", "evaluate.gain_db=[0, 0]"])
        grammar = load_grammar("inspection.yaml")
        parser, vocabulary = TicketParser(grammar), Vocabulary(grammar.characters())
        pcm = np.full(round(SECONDS * RATE), 1000, np.int16)
        said = [Utterance(str(n), text, len(pcm), RATE, pcm=pcm) for n, text in enumerate(commands)]
        judge = Judge(settings, vocabulary, parser, Calibration())
        parts = (said, Trials(settings), Condition("clean"), judge, parser)
        return microphone.open_microphone(None, settings, lambda features: features, [], *parts)

    return measure


def test_whole_commands_are_right(row):
    found = [(1.5 + SPACING * n, text) for n, text in enumerate([COMMAND, COMMAND + TICKET])]
    got = row(*found, commands=[COMMAND, COMMAND + TICKET])
    assert (got["noise"], got["utterances"]) == ("open microphone, clean", 2)
    rates = [got[name] for name in ("cer", "sentences", "wrong orders", "missed")]
    assert rates == [0.0, 1.0, 0.0, 0.0]


def test_an_endpoint_within_a_command_makes_it_another(row):
    """Both texts together are right, but the first alone is a wrong order."""
    got = row((1.5, COMMAND), (3.0, TICKET), commands=[COMMAND + TICKET])
    rates = [got[name] for name in ("cer", "sentences", "wrong orders", "missed")]
    assert rates == [0.0, 1.0, 1.0, 0.0]


def test_what_is_refused_or_not_heard_is_missed(row):
    """In the stream a text belongs to the last command that has begun by then."""
    found = [(1.5, COMMAND[:-1]), (SPACING + 0.5, COMMAND), (3 * SPACING - 0.1, "记录")]
    got = row(*found, commands=[COMMAND] * 4)
    length = len(COMMAND)
    lost = 1 + 0 + (length - 2) + length
    assert got["cer"] == pytest.approx(lost / (4 * length))
    assert (got["wrong orders"], got["missed"]) == (0.0, 0.75)
