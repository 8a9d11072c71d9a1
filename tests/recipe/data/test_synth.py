# SPDX-License-Identifier: Apache-2.0
"""The synthetic corpus: the same bits from any process, and errors that say what to do."""

import hashlib
import subprocess
import sys
import time

import numpy as np
import pytest

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data import dataset, synth

OVERRIDES = ["data.train_utterances=18", "data.heldout_utterances=4"]
DIGEST = """
import hashlib
from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data import dataset
train, heldout, _ = dataset.load(config.load(None, {overrides!r}))
print(hashlib.sha1(b"".join(item.pcm.tobytes() for item in train + heldout)).hexdigest())
"""


@pytest.fixture(scope="module")
def corpus():
    return dataset.load(config.load(None, OVERRIDES))


def test_other_processes_at_other_times_speak_the_same_bits(corpus):
    train, heldout, _ = corpus
    ours = hashlib.sha1(b"".join(item.pcm.tobytes() for item in train + heldout)).hexdigest()
    time.sleep(1.1)  # espeak-ng would seed its breath noise by the second
    command = [sys.executable, "-c", DIGEST.format(overrides=OVERRIDES)]
    theirs = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    print(ours, theirs)
    assert ours == theirs


def test_heldout_does_not_depend_on_the_training_part(corpus):
    more = dataset.load(config.load(None, ["data.train_utterances=20", OVERRIDES[1]]))
    for ours, theirs in zip(corpus[1], more[1]):
        assert ours.text == theirs.text and np.array_equal(ours.pcm, theirs.pcm)


def test_the_corpus_sounds_like_speech(corpus):
    train, heldout, vocabulary = corpus
    assert (len(train), len(heldout), len(vocabulary)) == (18, 4, 56)
    assert not {item.voice for item in train} & {item.voice for item in heldout}
    assert not {item.text for item in train} & {item.text for item in heldout}
    for item in train + heldout:
        seconds = item.samples / item.sample_rate
        audio = item.audio()
        assert item.sample_rate == 16000 and len(audio) == item.samples
        assert 0.8 < seconds < 6
        assert np.abs(audio).max() == pytest.approx(synth.PEAK, abs=1e-3)
        spectrum = np.abs(np.fft.rfft(audio)) ** 2
        hertz = np.fft.rfftfreq(len(audio), 1 / 16000)
        assert spectrum[(hertz > 100) & (hertz < 4000)].sum() > 0.7 * spectrum.sum()


def test_phrases_come_behind_the_sentences_in_every_voice(corpus):
    settings = config.load(None, [*OVERRIDES, "data.train_phrases=198"])
    train, heldout, _ = dataset.load(settings)
    assert len(train) == 18 + 198
    for ours, theirs in zip(train + heldout, corpus[0]):
        assert ours.text == theirs.text and np.array_equal(ours.pcm, theirs.pcm)
    phrases = {(item.text, item.voice) for item in train[18:]}
    assert len(phrases) == 198, "22 phrases in each of 9 voices"
    assert ("油温过高", "f1") in phrases and all(len(text) >= 1 for text, _ in phrases)


def test_fragments_are_pieces_of_training_sentences():
    sentences = ["记录二号主变渗油", "复核一号油泵"]
    pieces = synth.fragments(sentences, 300, seed=1)
    assert pieces == synth.fragments(sentences, 300, seed=1)
    assert pieces != synth.fragments(sentences, 300, seed=2)
    assert all(any(piece in sentence for sentence in sentences) for piece in pieces)
    assert {len(piece) for piece in pieces} == {1, 2, 3, 4, 5, 6}
    assert {piece[0] for piece in pieces} == set("".join(sentences)), "they start anywhere"
    assert synth.fragments(["短"], 2, seed=1) == ["短", "短"]


def test_voices_in_both_parts_are_an_error():
    overlapping = config.load(None, [*OVERRIDES, "data.heldout_voices=[f1, f3]"])
    with pytest.raises(ValueError, match=r"voices of data.train_voices: \['f1'\]"):
        dataset.load(overlapping)


def test_an_unknown_voice_is_named():
    with pytest.raises(RuntimeError, match=r"no voice 'cmn-latn-pinyin\+nobody'"):
        synth.synthesise([synth.Spoken("记录", "nobody", 200, 50)])


def test_without_espeak_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(synth.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(synth.shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match=r"pip install mindspore-rnnt\[demo\]"):
        synth.synthesise([synth.Spoken("记录", "f1", 200, 50)])


def test_the_program_is_the_fallback(monkeypatch, tmp_path):
    """A stand-in `espeak-ng` that checks its arguments and answers with a wav file."""
    program = tmp_path / "espeak-ng"
    program.write_text(
        f"#!{sys.executable}\n"
        "import sys, io, numpy, soundfile\n"
        "assert sys.argv[1:] == ['-v', 'cmn-latn-pinyin+f1', '-s', '200', '-p', '50',"
        " '--stdout', '--', '-记录'], sys.argv\n"
        "out = io.BytesIO()\n"
        "tone = numpy.sin(numpy.arange(22050) * 0.1) * 0.1\n"
        "soundfile.write(out, tone, 22050, format='WAV', subtype='PCM_16')\n"
        "sys.stdout.buffer.write(out.getvalue())\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(synth.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    (audio,) = synth.synthesise([synth.Spoken("-记录", "f1", 200, 50)])
    assert audio.dtype == np.int16 and len(audio) == 16000
    assert np.abs(audio).max() == pytest.approx(synth.PEAK * 32767, abs=1)
    with pytest.raises(RuntimeError, match=r"`espeak-ng -v cmn-latn-pinyin\+f2 .*` failed"):
        synth.synthesise([synth.Spoken("记录", "f2", 200, 50)])
