# SPDX-License-Identifier: Apache-2.0
"""Biases label by label against what whole texts must get."""

import itertools

import numpy as np
import pytest

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data.grammar import load_grammar
from mindspore_rnnt.recipe.data.text import Vocabulary
from mindspore_rnnt.recipe.decoding.bias import GrammarBias, PhraseBias, build_biases


def totals(bias, labels):
    """What a prefix has got after each label."""
    state, total, found = bias.start(), 0.0, []
    for label in labels:
        state, change = bias.step(state, label)
        total += change
        found.append(total)
    return found


@pytest.fixture
def grammar(tmp_path):
    path = tmp_path / "grammar.yaml"
    slots = "{a: {p: 1, pq: 2}, b: {'': 0, r: 1}, c: {'': 0, rs: 1}}"
    path.write_text(f"template: '{{a}}x{{b}}{{c}}'\nslots: {slots}\n")
    return load_grammar(path)


def test_a_grammar_takes_from_what_leaves_it(grammar):
    """Every text up to 5 letters against the list of all prefixes of one or more sentences."""
    vocabulary = Vocabulary(grammar.characters())
    bias = GrammarBias(grammar, vocabulary, 2.0)
    several = map("".join, itertools.product(grammar.sentences(), repeat=3))  # 2 letters at least
    inside = {text[:n] for text in several for n in range(6)}
    for length in range(1, 6):
        for letters in itertools.product(vocabulary.characters, repeat=length):
            text = "".join(letters)
            outside = sum(text[: n + 1] not in inside for n in range(length))
            assert totals(bias, vocabulary.encode(text).tolist())[-1] == -2.0 * outside, text


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([1, 2, 3], [1, 2, 3]),  # the phrase
        ([1, 2, 9], [1, 2, 0]),  # it breaks off and gives back
        ([1, 2, 1, 2, 3], [1, 2, 1, 2, 3]),  # and begins again at once
        ([4, 1, 2, 3, 9], [0, 1, 2, 3, 3]),  # what is finished stays
        ([5, 6], [1, 2]),
        ([5, 6, 7, 9], [1, 2, 3, 2]),  # a longer phrase breaks off behind a finished one
        ([5, 6, 7, 8], [1, 2, 3, 4]),
    ],
)
def test_phrases_gain_label_by_label(labels, expected):
    bias = PhraseBias([[1, 2, 3], [5, 6, 7, 8], [5, 6]], 1.0)
    assert totals(bias, labels) == expected


def test_biases_of_a_configuration():
    vocabulary = Vocabulary(load_grammar("inspection.yaml").characters())
    assert build_biases(config.load(), vocabulary) == []
    both = ["decode.grammar_weight=1", "decode.bias_phrases=[油泵]", "decode.bias_weight=0.5"]
    grammar, phrases = build_biases(config.load(None, both), vocabulary)
    assert totals(grammar, vocabulary.encode("记录二号主变").tolist()) == [0.0] * 6
    assert totals(phrases, vocabulary.encode("油泵").tolist()) == [0.5, 1.0]
    with pytest.raises(ValueError, match=r"decode.bias_phrases has 'x', not in the vocabulary"):
        build_biases(config.load(None, ["decode.bias_phrases=[x]"]), vocabulary)


def test_no_label_gains_more_than_most(grammar):
    vocabulary = Vocabulary(grammar.characters())
    phrases = PhraseBias([[1, 2, 3], [2, 3], [3, 1, 2]], 0.5)
    for bias in (phrases, GrammarBias(grammar, vocabulary, 2.0)):
        gains = []
        for labels in itertools.product(range(1, 5), repeat=6):
            found = [0.0, *totals(bias, labels)]
            gains.append(np.diff(found).max())
        print(bias.most, max(gains))
        assert max(gains) <= bias.most
