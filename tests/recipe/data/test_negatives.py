# SPDX-License-Identifier: Apache-2.0
"""Speech that is no command and recordings without speech."""

import numpy as np
import pytest
import yaml

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data import negatives, synth
from mindspore_rnnt.recipe.data.grammar import load_grammar
from mindspore_rnnt.tools.configs import config_path


@pytest.fixture(scope="module")
def settings():
    return config.load(None, ["data.train_noises=4", "data.train_others=12"])


def test_silences_have_no_sound_and_nothing_to_say(settings):
    found = negatives.silences(settings)
    assert [item.key for item in found] == [f"noise-{n:05d}" for n in range(4)]
    for item in found:
        assert item.text == "" and not item.audio().any() and len(item.audio()) == item.samples
        assert 0.5 <= item.samples / 16000 <= 4.0
    assert [item.samples for item in found] == [i.samples for i in negatives.silences(settings)]
    assert not negatives.silences(config.load(None))


def test_others_speak_the_languages_of_the_file_in_the_voices_of_their_part(settings, monkeypatch):
    asked = []
    speak = synth.synthesise
    monkeypatch.setattr(
        synth, "synthesise", lambda spoken, rate: asked.extend(spoken) or speak(spoken, rate)
    )
    tree = yaml.safe_load(config_path("other_speech.yaml").read_text(encoding="utf-8"))
    for part in ("train", "heldout"):
        asked.clear()
        found = negatives.speak_others(settings, part, 12)
        assert len(found) == 12 and all(item.text == "" and item.audio().any() for item in found)
        assert {item.language for item in asked} == set(tree[part])
        assert {item.voice for item in asked} <= set(getattr(settings.data, f"{part}_voices"))
        said = [sentence for choice in tree[part].values() for sentence in choice["sentences"]]
        assert all(any(item.text in sentence for sentence in said) for item in asked)
    assert negatives.speak_others(settings, "train", 0) == []


def test_training_sentences_have_no_phrase_of_the_commands():
    tree = yaml.safe_load(config_path("other_speech.yaml").read_text(encoding="utf-8"))
    phrases = [item for item in load_grammar("inspection.yaml").phrases() if len(item) > 1]
    for part in ("train", "heldout"):
        for sentence in tree[part]["cmn-latn-pinyin"]["sentences"]:
            assert part == "heldout" or not any(phrase in sentence for phrase in phrases), sentence
    train, heldout = (
        {s for choice in tree[part].values() for s in choice["sentences"]} for part in tree
    )
    assert not train & heldout


def test_people_are_those_who_say_no_commands_if_there_are_any(settings):
    others = negatives.speak_others(settings, "train", 3)
    silent = negatives.silences(settings)
    commands = synth.utterances([synth.Spoken("记录", "f1", 200, 50)], "train", settings)
    people = negatives.people_of([*commands, *others, *silent])
    assert len(people) == 3
    assert all(np.array_equal(a, b.audio()) for a, b in zip(people, others))
    (only,) = negatives.people_of([*commands, *silent])
    assert np.array_equal(only, commands[0].audio())
