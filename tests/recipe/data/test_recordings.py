# SPDX-License-Identifier: Apache-2.0
"""A corpus on disk: its cache of features, and recordings that are lost, torn or not finite."""

import os

import numpy as np
import pytest
import soundfile
from recipe_networks import same_batch

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data import corpus, dataset


@pytest.fixture
def on_disk(tmp_path):
    """A real corpus in two manifests, trained without noise so that features are cached."""
    small = config.load(None, ["data.train_utterances=9", "data.heldout_utterances=2"])
    train, heldout, _ = dataset.load(small)
    paths = [
        corpus.write_manifest(*part)
        for part in [(train, tmp_path, "train"), (heldout, tmp_path, "heldout")]
    ]
    return [
        f"data.train={paths[0]}",
        f"data.heldout={paths[1]}",
        "train.batch_size=3",
        "noise.probability=0.0",
        "augment.gain_db=[0, 0]",
        "augment.pad_seconds=[0, 0]",
    ]


def test_a_corpus_on_disk_and_its_feature_cache(on_disk, tmp_path):
    memory, heldout, vocabulary, _ = dataset.build(config.load(None, on_disk))
    folder = [*on_disk, f"features.cache={tmp_path / 'cache'}"]
    cached = dataset.build(config.load(None, folder))[0]
    assert len(heldout) <= 2 and len(vocabulary) < 56
    assert len(os.listdir(tmp_path / "cache")) == 9
    first = list(memory.epoch(0))
    assert all(same_batch(a, b) for a, b in zip(first, cached.epoch(0)))
    (tmp_path / "cache" / os.listdir(tmp_path / "cache")[0]).write_bytes(b"torn")
    assert all(same_batch(a, b) for a, b in zip(first, cached.epoch(0)))


def test_a_file_lost_after_the_start_is_replaced_and_named(on_disk, tmp_path):
    source = dataset.build(config.load(None, [*on_disk, "features.cache_mb=0"]))[0]
    before = list(source.epoch(0))
    (tmp_path / "train" / "train-00004.wav").unlink()
    soundfile.write(tmp_path / "train" / "train-00005.wav", np.full(5000, 0.1), 16000)
    with pytest.warns(UserWarning) as caught:
        after = list(source.epoch(0))
    messages = " ".join(str(item.message) for item in caught)
    assert "train-00004 became unreadable, " in messages
    assert "train-00005 became unreadable, " in messages
    assert "2 so far: " in messages and "5000 samples instead of" in messages
    assert source.lost == {"train-00004", "train-00005"}
    assert [b["features"].shape for b in before] == [b["features"].shape for b in after]
    for batch in after:
        assert batch["frame_lengths"].min() > 0 and len(set(batch["texts"])) >= 1


def test_a_batch_that_is_lost_whole_is_made_of_others(on_disk, tmp_path):
    source = dataset.build(config.load(None, [*on_disk, "features.cache_mb=0"]))[0]
    before = list(source.epoch(0))
    keys = {item.text: item.key for item in source._utterances}
    for text in before[1]["texts"]:
        (tmp_path / "train" / f"{keys[text]}.wav").write_bytes(b"torn")
    with pytest.warns(UserWarning) as caught:
        after = list(source.epoch(0))
    assert "3 so far" in str(caught[-1].message)
    assert same_batch(before[0], after[0]) and same_batch(before[2], after[2])
    assert after[1]["features"].shape == before[1]["features"].shape
    (text,) = set(after[1]["texts"])
    assert text in before[0]["texts"] + before[2]["texts"]
    assert np.isfinite(after[1]["features"]).all() and after[1]["frame_lengths"].min() > 0

    for wav in (tmp_path / "train").iterdir():
        wav.unlink()
    with pytest.raises(RuntimeError, match=r"no training utterance .* any more; train-\d+: "):
        list(source.epoch(0))


def test_strict_stops_at_a_lost_file(on_disk, tmp_path):
    strict = [*on_disk, "features.cache_mb=0", "data.strict=true"]
    source = dataset.build(config.load(None, strict))[0]
    (tmp_path / "train" / "train-00004.wav").unlink()
    with pytest.raises(ValueError, match="train-00004 became unreadable"):
        list(source.epoch(0))


def test_masks_do_not_depend_on_what_the_cache_holds(on_disk, tmp_path):
    masked = [*on_disk, "augment.time_masks=2", "augment.frequency_masks=1"]
    warm = dataset.build(config.load(None, masked))[0]
    cold = dataset.build(config.load(None, [*masked, "features.cache_mb=0"]))[0]
    assert all(same_batch(*pair) for pair in zip(warm.epoch(2), cold.epoch(2), strict=True))
    late = list(dataset.build(config.load(None, masked))[0].epoch(2, start_step=2))
    assert same_batch(late[0], list(warm.epoch(2))[2])


def test_a_file_with_a_nan_counts_for_nothing(on_disk, tmp_path):
    path = tmp_path / "train" / "train-00003.wav"
    audio, rate = soundfile.read(path, dtype="float32")
    audio[100] = np.nan
    soundfile.write(path, audio, rate, subtype="FLOAT")
    with pytest.warns(UserWarning, match=r"train-00003 \(.* samples that are not finite"):
        source, _, _, cmvn = dataset.build(config.load(None, on_disk))
    assert np.isfinite(cmvn.mean).all() and np.isfinite(cmvn.scale).all()
    with pytest.warns(UserWarning, match="train-00003 became unreadable"):
        assert all(np.isfinite(batch["features"]).all() for batch in source.epoch(0))
    with pytest.raises(ValueError, match="1 of 9 utterances cannot be used"):
        dataset.build(config.load(None, [*on_disk, "data.strict=true"]))


def test_recordings_can_be_trained_beside_synthetic_speech(on_disk, tmp_path):
    synthetic = ["data.train_utterances=12", "data.heldout_utterances=2"]
    extra = config.load(None, [*synthetic, f"data.extra={tmp_path / 'train.jsonl'}"])
    train, heldout, vocabulary = dataset.load(extra)
    alone = dataset.load(config.load(None, synthetic))
    assert [item.text for item in heldout] == [item.text for item in alone[1]]
    recorded = [item for item in train if item.path]
    assert len(train) == len(alone[0]) + 9 and len(recorded) == 9
    assert vocabulary.characters == alone[2].characters


def test_worker_processes_name_what_is_lost_and_keep_their_errors(on_disk, tmp_path):
    several = [*on_disk, "features.cache_mb=0", "data.workers=2", "data.processes=true"]
    source = dataset.build(config.load(None, several))[0]
    (tmp_path / "train" / "train-00004.wav").unlink()
    with pytest.warns(UserWarning, match=r"train-00004 became unreadable, 1 so far: "):
        list(source.epoch(0))
    assert source.lost == {"train-00004"}
    for wav in (tmp_path / "train").iterdir():
        wav.unlink()
    with pytest.raises(RuntimeError, match=r"^no training utterance of up to \d+ frames"):
        list(source.epoch(1))
