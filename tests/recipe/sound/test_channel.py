# SPDX-License-Identifier: Apache-2.0
"""Rooms decay in their RT60, bands end where they should, clipping cuts at its level."""

import numpy as np
import pytest

from mindspore_rnnt.recipe.sound import channel
from mindspore_rnnt.recipe.sound.levels import power

RATE = 16000


@pytest.fixture
def speech():
    return (0.1 * np.random.default_rng(0).standard_normal(RATE)).astype(np.float32)


def band(audio, low, high):
    spectrum = np.abs(np.fft.rfft(audio.astype(np.float64))) ** 2
    hertz = np.fft.rfftfreq(len(audio), 1 / RATE)
    return spectrum[(hertz >= low) & (hertz < high)].sum() / spectrum.sum()


@pytest.mark.parametrize("rt60", [0.3, 0.5, 0.8])
def test_the_test_room_decays_by_60_db_in_its_rt60(rt60):
    response = channel.exponential_room(RATE, rt60, np.random.default_rng(1))[1:]
    left = np.cumsum(response[::-1] ** 2)[::-1]  # Schroeder's backward integral
    decay = 10 * np.log10(left / left[0])
    begin, end = np.argmax(decay < -5), np.argmax(decay < -25)
    measured = 3 * (end - begin) / RATE  # T20
    print("RT60", rt60, "measured", measured)
    assert measured == pytest.approx(rt60, rel=0.1)


def test_direct_sound_and_tail_have_the_same_energy_in_the_test_room():
    response = channel.exponential_room(RATE, 0.5, np.random.default_rng(2))
    assert response[0] ** 2 == pytest.approx(np.sum(response[1:] ** 2))


def test_rooms_keep_length_and_power(speech):
    for seed in range(10):
        room = channel.random_room(RATE, np.random.default_rng(seed))
        heard = channel.reverberate(speech, room)
        assert len(heard) == len(speech) and heard.dtype == np.float32
        assert power(heard) == pytest.approx(power(speech), rel=1e-4)
        assert not np.array_equal(heard, speech)
    one = np.zeros(100)
    one[0] = 2.0
    assert np.allclose(channel.reverberate(speech, one), speech, atol=1e-6), "no walls, no change"
    assert not channel.reverberate(np.zeros(500, np.float32), one).any()


def test_a_radio_and_half_the_rate_end_the_band(speech):
    assert band(channel.half_band(speech), 4200, 8000) < 1e-3
    assert band(channel.half_band(speech), 0, 3800) > 0.95
    assert len(channel.half_band(speech[:-1])) == len(speech) - 1
    for seed in range(10):
        heard = channel.narrow(speech, RATE, np.random.default_rng(seed))
        assert len(heard) == len(speech) and band(heard, 400, 2700) > 0.25
        assert band(heard, 0, 20) < 1e-3


@pytest.mark.parametrize("decibels", [3.0, 12.0])
def test_clipping_cuts_at_its_level(speech, decibels):
    heard = channel.clip(speech, decibels)
    peak = np.abs(speech).max()
    cut = np.abs(speech) > peak * 10 ** (-decibels / 20)
    assert np.abs(heard[cut]) == pytest.approx(peak) and cut.any()
    assert np.allclose(heard[~cut], speech[~cut] * 10 ** (decibels / 20), rtol=1e-5)
    assert np.array_equal(channel.clip(np.zeros(5), decibels), np.zeros(5))
