# SPDX-License-Identifier: Apache-2.0
"""Batches: fixed shapes, exact resume and sharding, the row vectors of the packed joiner."""

import os

import numpy as np
import pytest
import soundfile

from mindspore_rnnt.recipe import config, corpus, dataset
from mindspore_rnnt.recipe.features import LogMel

OVERRIDES = [
    "data.train_utterances=50",
    "data.heldout_utterances=6",
    "train.batch_size=4",
    "augment.speeds=[0.9, 1.0, 1.1]",
    "augment.gain_db=[-6, 6]",
    "augment.time_masks=1",
    "augment.frequency_masks=1",
    "decode.batch_size=4",
]


@pytest.fixture(scope="module")
def settings():
    return config.load(None, OVERRIDES)


@pytest.fixture(scope="module")
def built(settings):
    return dataset.build(settings)


def _same(left, right):
    assert left.keys() == right.keys()
    return all(np.array_equal(left[key], right[key]) for key in left)


def test_batches_have_a_handful_of_shapes_and_right_contents(built, settings):
    source, _, vocabulary, _ = built
    batches = list(source.epoch(0))
    assert source.steps_per_epoch == len(batches) == 50 // 4
    assert len(source.shapes) <= settings.data.buckets
    shapes = {batch["features"].shape for batch in batches}
    assert shapes <= {(4, frames, 80) for frames in source.shapes}
    assert all(frames % 64 == 0 for frames in source.shapes)
    for batch in batches:
        assert batch["features"].dtype == np.float32
        for name in ("frame_lengths", "encoder_lengths", "targets", "target_lengths"):
            assert batch[name].dtype == np.int32
        assert np.array_equal(batch["encoder_lengths"], batch["frame_lengths"] // 4)
        assert batch["targets"].shape == (4, source.max_u)
        rows = zip(batch["features"], batch["frame_lengths"], batch["targets"], batch["texts"])
        for (row, frames, targets, text), labels in zip(rows, batch["target_lengths"]):
            assert not row[frames:].any() and row[frames - 1].any()
            assert vocabulary.decode(targets[:labels]) == text
            assert not targets[labels:].any()


def test_row_vectors_are_those_of_the_encoder_lengths(built):
    batch = next(iter(built[0].epoch(0)))
    max_t, max_u1 = batch["features"].shape[1] // 4, built[0].max_u + 1
    expected = [
        (b * max_t + t, b * max_u1 + u)
        for b in range(4)
        for t in range(batch["frame_lengths"][b] // 4)
        for u in range(batch["target_lengths"][b] + 1)
    ]
    rows = np.stack([batch["frame_rows"], batch["label_rows"]], axis=1)
    assert rows.dtype == np.int32
    assert np.array_equal(rows, expected)


def test_every_utterance_comes_at_most_once_an_epoch_in_another_order(built):
    orders = [[text for batch in built[0].epoch(e) for text in batch["texts"]] for e in (0, 1)]
    assert len(set(orders[0])) == len(orders[0]) == 48
    assert orders[0] != orders[1]


def test_resumed_at_any_step_gives_the_same_bits(built, settings):
    whole = list(built[0].epoch(3))
    again = dataset.build(settings)[0]
    for start in (0, 5, 11, 12):
        rest = list(again.epoch(3, start_step=start))
        assert len(rest) == len(whole) - start
        assert all(_same(ours, theirs) for ours, theirs in zip(rest, whole[start:]))


def test_leaving_an_epoch_early_does_no_harm(built):
    batches = built[0].epoch(2)
    first = next(batches)
    batches.close()
    assert _same(first, next(iter(built[0].epoch(2))))


def test_two_ranks_are_the_halves_of_one_process(settings):
    joined = config.load(None, [*OVERRIDES, "train.batch_size=8"])
    one = list(dataset.build(joined)[0].epoch(1))
    two = [list(dataset.build(settings, rank, 2)[0].epoch(1)) for rank in (0, 1)]
    assert len(one) == len(two[0]) == len(two[1]) == 6
    for whole, left, right in zip(one, *two):
        for name in ("features", "frame_lengths", "targets", "target_lengths"):
            assert np.array_equal(whole[name], np.concatenate([left[name], right[name]])), name
        assert whole["texts"] == left["texts"] + right["texts"]


def test_seeds_differ(built, settings):
    other = dataset.build(config.load(None, [*OVERRIDES, "train.seed=2"]))[0]
    first, second = (next(iter(source.epoch(0))) for source in (built[0], other))
    assert not _same(first, second)


def test_heldout_batches_clean_and_noisy(built, settings):
    source, heldout, _, cmvn = built
    clean = list(dataset.heldout_batches(settings, heldout, cmvn, source.shapes))
    noisy = list(dataset.heldout_batches(settings, heldout, cmvn, source.shapes, 5.0))
    again = list(dataset.heldout_batches(settings, heldout, cmvn, source.shapes, 5.0))
    assert [len(batch["utterances"]) for batch in clean] == [4, 2]
    assert {item.key for batch in clean for item in batch["utterances"]} == {
        item.key for item in heldout
    }
    for batch, noise, same in zip(clean, noisy, again):
        assert batch["features"].shape[0] == 4 and batch["features"].shape[1] in source.shapes
        assert np.array_equal(batch["frame_lengths"], noise["frame_lengths"])
        assert not np.array_equal(batch["features"], noise["features"])
        assert np.array_equal(noise["features"], same["features"])
        expected = cmvn(LogMel(settings.features)(batch["utterances"][0].audio()))
        assert np.array_equal(batch["features"][0, : len(expected)], expected)


def test_too_few_utterances_for_a_batch_say_so():
    with pytest.raises(ValueError, match="50 training utterances do not fill one batch of 64"):
        dataset.build(config.load(None, [*OVERRIDES, "train.batch_size=64"]))
    with pytest.raises(ValueError, match="must be given together"):
        dataset.load(config.load(None, ["data.train=somewhere"]))


def test_padded_shapes():
    frames = np.array([100] * 10 + [200] * 10 + [300] * 10)
    assert dataset.padded_shapes(frames, 3) == [128, 256, 320]
    assert dataset.padded_shapes(frames, 1) == [320]
    assert dataset.padded_shapes(np.array([5, 64, 65]), 8) == [64, 128]
    assert dataset.shape_of(128, [128, 256]) == 128
    assert dataset.shape_of(129, [128, 256]) == 256
    assert dataset.shape_of(300, [128, 256]) == 320, "longer than all of the training set"


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
    ]


def test_a_corpus_on_disk_and_its_feature_cache(on_disk, tmp_path):
    memory, heldout, vocabulary, _ = dataset.build(config.load(None, on_disk))
    folder = [*on_disk, f"features.cache={tmp_path / 'cache'}"]
    cached = dataset.build(config.load(None, folder))[0]
    assert len(heldout) <= 2 and len(vocabulary) < 56
    assert len(os.listdir(tmp_path / "cache")) == 9
    first = list(memory.epoch(0))
    assert all(_same(a, b) for a, b in zip(first, cached.epoch(0)))
    (tmp_path / "cache" / os.listdir(tmp_path / "cache")[0]).write_bytes(b"torn")
    assert all(_same(a, b) for a, b in zip(first, cached.epoch(0)))


def test_a_file_lost_after_the_start_is_replaced_and_named(on_disk, tmp_path):
    source = dataset.build(config.load(None, [*on_disk, "features.cache_mb=0"]))[0]
    before = list(source.epoch(0))
    (tmp_path / "train" / "train-00004.wav").unlink()
    soundfile.write(tmp_path / "train" / "train-00005.wav", np.zeros(50000), 16000)
    with pytest.warns(UserWarning) as caught:
        after = list(source.epoch(0))
    messages = " ".join(str(item.message) for item in caught)
    assert "train-00004 became unreadable" in messages
    assert "train-00005 became unreadable: 50000 samples instead of" in messages
    assert [b["features"].shape for b in before] == [b["features"].shape for b in after]
    for batch in after:
        assert batch["frame_lengths"].min() > 0 and len(set(batch["texts"])) >= 1
