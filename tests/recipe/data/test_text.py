# SPDX-License-Identifier: Apache-2.0
"""The vocabulary and the normalisation of transcripts."""

import sys
import unicodedata

import pytest

from mindspore_rnnt.recipe.data.text import Vocabulary, normalise


def test_vocabulary_roundtrip(tmp_path):
    vocabulary = Vocabulary.of_texts(["记录二号", "主变", "二号"])
    assert len(vocabulary) == 7
    ids = vocabulary.encode("记录二号主变")
    assert ids.dtype == "int32" and ids.min() >= 1
    assert vocabulary.decode([0, *ids, 0]) == "记录二号主变"
    vocabulary.save(tmp_path / "v.txt")
    assert Vocabulary.load(tmp_path / "v.txt").characters == vocabulary.characters
    assert vocabulary.unknown("记X录YX") == "XY"
    with pytest.raises(ValueError, match="'X' of '记X' are not in the vocabulary"):
        vocabulary.encode("记X")
    with pytest.raises(ValueError, match="twice"):
        Vocabulary("aa")
    with pytest.raises(ValueError, match="single characters, but got 'ab'"):
        Vocabulary(["ab"])


def test_vocabulary_keeps_a_space(tmp_path):
    vocabulary = Vocabulary.of_texts(["to be", "or not"])
    vocabulary.save(tmp_path / "v.txt")
    assert Vocabulary.load(tmp_path / "v.txt").characters == [" ", "b", "e", "n", "o", "r", "t"]


def test_normalise():
    assert normalise(" 而 对 楼市 １２\n") == "而对楼市12"
    assert normalise(" to   be ") == "to be"


def test_what_cannot_be_seen_is_no_character():
    assert normalise("a\u200bb\ufeff") == "ab"
    assert normalise("a\x00b\u2028 c") == "a b c"
    assert normalise("Ärger ABC", fold_case=True) == "ärger abc"


def test_no_invisible_character_is_learned():
    """All of category Cf, which Unicode keeps for formats, and what is as invisible without it."""
    formats = [chr(n) for n in range(sys.maxunicode + 1) if unicodedata.category(chr(n)) == "Cf"]
    drawn = {item for item in formats if normalise(f"a{item}b") != "ab"}
    assert len(formats) > 150 and len(drawn) < 15 and {"\u0600", "\u06dd"} <= drawn
    others = "\ufe0f\U000e0100\u180b\u034f\u3164\uffa0"
    for one in "\u200e\u202a\u2066\u00ad\u180e\ufeff\u2060" + others:
        assert normalise(f"记{one}录") == "记录", hex(ord(one))
        assert normalise(f"to{one} be") == "to be", hex(ord(one))
    assert normalise("e\u200b\u0301") == "é", "one spelling of what looks the same"
    assert Vocabulary.of_texts([normalise("\u202b记\u200f录\u202c")]).characters == ["录", "记"]


@pytest.mark.parametrize(
    "spelled",
    [
        "می\u200cخواهم",  # Persian: a prefix that does not join its verb
        "هِ\u200cها",  # a vowel sign between letter and joiner
        "क्\u200dष",  # Hindi: a half letter
        "ക്\u200cഷ",
        "ന്\u200d",  # Malayalam: a letter without vowel at the end of a word
    ],
)
def test_joiners_stay_where_they_are_spelling(spelled):
    assert normalise(spelled) == unicodedata.normalize("NFKC", spelled)
    joiner = next(item for item in spelled if item in "\u200c\u200d")
    elsewhere = [
        "记{}录",
        "a{}b",
        "{}ab",
        "ab{}",
        "می{} خ",
        "{}می",
        "क{}ष",
        "\U0001f469{}\U0001f527",
    ]
    for text in elsewhere:
        assert normalise(text.format(joiner)) == text.format(""), text


def test_a_vocabulary_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "v.txt").write_bytes("\ufeff记\r\n录\n".encode())
    assert Vocabulary.load(tmp_path / "v.txt").characters == ["记", "录"]
    (tmp_path / "v.txt").write_bytes("记".encode("gb18030"))
    with pytest.raises(ValueError, match=r"v.txt is not UTF-8 text"):
        Vocabulary.load(tmp_path / "v.txt")
