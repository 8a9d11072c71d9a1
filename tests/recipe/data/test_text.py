# SPDX-License-Identifier: Apache-2.0
"""The vocabulary and the normalisation of transcripts."""

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


def test_a_vocabulary_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "v.txt").write_bytes("\ufeff记\r\n录\n".encode())
    assert Vocabulary.load(tmp_path / "v.txt").characters == ["记", "录"]
    (tmp_path / "v.txt").write_bytes("记".encode("gb18030"))
    with pytest.raises(ValueError, match=r"v.txt is not UTF-8 text"):
        Vocabulary.load(tmp_path / "v.txt")
