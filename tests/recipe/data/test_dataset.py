# SPDX-License-Identifier: Apache-2.0
"""Batches: fixed shapes, exact resume and sharding, the row vectors of the packed joiner."""

from dataclasses import replace

import numpy as np
import pytest
from recipe_networks import same_batch

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data import buckets, conditions, dataset
from mindspore_rnnt.recipe.data.features import LogMel

OVERRIDES = [
    "data.train_utterances=50",
    "data.heldout_utterances=6",
    "train.batch_size=4",
    "augment.speeds=[0.9, 1.0, 1.1]",
    "augment.gain_db=[-6, 6]",
    "augment.reverberant=0.3",
    "augment.narrow=0.3",
    "augment.clipped=0.3",
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
    rows = np.stack([batch["frame_rows"], batch["step_rows"]], axis=1)
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
        assert all(same_batch(ours, theirs) for ours, theirs in zip(rest, whole[start:]))


def test_leaving_an_epoch_early_does_no_harm(built):
    batches = built[0].epoch(2)
    first = next(batches)
    batches.close()
    assert same_batch(first, next(iter(built[0].epoch(2))))


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
    assert not same_batch(first, second)


def test_heldout_batches_clean_and_noisy(built, settings):
    source, heldout, _, cmvn = built
    trials, noise = conditions.Trials(settings), conditions.Condition("5 dB", "plant", 5.0)
    clean = list(dataset.heldout_batches(settings, heldout, cmvn, source.shapes))
    noisy = list(dataset.heldout_batches(settings, heldout, cmvn, source.shapes, noise))
    again = list(dataset.heldout_batches(settings, heldout, cmvn, source.shapes, noise, trials))
    assert [len(batch["utterances"]) for batch in clean] == [4, 2]
    assert {item.key for batch in clean for item in batch["utterances"]} == {
        item.key for item in heldout
    }
    for batch, other, same in zip(clean, noisy, again):
        assert batch["features"].shape[0] == 4 and batch["features"].shape[1] in source.shapes
        assert np.array_equal(batch["frame_lengths"], other["frame_lengths"])
        assert not np.array_equal(batch["features"], other["features"])
        assert np.array_equal(other["features"], same["features"])
        utterance = batch["utterances"][0]
        heard = trials.hear(utterance.audio(), conditions.CLEAN, heldout.index(utterance))
        expected = cmvn(LogMel(settings.features)(heard))
        assert np.array_equal(batch["features"][0, : len(expected)], expected)


def test_a_bad_recording_does_not_hold_up_the_others(built, settings, tmp_path):
    """One that is shorter than a frame of the encoder is heard, one that is lost is named."""
    source, heldout, _, cmvn = built
    short = replace(heldout[0], key="short", pcm=heldout[0].pcm[4000:4100], samples=100)
    gone = replace(heldout[1], key="gone", pcm=None, path=str(tmp_path / "gone.wav"))
    bare = settings.model_copy(deep=True)
    bare.evaluate.pad_seconds = [0.0, 0.0]
    for condition in conditions.conditions(bare):
        parts = (bare, [short, gone, heldout[2]], cmvn, source.shapes, condition)
        with pytest.warns(UserWarning, match=r"held-out speech: 1 of 3 .*\n.*: 1: gone \("):
            (batch,) = list(dataset.heldout_batches(*parts))
        assert [item.key for item in batch["utterances"]] == ["short", heldout[2].key]
        assert batch["frame_lengths"][0] >= 4 and np.isfinite(batch["features"]).all()
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="no held-out utterance can be"):
        list(dataset.heldout_batches(bare, [gone], cmvn, source.shapes))


def test_quiet_around_an_utterance_is_part_of_its_length(settings):
    longer = config.load(None, [*OVERRIDES, "augment.pad_seconds=[0.5, 0.75]"])
    bare = config.load(None, [*OVERRIDES, "augment.pad_seconds=[0, 0]"])
    padded, plain = (dataset.build(some)[0] for some in (longer, bare))
    extra = []
    for batch in padded.epoch(0):
        assert batch["features"].shape[1] in padded.shapes
        extra += list(zip(batch["texts"], batch["frame_lengths"]))
    usual = {
        text: n
        for batch in plain.epoch(0)
        for text, n in zip(batch["texts"], batch["frame_lengths"])
    }
    # The same speeds are drawn, so the difference is the quiet alone: 1.0 to 1.5 s of 10 ms frames.
    differences = [frames - usual[text] for text, frames in extra if text in usual]
    assert len(differences) > 40 and min(differences) >= 99 and max(differences) <= 151


def test_negatives_are_trained_with_nothing_to_say(settings):
    more = ["data.train_noises=5", "data.train_others=9", "data.train_utterances=14"]
    source, heldout, vocabulary, _ = dataset.build(config.load(None, [*OVERRIDES, *more]))
    assert all(item.text for item in heldout) and len(vocabulary) == 56
    batches = list(source.epoch(0))
    empty = 0
    for batch in batches:
        rows = zip(
            batch["texts"], batch["target_lengths"], batch["features"], batch["frame_lengths"]
        )
        for text, labels, features, frames in rows:
            assert labels == len(text)
            assert features[: frames - 1].std() > 0 and np.isfinite(features).all()
            empty += text == ""
    assert len(batches) == 7 and empty == 14
    per_row = [
        t * (u + 1) for b in batches for t, u in zip(b["encoder_lengths"], b["target_lengths"])
    ]
    assert sum(per_row) == sum(len(batch["frame_rows"]) for batch in batches)


def test_too_few_utterances_for_a_batch_say_so():
    with pytest.raises(ValueError, match="50 training utterances do not fill one batch of 64"):
        dataset.build(config.load(None, [*OVERRIDES, "train.batch_size=64"]))
    with pytest.raises(ValueError, match="extra is trained beside synthetic speech"):
        dataset.load(config.load(None, ["data.train=a", "data.heldout=b", "data.extra=c"]))
    with pytest.raises(ValueError, match="must be given together"):
        dataset.load(config.load(None, ["data.train=somewhere"]))


def test_padded_shapes():
    frames = np.array([100] * 10 + [200] * 10 + [300] * 10)
    assert buckets.padded_shapes(frames, 3) == [128, 256, 320]
    assert buckets.padded_shapes(frames, 1) == [320]
    assert buckets.padded_shapes(np.array([5, 64, 65]), 8) == [64, 128]
    assert buckets.padded_shapes(frames, 3, longest=500) == [128, 256, 512]
    assert buckets.padded_shapes(frames, 1, longest=200) == [320]
    assert buckets.shape_of(128, [128, 256]) == 128
    assert buckets.shape_of(129, [128, 256]) == 256
    assert buckets.shape_of(300, [128, 256]) == 320, "longer than all of the training set"


def test_some_utterances_are_spread_over_all():
    assert dataset.spread(range(10), 3) == range(0, 9, 3)
    assert list(dataset.spread([1, 2, 3], 3)) == list(dataset.spread([1, 2, 3], 99)) == [1, 2, 3]
    assert len(dataset.spread(range(1000), 300)) == 300


def test_augmentation_grows_over_the_first_epochs():
    ramp = [*OVERRIDES, "augment.speeds=[1.0]", "augment.pad_seconds=[1, 1]", "noise.probability=1"]
    ramp += [
        "augment.clean_epochs=1",
        "augment.ramp_epochs=1",
        "augment.time_masks=0",
        "augment.frequency_masks=0",
    ]
    settings = config.load(None, ramp)
    source, _, _, cmvn = dataset.build(settings)
    by_text = {item.text: item for item in source._utterances}
    extractor = LogMel(settings.features)
    for epoch, seconds in ((0, 0), (1, 1), (2, 2), (5, 2)):
        batch = next(iter(source.epoch(epoch)))
        for text, frames, features in zip(
            *(batch[k] for k in ("texts", "frame_lengths", "features"))
        ):
            clean = extractor(by_text[text].audio())
            assert abs(frames - len(clean) - 100 * seconds) <= 1
            if epoch == 0:
                assert np.array_equal(features[:frames], cmvn(clean)), "nothing is done to it"


@pytest.mark.parametrize("workers", [["data.workers=2"], ["data.workers=2", "data.processes=true"]])
def test_batches_do_not_depend_on_the_workers(built, workers):
    alone = list(built[0].epoch(5))
    several = dataset.build(config.load(None, [*OVERRIDES, *workers]))[0]
    whole = list(several.epoch(5))
    assert len(whole) == len(alone) and all(same_batch(*pair) for pair in zip(alone, whole))
    rest = list(several.epoch(5, start_step=9))
    assert len(rest) == 3 and all(same_batch(*pair) for pair in zip(alone[9:], rest))
