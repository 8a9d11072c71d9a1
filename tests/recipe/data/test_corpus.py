# SPDX-License-Identifier: Apache-2.0
"""The three forms of a corpus, and every kind of bad file."""

import json
import warnings

import numpy as np
import pytest
import soundfile

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data.corpus import Utterance, load_corpus, read_audio, write_manifest
from mindspore_rnnt.recipe.data.text import Vocabulary


def _wav(path, seconds=1.0, rate=16000, channels=1):
    path.parent.mkdir(parents=True, exist_ok=True)
    audio = 0.1 * np.random.default_rng(0).standard_normal((round(seconds * rate), channels))
    soundfile.write(path, audio, rate)
    return path


@pytest.fixture
def manifest(tmp_path):
    """Two good lines and one of each kind of bad line."""
    (tmp_path / "nothing.wav").write_bytes(b"")
    (tmp_path / "noise.wav").write_bytes(b"this is no audio at all" * 10)
    (tmp_path / "folder.wav").mkdir()
    soundfile.write(tmp_path / "header.wav", np.zeros(0), 16000)
    _wav(tmp_path / "good.wav"), _wav(tmp_path / "good2.wav", channels=2)
    _wav(tmp_path / "slow.wav", rate=8000)
    _wav(tmp_path / "short.wav", 0.1), _wav(tmp_path / "long.wav", 16.0)
    names = ["good", "good2", "missing", "nothing", "noise", "folder", "header", "slow"]
    names += ["short", "long"]
    rows = [{"wav": f"{name}.wav", "text": "记录"} for name in names]
    rows.append({"wav": "good.wav", "text": "记X录", "key": "letters"})
    rows.append({"wav": "good.wav", "text": " ", "key": "blank"})
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    lines.append('{"wav": "good.wav", "text": null, "key": "null"}')
    lines += ["{broken", '{"text": "no wav"}', "[1]", ""]
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


EXPECTED = {
    "missing file: 2": "missing",
    "empty file: 2": "nothing",
    "unreadable file: 1": "noise",
    "sample rate other than 16000 Hz: 1": "slow (8000 Hz)",
    "too short or too long: 2": "short (0.10 s), long (16.00 s)",
    "unknown characters: 1": "letters (X)",
    "empty transcript: 1": "blank",
    "transcript that is not a string: 1": "null",
    "line that is not {wav, text}: 3": "line 14, line 15, line 16",
}


def test_bad_files_are_skipped_counted_and_named(manifest):
    with pytest.warns(UserWarning) as caught:
        good = load_corpus(manifest, config.load(), Vocabulary("记录"))
    (warning,) = caught
    message = str(warning.message)
    print(message)
    assert [item.key for item in good] == ["good", "good2"]
    assert "14 of 16 utterances cannot be used" in message
    lines = {line.strip() for line in message.splitlines()}
    for kind, names in EXPECTED.items():
        assert any(line.startswith(kind) and names in line for line in lines), kind
    assert all(len(item.audio()) == 16000 == item.samples for item in good)


def test_strict_is_an_error_with_the_same_words(manifest):
    with pytest.raises(ValueError, match="14 of 16 utterances cannot be used") as error:
        load_corpus(manifest, config.load(None, ["data.strict=true"]), Vocabulary("记录"))
    assert "slow (8000 Hz)" in str(error.value)


def test_nothing_usable_is_an_error(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"wav": "none.wav", "text": "记"}\n')
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="no usable utterance"):
        load_corpus(path, config.load())
    with pytest.raises(FileNotFoundError, match="no corpus at"):
        load_corpus(tmp_path / "nowhere", config.load())


def test_kaldi_folder(tmp_path):
    wavs = [_wav(tmp_path / "audio" / f"{key}.wav") for key in "abc"]
    scp = f"a {wavs[0]}\nb audio/b.wav\nc {wavs[2]}\nd sox c.flac -t wav - |\n"
    (tmp_path / "wav.scp").write_text(scp)
    (tmp_path / "text").write_text("a 记 录\nb 二号主变\n", encoding="utf-8")
    (tmp_path / "utt2spk").write_text("b bob\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="no transcript: 1: c") as caught:
        found = load_corpus(tmp_path, config.load())
    assert "command in wav.scp, not a file: 1: d" in str(caught[0].message)
    assert [(item.key, item.text, item.voice) for item in found] == [
        ("a", "记录", ""),
        ("b", "二号主变", "bob"),
    ]
    (tmp_path / "text").unlink()
    with pytest.raises(FileNotFoundError, match="the corpus lacks"):
        load_corpus(tmp_path, config.load())


def test_aishell_as_it_is_unpacked(tmp_path):
    root = tmp_path / "data_aishell"
    for part, key in [("train", "BAC009S0002W0122"), ("dev", "BAC009S0724W0121")]:
        _wav(root / "wav" / part / key[6:11] / f"{key}.wav")
    (root / "transcript").mkdir()
    (root / "transcript" / "aishell_transcript_v0.8.txt").write_text(
        "BAC009S0002W0122 而 对 楼市\nBAC009S0724W0121 广州市 房地产\n", encoding="utf-8"
    )
    (train,) = load_corpus(root / "wav" / "train", config.load())
    (dev,) = load_corpus(root / "wav" / "dev", config.load())
    assert (train.text, dev.text) == ("而对楼市", "广州市房地产")
    assert (train.voice, dev.voice) == ("S0002", "S0724")
    with pytest.raises(FileNotFoundError, match=r"no \*.txt"):
        load_corpus(root / "wav", config.load())


def test_a_written_manifest_reads_back_the_same_audio(tmp_path):
    pcm = np.random.default_rng(0).integers(-9000, 9000, 16000).astype(np.int16)
    written = Utterance("u1", "记录", len(pcm), 16000, "f1", pcm=pcm)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (read,) = load_corpus(write_manifest([written], tmp_path, "train"), config.load())
    assert (read.key, read.text, read.voice) == ("u1", "记录", "f1")
    assert np.array_equal(read.audio(), written.audio())


def test_a_speaker_is_a_voice_too(tmp_path):
    _wav(tmp_path / "a.wav")
    line = '{"wav": "a.wav", "text": "记录", "speaker": "bob"}'
    (tmp_path / "corpus.jsonl").write_text(line, encoding="utf-8")
    (read,) = load_corpus(tmp_path / "corpus.jsonl", config.load())
    assert read.voice == "bob"


def test_samples_that_are_not_finite_are_refused(tmp_path):
    audio = np.array([0.1, np.inf, 0.1], np.float32)
    soundfile.write(tmp_path / "a.wav", audio, 16000, subtype="FLOAT")
    with pytest.raises(ValueError, match=r"a.wav has samples that are not finite"):
        read_audio(tmp_path / "a.wav", 16000)
