# SPDX-License-Identifier: Apache-2.0
"""Manifests from unpacked packages of the same layout as Debian's, with tones for voices."""

import gzip
import json

import numpy as np
import pytest
import soundfile

from mindspore_rnnt.recipe import __main__ as cli
from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.commands import prepare
from mindspore_rnnt.recipe.data import packages
from mindspore_rnnt.recipe.data.corpus import load_corpus
from mindspore_rnnt.recipe.data.grammar import load_grammar

GRAMMAR = """
template: "{action}{device}"
slots:
  action: {记: a, 报: b}
  device: {油泵: c, 主: d}
bopomofo: {记: ㄐㄧ4, 报: ㄅㄠ4, 油: ㄧㄡ2, 泵: ㄅㄥ4, 主: ㄓㄨ3}
"""


def tone(path, pitch, seconds=0.3, rate=44100, quiet=0.0):
    path.parent.mkdir(parents=True, exist_ok=True)
    time = np.arange(int(seconds * rate)) / rate
    sound = 0.3 * np.sin(2 * np.pi * pitch * time)
    silence = np.zeros(int(quiet * rate))
    soundfile.write(path, np.concatenate([silence, sound, silence]), rate)


@pytest.fixture
def grammar_file(tmp_path):
    path = tmp_path / "grammar.yaml"
    path.write_text(GRAMMAR, encoding="utf-8")
    return path


@pytest.fixture
def syllables(tmp_path, grammar_file):
    """Two speakers; each syllable is a tone of its own pitch, in quiet."""
    root = tmp_path / "unpacked" / "usr/share/gcin-voice/ogg"
    for number, name in enumerate(load_grammar(grammar_file).bopomofo.values()):
        for speaker in packages.GCIN_SPEAKERS:
            tone(root / name / f"{speaker}.ogg", 400 + 300 * number, quiet=0.1)
    return tmp_path / "unpacked"


def test_every_reading_of_the_demos_grammar_is_given_with_its_tone():
    grammar = load_grammar("inspection.yaml")
    assert set(grammar.bopomofo) == set(grammar.characters()) == set(grammar.pinyin)
    bopomofo = {reading.rstrip("234") for reading in grammar.bopomofo.values()}
    assert all("\u3105" <= letter <= "\u3129" for reading in bopomofo for letter in reading)


def test_commands_are_joined_from_the_syllables_of_their_characters(syllables, grammar_file):
    found = packages.gcin_voice(syllables, load_grammar(grammar_file))
    assert {(item.text, item.speaker) for item in found} == {
        (text, speaker) for text in ("记油泵", "记主", "报油泵", "报主") for speaker in "35"
    }
    item = next(item for item in found if item.text == "记油泵" and item.speaker == "5")
    audio = packages.samples(item, 16000, np.random.default_rng(1))
    assert audio.dtype == np.float32
    # Three tones of 0.3 s with gaps of up to 60 ms: the quiet in the files is cut off.
    assert 0.88 < len(audio) / 16000 < 1.04
    pitches = []
    for part in (audio[:4000], audio[5200:9000], audio[-4000:]):
        spectrum = np.abs(np.fft.rfft(part * np.hanning(len(part))))
        pitches.append(spectrum.argmax() * 16000 / len(part))
    assert pitches == pytest.approx([400, 1000, 1300], abs=10)


def test_a_character_without_a_reading_is_named(syllables, grammar_file):
    grammar = load_grammar(grammar_file)
    del grammar.bopomofo["泵"]
    with pytest.raises(ValueError, match="'bopomofo' lacks 泵"):
        packages.gcin_voice(syllables, grammar)


def test_sayings_of_a_game_are_matched_by_their_names(tmp_path):
    root = tmp_path / "usr/share/games/fillets-ng"
    script = root / "script" / "city"
    script.mkdir(parents=True)
    lines = [
        'dialogId("a-m-1", "font_small", "Hello.")',
        'dialogStr("Dobrý den. „Tak“ – co\\n dál?")',
        'dialogId("a-v-2", "font_big", "It\\"s me.")\ndialogStr("To jsem já!")',
        'dialogId("a-v-3", "font_big", "Silent.")\ndialogStr("Beze zvuku.")',
    ]
    (script / "dialogs_cs.lua").write_text("\n\n".join(lines), encoding="utf-8")
    (script / "other_dialogs_nl.lua").write_text(
        'dialogId("a-m-1", "font_small", "x")\ndialogStr("Hallo daar")', encoding="utf-8"
    )
    for language, name in (("cs", "a-m-1"), ("cs", "a-v-2"), ("nl", "a-m-1"), ("cs", "no-text")):
        tone(root / "sound" / "city" / language / f"{name}.ogg", 500)
    czech = [(item.key, item.text, item.speaker) for item in packages.fillets(tmp_path, "cs")]
    assert czech == [
        ("cs-a-m-1", "dobrý den tak co dál", "small"),
        ("cs-a-v-2", "to jsem já", "big"),
    ]
    assert [item.text for item in packages.fillets(tmp_path, "nl")] == ["hallo daar"]


def test_prompts_and_read_sentences(tmp_path):
    root = tmp_path / "usr/share"
    listed = "; Core\nadded: Added.\nbeep: [a beep]\ndigits/1: one\nlost: Lost.\n"
    (root / "doc").mkdir(parents=True)
    (root / "doc" / "core-sounds-en.txt.gz").write_bytes(gzip.compress(listed.encode()))
    for name in ("added", "beep", "digits/1"):
        tone(root / f"asterisk/sounds/en_US_f_Allison/{name}.wav", 300, rate=8000)
    prompts = packages.asterisk(tmp_path)
    assert [(item.key, item.text) for item in prompts] == [
        ("allison-added", "added"),
        ("allison-digits-1", "one"),
    ]
    assert len(packages.samples(prompts[0], 16000, np.random.default_rng(0))) == 4800

    cards = root / "pocketsphinx/test/data/cards"
    tone(cards / "001.wav", 300, rate=16000)
    spoken = "<s> ten of  clubs </s> (001)\n<s> lost </s> (002)\n"
    (cards / "cards.transcription").write_text(spoken)
    (only,) = packages.pocketsphinx(tmp_path)
    assert (only.text, only.speaker) == ("ten of clubs", "cards")


def test_sentences_and_speakers_that_are_held_out_are_never_trained():
    found = [
        packages.Recording(f"{speaker}-{n}", f"text {n}", speaker, ())
        for n in range(40)
        for speaker in ("a", "b", "c")
    ]
    found.append(packages.Recording("c-own", "text of c alone", "c", ()))
    unseen = packages.draw_sentences(found[:-1], 0.25, seed=1)
    assert len(unseen) == 10 and unseen == packages.draw_sentences(found[:-1], 0.25, seed=1)
    parts = packages.split(found, unseen, ["c"])
    assert {name: len(part) for name, part in parts.items()} == {
        "train": 60,
        "heldout": 20,
        "speakers": 11,
    }
    texts = {name: {item.text for item in part} for name, part in parts.items()}
    assert not texts["train"] & (texts["heldout"] | texts["speakers"])
    assert texts["heldout"] == texts["speakers"] - {"text of c alone"}
    assert {item.speaker for item in parts["speakers"]} == {"c"}


def test_prepare_writes_manifests_that_train_reads(syllables, grammar_file, tmp_path, capsys):
    settings = config.load(None, [f"data.grammar={grammar_file}", "data.heldout_utterances=2"])
    written = prepare.run("gcin-voice", syllables, tmp_path / "out", settings, ["5"])
    assert list(written) == ["train", "heldout", "speakers"]
    assert "CC-BY-3.0" in capsys.readouterr().out
    train = load_corpus(written["train"], settings)
    assert len(train) == 2 and {item.voice for item in train} == {"3"}
    assert all(item.sample_rate == 16000 and 0.4 < item.samples / 16000 < 1.1 for item in train)
    assert all(np.abs(item.audio()).max() == pytest.approx(0.5, abs=1e-3) for item in train)
    heldout, others = (load_corpus(written[name], settings) for name in ("heldout", "speakers"))
    assert [item.text for item in heldout] == [item.text for item in others]
    assert {item.voice for item in others} == {"5"}
    _, unseen = load_grammar(grammar_file).split(9, 2, settings.data.seed)
    assert {item.text for item in others} == set(unseen), "those that synthetic speech holds out"
    few = prepare.run("gcin-voice", syllables, tmp_path / "few", settings, limit=1)
    assert all(len(path.read_text().split()) > 0 for path in few.values())
    assert len(few["train"].read_text(encoding="utf-8").strip().split("\n")) == 1
    assert json.loads(few["train"].read_text(encoding="utf-8"))["voice"] in ("3", "5")


def test_prepare_names_what_cannot_be_heard(tmp_path, capsys):
    cards = tmp_path / "usr/share/pocketsphinx/test/data/cards"
    for name in ("001", "002", "003", "004"):
        tone(cards / f"{name}.wav", 300, rate=16000)
    soundfile.write(cards / "002.wav", np.zeros(4800), 16000)
    (cards / "003.wav").write_bytes(b"torn")
    lines = "".join(f"<s> card {n} </s> (00{n})\n" for n in (1, 2, 3, 4))
    (cards / "cards.transcription").write_text(lines)
    with pytest.warns(UserWarning) as caught:
        written = prepare.run("pocketsphinx", tmp_path, tmp_path / "out", config.load(), share=0.0)
    message = str(caught[0].message)
    assert "2 of 4" in message and "silent: 1: " in message and "unreadable: 1: " in message
    assert len(load_corpus(written["train"], config.load())) == 2
    assert "train.jsonl: 2 utterances by cards" in capsys.readouterr().out


def test_prepare_tries_all_folders_first(syllables, grammar_file, tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "samples", None)
    settings = config.load(None, [f"data.grammar={grammar_file}", "data.heldout_utterances=2"])
    (tmp_path / "speakers").touch()
    with pytest.raises(FileExistsError, match="speakers"):
        prepare.run("gcin-voice", syllables, tmp_path, settings, ["5"])


def test_a_folder_without_the_package_is_an_error_in_one_line(tmp_path, capsys):
    assert cli.main(["prepare", "gcin-voice", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert "is the package unpacked?" in error and error.count("\n") == 1
