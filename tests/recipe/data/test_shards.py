# SPDX-License-Identifier: Apache-2.0
"""A packed corpus is the corpus: the same utterances, samples and batches."""

from dataclasses import replace

import numpy as np
import pytest

from mindspore_rnnt.recipe import __main__ as cli
from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data import corpus, dataset, shards
from mindspore_rnnt.recipe.data.text import Vocabulary

COUNT = 11


@pytest.fixture(scope="module")
def spoken():
    rng = np.random.default_rng(0)
    return [
        corpus.Utterance(
            f"u{n:02d}",
            "记录主变" if n % 2 else "上报油泵",
            8000 + 400 * n,
            16000,
            voice="f1" if n < 5 else "",
            pcm=rng.integers(-9000, 9000, 8000 + 400 * n).astype(np.int16),
        )
        for n in range(COUNT)
    ]


@pytest.mark.parametrize("block", [2, 64])
@pytest.mark.parametrize("count", [1, 3, 50])
def test_utterances_come_back_in_their_order(spoken, tmp_path, count, block, monkeypatch):
    monkeypatch.setattr(shards, "BLOCK", block)
    path = tmp_path / "train.mindrecord"
    assert shards.pack(spoken, path, count) == spoken
    assert len(shards.files(path)) == min(count, COUNT)
    found = shards.load(path, config.load(None), None)
    for ours, theirs in zip(found, spoken, strict=True):
        assert (ours.key, ours.text, ours.voice, ours.samples) == (
            theirs.key,
            theirs.text,
            theirs.voice,
            theirs.samples,
        )
    for number in (7, 0, COUNT - 1, 3):  # in any order
        assert np.array_equal(found[number].audio(), spoken[number].audio())


def test_batches_of_a_packed_corpus_are_those_of_the_recordings(spoken, tmp_path):
    manifest = corpus.write_manifest(spoken, tmp_path, "train")
    shards.pack(corpus.load_corpus(manifest, config.load(None)), tmp_path / "p.mindrecord", 2)

    def settings(source, *more):
        where = [f"data.train={source}", f"data.heldout={source}", "train.batch_size=4"]
        return config.load(None, [*where, *more])

    recorded = dataset.build(settings(manifest))[0]
    for more in ([], [f"features.cache={tmp_path / 'cache'}"], ["data.workers=2"]):
        packed = dataset.build(settings(tmp_path / "p.mindrecord", *more))[0]
        pairs = zip(recorded.epoch(1), packed.epoch(1), strict=True)
        for ours, theirs in pairs:
            assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_what_cannot_be_spelled_or_has_another_rate_is_named(spoken, tmp_path):
    path = tmp_path / "train.mindrecord"
    shards.pack(spoken, path, 1)
    with pytest.warns(UserWarning, match="5 of 11 utterances cannot be used") as caught:
        found = shards.load(path, config.load(None), Vocabulary(list("上报油泵")))
    assert len(found) == 6 and "unknown characters: 5: u01" in str(caught[0].message)
    slow = config.load(None, ["features.sample_rate=8000"])
    with pytest.warns(UserWarning, match="rate"), pytest.raises(ValueError, match="no usable"):
        shards.load(path, slow, None)


def test_missing_and_torn_files_are_errors_with_their_names(spoken, tmp_path):
    path = tmp_path / "train.mindrecord"
    with pytest.raises(FileNotFoundError, match=r"no packed corpus at .*train.mindrecord"):
        shards.load(path, config.load(None), None)
    shards.pack(spoken, path, 1)
    (utterance, *_) = shards.load(path, config.load(None), None)
    path.write_bytes(b"torn")
    with pytest.raises(OSError, match=r"cannot read .*train.mindrecord: "):
        utterance.audio()


@pytest.mark.parametrize("counts", [(3, 2), (11, 1), (1, 3)])
def test_a_new_packing_takes_the_place_of_the_old_one(spoken, tmp_path, counts):
    path, settings = tmp_path / "train.mindrecord", config.load(None)
    beside = [tmp_path / "other.mindrecord", tmp_path / "train.mindrecord.txt"]
    shards.pack(spoken[:1], beside[0], 1)
    beside[1].write_text("notes")
    for part, count in zip((spoken[:6], spoken[6:]), counts):
        shards.pack(part, path, count)
        found = shards.load(path, settings, None)
        assert [item.key for item in found] == [item.key for item in part]
        assert all(np.array_equal(a.audio(), b.audio()) for a, b in zip(found, part))
    assert len(list(tmp_path.glob("train.mindrecord*.db"))) == len(shards.files(path))
    assert len(shards.load(beside[0], settings, None)) == 1 and beside[1].is_file()


def test_a_packing_that_fails_leaves_the_old_one(spoken, tmp_path, monkeypatch):
    path = tmp_path / "train.mindrecord"
    shards.pack(spoken[:4], path, 2)
    before = sorted(tmp_path.iterdir())

    def broken(item, audio):
        raise OSError("the disk is full")

    with monkeypatch.context() as some, pytest.raises(OSError, match="full"):
        some.setattr(shards, "_record", broken)
        shards.pack(spoken[4:], path, 1)
    assert sorted(tmp_path.iterdir()) == before
    assert [item.key for item in shards.load(path, config.load(None), None)] == [
        item.key for item in spoken[:4]
    ]


def test_what_cannot_be_heard_is_not_packed(spoken, tmp_path):
    path, silent = tmp_path / "train.mindrecord", replace(spoken[1], pcm=np.zeros(9, np.int16))
    gone = replace(spoken[0], pcm=None, path=str(tmp_path / "gone.wav"))
    with pytest.warns(UserWarning, match=r"2 of 4 .*\n.*: 2: u00 \(.*, u01 \(u01 is silent"):
        written = shards.pack([gone, silent, *spoken[2:4]], path, 4)
    assert written == spoken[2:4]
    assert [item.key for item in shards.load(path, config.load(None), None)] == ["u02", "u03"]
    with pytest.raises(ValueError, match="2 of 4 utterances cannot be used"):
        shards.pack([gone, silent, *spoken[2:4]], path, 4, strict=True)
    with pytest.warns(UserWarning), pytest.raises(ValueError, match=r"no utterance for train"):
        shards.pack([gone, silent], path, 1)
    shards.pack([replace(silent, text="")], path, 1)  # of packers that did not look
    (zeros,) = shards.load(path, config.load(None), None)
    with pytest.raises(ValueError, match="is silent"):
        replace(zeros, text="记录").audio()


def test_pack_writes_both_parts_of_a_corpus(tmp_path, capsys):
    small = ["data.train_utterances=4", "data.heldout_utterances=2", "data.train_phrases=0"]
    small += ["data.train_fragments=0", "data.train_others=1", "data.train_noises=1"]
    small += ["data.train_pairs=1"]
    words = [word for item in small for word in ("--set", item)]
    pack = ["pack", "--output", str(tmp_path / "s"), *words]
    assert cli.main([*pack, "--shards", "0"]) == 1
    assert "--shards must be at least 1, but got 0" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()
    assert cli.main([*pack, "--shards", "2"]) == 0
    shown = capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "s").glob("*[!b]")) == [
        "heldout.mindrecord0",
        "heldout.mindrecord1",
        "train.mindrecord0",
        "train.mindrecord1",
        "vocabulary.txt",
    ]
    settings = [line.split(":")[0] for line in shown.strip().splitlines()]
    assert settings[-1] == "data.train_pairs=0"
    train, heldout, _ = dataset.load(config.load("tiny.yaml", [*settings, "data.train_noises=0"]))
    spoken = dataset.load(config.load(None, small))
    for ours, theirs in ((train, [i for i in spoken[0] if i.text]), (heldout, spoken[1])):
        for a, b in zip(ours, theirs, strict=True):
            assert a.text == b.text and np.array_equal(a.audio(), b.audio())
