# SPDX-License-Identifier: Apache-2.0
"""Speed, quiet around speech, channels, gain and masks: lengths, levels, shares."""

import numpy as np
import pytest

from mindspore_rnnt.recipe.data.augment import (
    change_speed,
    draw_pads,
    enter_room,
    floor_level,
    is_untouched,
    pass_channel,
    spec_augment,
    sped_samples,
    surround,
)
from mindspore_rnnt.recipe.settings import AugmentConfig


@pytest.mark.parametrize("speed", [0.9, 1.0, 1.1, 1.25])
@pytest.mark.parametrize("samples", [1600, 16001])
def test_speed_changes_length_and_pitch(speed, samples):
    audio = np.sin(2 * np.pi * 1000 * np.arange(samples) / 16000).astype(np.float32)
    sped = change_speed(audio, speed)
    assert sped.dtype == np.float32
    assert len(sped) == sped_samples(samples, speed) == int(np.ceil(round(samples / speed, 6)))
    peak = np.abs(np.fft.rfft(sped * np.hanning(len(sped)))).argmax() * 16000 / len(sped)
    print("peak", peak)
    assert peak == pytest.approx(1000 * speed, abs=16000 / len(sped))


NOTHING = AugmentConfig(gain_db=[0.0, 0.0], pad_seconds=[0.0, 0.0])


def test_nothing_to_do_returns_the_audio_itself_and_draws_nothing():
    audio, rng = np.ones(100, np.float32), np.random.default_rng(0)
    before = rng.bit_generator.state
    assert change_speed(audio, 1.0) is audio
    assert enter_room(audio, NOTHING, 16000, rng) is audio
    assert pass_channel(audio, NOTHING, 16000, rng) is audio
    assert not draw_pads(3, NOTHING.pad_seconds, 16000, rng).any()
    assert rng.bit_generator.state == before
    assert is_untouched(NOTHING)
    for change in ("gain_db", "pad_seconds"):
        assert not is_untouched(NOTHING.but(**{change: [0.0, 1.0]}))
    for share in ("reverberant", "narrow", "clipped"):
        assert not is_untouched(NOTHING.but(**{share: 0.1}))


def test_lengths_of_many_at_once_are_those_of_each():
    samples = np.arange(1, 2000, 37)
    for speed in (0.9, 1.0, 1.1):
        many = sped_samples(samples, speed)
        assert [sped_samples(int(item), speed) for item in samples] == many.tolist()


def test_gain_stays_in_its_range():
    config = NOTHING.but(gain_db=[-12.0, 6.0])
    rng, one = np.random.default_rng(0), np.ones(1, np.float32)
    gains = [20 * np.log10(pass_channel(one, config, 16000, rng)[0]) for _ in range(300)]
    print(min(gains), max(gains))
    assert -12.001 <= min(gains) < -11 and 5 < max(gains) <= 6.001


def test_pads_are_drawn_from_their_range_for_each_side():
    pads = draw_pads(500, [0.25, 1.5], 16000, np.random.default_rng(1)) / 16000
    assert pads.shape == (500, 2)
    assert 0.25 <= pads.min() < 0.27 and 1.48 < pads.max() <= 1.5
    assert abs(np.corrcoef(pads.T)[0, 1]) < 0.15, "the sides are independent"


@pytest.mark.parametrize("level", [-80.0, -40.0])
def test_speech_is_surrounded_by_quiet_of_its_level(level):
    speech = np.full(8000, 0.25, np.float32)
    audio = surround(speech, (16000, 4000), level, np.random.default_rng(2))
    assert audio.shape == (28000,) and audio.dtype == np.float32
    difference = audio - np.pad(speech, (16000, 4000))
    measured = 10 * np.log10(np.mean(difference.astype(np.float64) ** 2))
    print("level", level, measured)
    assert measured == pytest.approx(level, abs=0.05)
    assert all(difference[part].any() for part in (slice(0, 160), slice(-160, None)))
    bare = surround(speech, (10, 20), None, np.random.default_rng(2))
    assert np.array_equal(bare, np.pad(speech, (10, 20)))


def test_a_share_of_the_floors_is_silence():
    config = AugmentConfig(floor_dbfs=[-70.0, -50.0], floorless=0.25)
    levels = [floor_level(config, np.random.default_rng(seed)) for seed in range(400)]
    without = sum(level is None for level in levels)
    assert 70 < without < 130
    assert all(-70 <= level <= -50 for level in levels if level is not None)


@pytest.mark.parametrize("share", ["reverberant", "narrow", "clipped"])
def test_the_configured_share_goes_through_each_channel(share):
    speech = (0.1 * np.random.default_rng(0).standard_normal(1600)).astype(np.float32)
    config, changed = NOTHING.but(**{share: 0.3}), 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        heard = pass_channel(enter_room(speech, config, 16000, rng), config, 16000, rng)
        assert len(heard) == 1600
        changed += not np.array_equal(heard, speech)
    assert 40 < changed < 80


def test_masks_are_bands_of_zero_up_to_their_width():
    config = AugmentConfig(time_masks=2, time_width=10, frequency_masks=1, frequency_width=8)
    features = np.ones((60, 80), np.float32)
    widths = []
    for seed in range(50):
        masked = spec_augment(features, config, np.random.default_rng(seed))
        rows = (masked == 0).all(axis=1).sum()
        columns = (masked == 0).all(axis=0).sum()
        assert set(np.unique(masked)) <= {0.0, 1.0}
        assert (masked == 0).sum() == rows * 80 + columns * 60 - rows * columns
        widths.append((rows, columns))
    rows, columns = np.max(widths, axis=0)
    print("widest", rows, columns)
    assert 10 < rows <= 20 and columns == 8
    assert np.all(features == 1), "the input is not changed"


def test_masks_fit_short_utterances():
    config = AugmentConfig(time_masks=3, time_width=50)
    for seed in range(20):
        assert spec_augment(np.ones((3, 80)), config, np.random.default_rng(seed)).shape == (3, 80)
