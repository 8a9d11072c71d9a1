# SPDX-License-Identifier: Apache-2.0
"""Speed, gain and masks: lengths, pitch and how much is masked."""

import numpy as np
import pytest

from mindspore_rnnt.recipe.config import AugmentConfig
from mindspore_rnnt.recipe.data.augment import change_gain, change_speed, spec_augment, sped_samples


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


def test_natural_speed_and_no_gain_return_the_audio_itself():
    audio = np.ones(100, np.float32)
    rng = np.random.default_rng(0)
    assert change_speed(audio, 1.0) is audio
    assert change_gain(audio, AugmentConfig(), rng) is audio


def test_gain_stays_in_its_range():
    config = AugmentConfig(gain_db=[-12.0, 6.0])
    rng = np.random.default_rng(0)
    gains = [20 * np.log10(change_gain(np.ones(1, np.float32), config, rng)[0]) for _ in range(300)]
    print(min(gains), max(gains))
    assert -12.001 <= min(gains) < -11 and 5 < max(gains) <= 6.001


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
