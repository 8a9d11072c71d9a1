# SPDX-License-Identifier: Apache-2.0
"""Sentences of the grammar and their split."""

import pytest

from mindspore_rnnt.recipe.data.grammar import load_grammar
from mindspore_rnnt.recipe.data.text import normalise


@pytest.fixture(scope="module")
def grammar():
    return load_grammar("inspection.yaml")


def test_the_inspection_grammar_has_1800_sentences_of_55_characters(grammar):
    sentences = grammar.sentences()
    assert len(sentences) == len(set(sentences)) == 3 * 6 * 5 * 5 * 4
    assert "记录二号主变油温过高并生成紧急缺陷工单" in sentences
    assert len(grammar.characters()) == 55
    assert set(grammar.characters()) <= set(grammar.pinyin)
    assert all(normalise(item) == item for item in sentences)


def test_split_keeps_heldout_sentences_out_of_training(grammar):
    train, heldout = grammar.split(600, 60, seed=1)
    assert len(set(train)) == 600 and len(set(heldout)) == 60
    assert not set(train) & set(heldout)
    assert grammar.split(600, 60, seed=1) == (train, heldout)
    assert grammar.split(600, 60, seed=2) != (train, heldout)
    more, same = grammar.split(4000, 60, seed=1)
    assert same == heldout and len(more) == 4000 and len(set(more)) == 1740
    assert more[:600] == train
    with pytest.raises(ValueError, match=r"must be in \[1, 1799\], but got 1800"):
        grammar.split(1, 1800, seed=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "a grammar has 'template' and 'slots'"),
        ("template: '{a}{b}'\nslots: {a: {x: 1}}", "unknown slot 'b'"),
        ("template: '{a}{a}'\nslots: {a: {x: 1}}", "name each slot once"),
        ("template: '{a}'\nslots: {a: [x]}", "slot 'a' must map phrases"),
        ("template: '{a}'\nslots: {a: {1: x}}", "phrases of slot 'a' must be strings"),
    ],
)
def test_bad_grammars_name_the_fault(tmp_path, text, message):
    path = tmp_path / "g.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        load_grammar(path)


def test_what_cannot_be_seen_is_no_part_of_a_sentence(tmp_path):
    path = tmp_path / "g.yaml"
    text = "template: '{a}\u200e号 {b}'\nslots: {a: {\u202a记录\u202c: 1}, b: {می\u200cخواهم: 2}}\n"
    path.write_text(text, encoding="utf-8")
    found = load_grammar(path)
    assert found.sentences() == ["记录号 می\u200cخواهم"]
    assert found.slots["a"] == {"记录": 1}
