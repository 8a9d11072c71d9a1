# SPDX-License-Identifier: Apache-2.0
"""Utterances joined from two."""

import numpy as np
import pytest

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data import dataset
from mindspore_rnnt.recipe.data.corpus import Utterance
from mindspore_rnnt.recipe.data.pairs import pairs

RATE = 16000
SETTINGS = config.load(None, ["data.max_seconds=3", "endpoint.silence=0.9"])


def said(key, text, voice, seconds=1.0):
    """Noise without a zero, up to both ends of int16."""
    rng = np.random.default_rng(len(key) + ord(key[0]))
    pcm = rng.integers(1, 32768, round(seconds * RATE)).astype(np.int16)
    pcm[:2] = 32767, -32768
    return Utterance(key, text, len(pcm), RATE, voice, pcm=pcm)


@pytest.fixture
def spoken():
    return [said("a", "甲", "f"), said("b", "乙", "f"), said("c", "丙", "m", 1.5)]


def test_both_are_whole_with_a_gap_of_silence_between(spoken):
    by_text = {item.text: item for item in spoken}
    found = pairs(spoken, 40, 3, SETTINGS)
    assert [item.key for item in found] == [f"pair-{n:05d}" for n in range(40)]
    assert [item.voice for item in found] == ["f", "m"] * 20, "all voices have as many"
    gaps = []
    for item in found:
        first, second = (by_text[character] for character in item.text)
        assert first.voice == second.voice == item.voice
        np.testing.assert_array_equal(item.pcm[: first.samples], first.pcm)
        np.testing.assert_array_equal(item.pcm[-second.samples :], second.pcm)
        silence = item.pcm[first.samples : -second.samples]
        assert not silence.any()
        gaps.append(len(silence) / RATE)
        assert item.samples == len(item.pcm) and item.sample_rate == RATE
    assert 0.0 <= min(gaps) < 0.2 and 0.7 < max(gaps) <= 0.9
    assert {item.text for item in found} == {"甲甲", "甲乙", "乙甲", "乙乙", "丙丙"}


def test_a_seed_gives_the_same_pairs(spoken):
    one, same, another = (pairs(spoken, 9, seed, SETTINGS) for seed in (3, 3, 4))
    for first, second in zip(one, same):
        np.testing.assert_array_equal(first.pcm, second.pcm)
    assert [item.samples for item in one] != [item.samples for item in another]
    assert pairs(spoken, 0, 3, SETTINGS) == pairs([], 0, 3, SETTINGS) == []


def test_what_is_long_or_has_no_text_is_not_joined(spoken):
    others = [said("long", "长", "f", 1.6), said("noise", "", "f")]
    found = pairs([*others, *spoken], 30, 1, SETTINGS)
    assert set("".join(item.text for item in found)) == set("甲乙丙")
    with pytest.raises(ValueError, match=r"no utterance is short enough .* data\.max_seconds"):
        pairs(others, 1, 1, SETTINGS)


def test_what_cannot_be_read_is_named(spoken, tmp_path):
    lost = Utterance("gone", "丁", RATE, RATE, "f", path=str(tmp_path / "gone.wav"))
    with pytest.warns(UserWarning, match="pairs: .* cannot be used") as caught:
        found = pairs([*spoken, lost], 20, 1, SETTINGS)
    assert "gone" in str(caught[0].message)
    assert 0 < len(found) < 20 and not any("丁" in item.text for item in found)
    strict = SETTINGS.model_copy(update={"data": SETTINGS.data.but(strict=True)})
    with pytest.raises(ValueError, match="gone"):
        pairs([*spoken, lost], 20, 1, strict)


def test_training_has_pairs_of_sentences():
    counts = ["data.train_utterances=4", "data.train_phrases=3", "data.train_fragments=2"]
    voices = ["data.train_voices=[f1, f2]", "data.heldout_utterances=1"]
    with_pairs = config.load(None, [*counts, *voices, "data.train_pairs=4"])
    train, _, _ = dataset.load(with_pairs)
    sentences = {item.text for item in train[:4]}
    assert [item.key for item in train[9:]] == [f"pair-{n:05d}" for n in range(4)]
    for item in train[9:]:
        halves = {(item.text[:n], item.text[n:]) for n in range(1, len(item.text))}
        assert any(one in sentences and two in sentences for one, two in halves)
