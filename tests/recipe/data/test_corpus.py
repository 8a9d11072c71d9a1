# SPDX-License-Identifier: Apache-2.0
"""The three forms of a corpus, and every kind of bad file."""

import json
import warnings

import numpy as np
import pytest
import soundfile

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data.corpus import Utterance, load_corpus, read_audio, write_manifest
from mindspore_rnnt.recipe.data.entries import wav_files
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
    _wav(tmp_path / "good3.wav"), _wav(tmp_path / "good4.wav")
    rows.append({"wav": "good3.wav", "text": "记X录", "key": "letters"})
    rows.append({"wav": "good4.wav", "text": " ", "key": "blank"})
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
    assert [item.key for item in good] == ["good", "good2", "slow"], "any rate will do"
    assert "13 of 16 utterances cannot be used" in message
    lines = {line.strip() for line in message.splitlines()}
    for kind, names in EXPECTED.items():
        assert any(line.startswith(kind) and names in line for line in lines), kind
    assert all(len(item.audio()) == 16000 == item.samples for item in good)


def test_strict_is_an_error_with_the_same_words(manifest):
    with pytest.raises(ValueError, match="13 of 16 utterances cannot be used") as error:
        load_corpus(manifest, config.load(None, ["data.strict=true"]), Vocabulary("记录"))
    (line,) = str(error.value).splitlines()  # a command shows the first line of an error
    for kind, names in EXPECTED.items():
        assert kind in line and names in line


@pytest.mark.parametrize("rate", [8000, 22050, 44100])
def test_recordings_of_any_rate_keep_their_pitch_and_their_pieces(tmp_path, rate):
    time = np.arange(3 * rate + 7) / rate
    tone = 0.2 * np.sin(2 * np.pi * (500 * (time < 1.5) + 1500 * (time >= 1.5)) * time)
    soundfile.write(tmp_path / "tone.wav", tone, rate)
    row = {"wav": "tone.wav", "text": "记"}
    pieces = [row, row | {"offset": 0.5, "duration": 0.5}, row | {"offset": 2.0, "duration": 0.5}]
    lines = [json.dumps(item | {"key": f"u{n}"}) for n, item in enumerate(pieces)]
    (tmp_path / "m.jsonl").write_text("\n".join(lines), encoding="utf-8")
    whole, low, high = load_corpus(tmp_path / "m.jsonl", config.load())
    assert whole.samples == -(-len(tone) * 16000 // rate)
    assert (low.samples, high.samples) == (8000, 8000)
    for utterance, pitch in ((whole, None), (low, 500), (high, 1500)):
        audio = utterance.audio()
        assert len(audio) == utterance.samples and audio.dtype == np.float32
        if pitch:
            spectrum = np.abs(np.fft.rfft(audio * np.hanning(len(audio))))
            assert spectrum.argmax() * 16000 / len(audio) == pytest.approx(pitch, abs=2)


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


def _corpus(folder, text, **files):
    """A Kaldi folder with a recording of three seconds, `long`."""
    _wav(folder / "long.wav", 3.0)
    for name, lines in {"wav.scp": "long long.wav\n", "text": text, **files}.items():
        (folder / name).write_bytes(lines.encode() if isinstance(lines, str) else lines)
    return folder


@pytest.mark.parametrize("cut", ["\u2028", "\u0085", "\x0b", "\x0c", "\x1c"])
def test_only_line_feeds_end_a_line(tmp_path, cut):
    folder = _corpus(tmp_path, f"long 关闭阀门{cut}不要启动油泵\r\n")
    (found,) = load_corpus(folder, config.load())
    assert found.text == "关闭阀门不要启动油泵"
    row = json.dumps({"wav": "long.wav", "text": f"a{cut}b"}, ensure_ascii=False)
    (tmp_path / "c.jsonl").write_text(row, encoding="utf-8")
    (found,) = load_corpus(tmp_path / "c.jsonl", config.load())
    assert found.text == "a b"


def test_ids_that_are_not_clear_take_no_text(tmp_path):
    scp = "a long.wav \nb long.wav\nb other.wav\nc long.wav\n"
    text = "a 记录\nb 上报\nc 复核\nc 二号\nd 三号\n"
    folder = _corpus(tmp_path, text, **{"wav.scp": scp, "utt2spk": "a bob \n"})
    with pytest.warns(UserWarning) as caught:
        (found,) = load_corpus(folder, config.load())
    assert (found.key, found.text, found.voice) == ("a", "记录", "bob")
    message = str(caught[0].message)
    assert "id on two lines: 2: b, c" in message and "text without audio: 1: d" in message


def test_one_name_under_two_speakers_takes_no_text(tmp_path):
    root = tmp_path / "data_aishell"
    for name in ("S1/x", "S2/x", "S2/y"):
        _wav(root / "wav" / "train" / f"{name}.wav")
    (root / "transcript").mkdir()
    (root / "transcript" / "a.txt").write_text("x 记录\ny 上报\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="one name for two files: 2: x, x"):
        (found,) = load_corpus(root / "wav" / "train", config.load())
    assert (found.key, found.text) == ("y", "上报")


def test_segments_are_pieces_of_recordings(tmp_path):
    segments = "u1 long 0.5 1.5\nu2 long 1.25 3.0\nu3 long 2.5 9\nu4 none 0 1\nu5 long 1\n"
    text = "u1 记录\nu2 上报\nu3 复核\nu4 一\nu5 二\nlong 三\n"
    folder = _corpus(tmp_path, text, segments=segments)
    with pytest.warns(UserWarning) as caught:
        found = load_corpus(folder, config.load())
    message = str(caught[0].message)
    whole = read_audio(tmp_path / "long.wav", 16000)
    assert [(item.key, item.text, item.samples) for item in found] == [
        ("u1", "记录", 16000),
        ("u2", "上报", 28000),
    ]
    assert np.array_equal(found[0].audio(), whole[8000:24000])
    assert np.array_equal(found[1].audio(), whole[20000:48000])
    for part in ("beyond its file: 1: u3", "no recording: 1: u4", "begin, end: 1: u5"):
        assert part in message
    assert "text without audio: 1: long" in message


def test_nemos_manifest(tmp_path):
    _wav(tmp_path / "a.wav", 3.0)
    row = {"audio_filepath": "a.wav", "text": "记录", "offset": 1.0, "duration": 0.5}
    (tmp_path / "c.jsonl").write_text(json.dumps(row))
    (found,) = load_corpus(tmp_path / "c.jsonl", config.load())
    assert (found.start, found.samples) == (16000, 8000)


def test_a_test_set_counts_what_training_leaves_out(tmp_path):
    seconds = {"long": 16.0, "a": 1.0, "short": 0.2, "tiny": 0.005, "fast": 1.0}
    texts = {"a": "记X录", "fast": "记" * 80}
    for name, length in seconds.items():
        _wav(tmp_path / f"{name}.wav", length)
    rows = [{"wav": f"{name}.wav", "text": texts.get(name, "记录")} for name in seconds]
    path = tmp_path / "c.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = load_corpus(path, config.load(), Vocabulary("记录"), is_test=True)
    assert [(item.key, item.text) for item in found] == [
        (name, texts.get(name, "记录")) for name in seconds
    ]
    with pytest.warns(UserWarning, match="5 of 5"), pytest.raises(ValueError, match="no usable"):
        load_corpus(path, config.load(), Vocabulary("记录"))


def test_a_recording_says_one_thing(tmp_path):
    """Lines that agree are as good as one; of those that do not, none can be believed."""
    for name in "abcde":
        _wav(tmp_path / f"{name}.wav", 2.0)
    rows = [
        {"wav": "a.wav", "text": "记录", "key": "u1"},
        {"wav": "./a.wav", "text": "上报", "key": "u1"},
        {"wav": "b.wav", "text": "记 录"},
        {"wav": "b.wav", "text": "记录"},
        {"wav": "c.wav", "text": "记", "offset": 0.0, "duration": 1.0},
        {"wav": "c.wav", "text": "录", "offset": 1.0, "duration": 1.0},
        {"wav": "d.wav", "text": "记录", "voice": "bob"},
        {"wav": "d.wav", "text": "记录", "voice": "eve"},
        {"wav": "e.wav", "text": "记录", "key": "v1"},
        {"wav": "e.wav", "text": "复核", "key": "v2"},
    ]
    path = tmp_path / "c.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    for is_test in (False, True):
        with pytest.warns(UserWarning, match="6 of 10 utterances cannot be used") as caught:
            found = load_corpus(path, config.load(), is_test=is_test)
        assert [(item.key, item.text) for item in found] == [
            ("b", "记录"),
            ("b", "记录"),
            ("c", "记"),
            ("c", "录"),
        ]
        message = str(caught[0].message)
        assert "recording on lines that do not agree: 6: u1, u1, d, d, v1, ..." in message


def test_a_speaker_on_two_lines_is_named(tmp_path):
    spoken = "a bob\na eve\nb bob\nb bob\n"
    folder = _corpus(
        tmp_path,
        "a 记录\nb 记录\n",
        **{"segments": "a long 0 1\nb long 1 2\n", "utt2spk": spoken},
    )
    with pytest.warns(UserWarning, match="two speakers in utt2spk: 1: a"):
        (found,) = load_corpus(folder, config.load())
    assert (found.key, found.voice) == ("b", "bob")


def test_linked_folders_are_walked_once(tmp_path):
    _wav(tmp_path / "elsewhere" / "a.wav")
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "speaker").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "corpus")
    assert [path.name for path in wav_files(tmp_path / "corpus")] == ["a.wav"]


def test_audio_that_says_nothing_is_named(tmp_path):
    tone = 0.1 * np.sin(np.arange(16000) / 5)
    soundfile.write(tmp_path / "opposite.wav", np.stack([tone, -tone], axis=1), 16000)
    with pytest.raises(ValueError, match=r"channels of .*opposite.wav cancel each other"):
        read_audio(tmp_path / "opposite.wav", 16000)
    soundfile.write(tmp_path / "zeros.wav", np.zeros(16000), 16000)
    with pytest.raises(ValueError, match=r"zeros.wav is silent"):
        Utterance("z", "记录", 16000, 16000, path=str(tmp_path / "zeros.wav")).audio()
    assert not Utterance("z", "", 16000, 16000, path=str(tmp_path / "zeros.wav")).audio().any()
    zeros = np.zeros(16000, np.int16)
    with pytest.raises(ValueError, match=r"z is silent"):
        Utterance("z", "记录", 16000, 16000, pcm=zeros).audio()
    assert not Utterance("z", "", 16000, 16000, pcm=zeros).audio().any()


def test_what_cannot_be_trained_is_named(tmp_path):
    _wav(tmp_path / "a.wav"), _wav(tmp_path / "c.wav")
    (tmp_path / "b.raw").write_bytes(bytes(32000))
    rows = [{"wav": "a.wav", "text": "记" * 76}, {"wav": "b.raw", "text": "记"}]
    path = tmp_path / "c.jsonl"
    path.write_text("\n".join(map(json.dumps, [*rows, {"wav": "c.wav", "text": "记" * 75}])))
    with pytest.warns(UserWarning) as caught:
        (found,) = load_corpus(path, config.load())  # 25 frames a second, 3 labels a frame
    assert len(found.text) == 75
    assert "more text than its audio holds: 1: a (76 characters)" in str(caught[0].message)
    assert "unreadable file: 1: b" in str(caught[0].message)


@pytest.mark.parametrize("encoding", ["gb18030", "utf-16"])
def test_another_encoding_names_the_file(tmp_path, encoding):
    folder = _corpus(tmp_path, "long 记录\n".encode(encoding))
    with pytest.raises(ValueError, match=r"text is not UTF-8 text .*`iconv"):
        load_corpus(folder, config.load())


def test_two_utterances_of_one_key_are_not_written(tmp_path):
    same = [Utterance("u", "记", 16000, 16000, pcm=np.ones(16000, np.int16))] * 2
    with pytest.raises(ValueError, match="two utterances have the key 'u'"):
        write_manifest(same, tmp_path, "train")


def test_what_cannot_be_read_is_not_written(tmp_path):
    pcm = np.full(16000, 99, np.int16)
    _wav(tmp_path / "gone.wav").unlink()
    soundfile.write(tmp_path / "silent.wav", np.zeros(16000), 16000)
    bad = [
        Utterance(name, "记", 16000, 16000, path=str(tmp_path / f"{name}.wav"))
        for name in ("gone", "silent")
    ]
    good = Utterance("good", "记", 16000, 16000, pcm=pcm)
    with pytest.warns(UserWarning, match=r"train: 2 of 3 .*\n.*: 2: gone \(.*, silent \("):
        written = write_manifest([*bad, good], tmp_path / "out", "train")
    assert [json.loads(line)["key"] for line in written.read_text().splitlines()] == ["good"]
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="train has no usable"):
        write_manifest(bad, tmp_path / "out", "train")
