# SPDX-License-Identifier: Apache-2.0
"""The noises of the test table: their spectra are the textbook's."""

import numpy as np
import pytest
from scipy.signal import welch

from mindspore_rnnt.recipe.sound import trials
from mindspore_rnnt.recipe.sound.babble import babble
from mindspore_rnnt.recipe.sound.levels import power, unit

RATE = 16000


def made(kind, seed=1, samples=10 * RATE):
    return trials.KINDS[kind](samples, RATE, np.random.default_rng(seed)).astype(np.float64)


def decibels_per_octave(noise):
    hertz, density = welch(noise, RATE, nperseg=2048)
    used = (hertz > 100) & (hertz < 7000)
    return 10 * np.polyfit(np.log2(hertz[used]), np.log10(density[used]), 1)[0]


@pytest.mark.parametrize("kind", trials.KINDS)
@pytest.mark.parametrize("samples", [401, 32000])
def test_unit_power_and_the_same_from_the_same_generator(kind, samples):
    noise = made(kind, 3, samples)
    assert len(noise) == samples and power(noise) == pytest.approx(1.0, rel=1e-4)
    assert np.array_equal(noise, made(kind, 3, samples))
    assert not np.array_equal(noise, made(kind, 4, samples))


def test_white_is_flat_and_pink_falls_by_3_db_an_octave():
    slopes = {kind: decibels_per_octave(made(kind)) for kind in ("white", "pink")}
    print(slopes)
    assert slopes["white"] == pytest.approx(0.0, abs=0.2)
    assert slopes["pink"] == pytest.approx(-3.01, abs=0.2)


def test_impulses_fade_within_a_tenth_of_a_second_and_a_hall_fills_the_gaps():
    def quiet_share(kind):
        frames = made(kind).reshape(-1, RATE // 100)
        return np.mean(np.mean(frames**2, axis=1) < 0.01)

    shares = {kind: quiet_share(kind) for kind in trials.KINDS}
    print("share of quiet moments", shares)
    assert shares["impulses"] > 0.3
    assert all(shares[kind] == 0.0 for kind in ("white", "pink", "reverberated"))


def test_babble_is_the_sum_of_its_people_at_equal_levels():
    pitches = (250, 800, 2500, 5000)  # hertz; a second of them joins its own beginning
    time = np.arange(RATE) / RATE
    people = [unit(np.sin(2 * np.pi * pitch * time)) for pitch in pitches]
    noise = babble(RATE, people, 60, 0.0, np.random.default_rng(1))
    assert power(noise) == pytest.approx(1.0, rel=1e-4)
    spectrum = np.abs(np.fft.rfft(noise)) ** 2
    shares = spectrum[list(pitches)] / spectrum.sum()
    print("shares of power at the four pitches", shares)
    assert shares.sum() == pytest.approx(1.0, abs=1e-4) and shares.min() > 0.01
    alone = babble(RATE, people[:1], 1, 0.0, np.random.default_rng(2))
    assert np.abs(np.fft.rfft(alone))[250] == pytest.approx(RATE / 2 * 2**0.5, rel=1e-3)
