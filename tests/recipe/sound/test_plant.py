# SPDX-License-Identifier: Apache-2.0
"""Each kind of plant noise has mean power 1, repeats from its generator, and is what it says."""

import numpy as np
import pytest

from mindspore_rnnt.recipe.sound import plant
from mindspore_rnnt.recipe.sound.levels import power

RATE = 16000


def made(kind, seed, samples=4 * RATE):
    return plant.KINDS[kind](samples, RATE, np.random.default_rng(seed)).astype(np.float64)


def spectrum(noise):
    return np.abs(np.fft.rfft(noise * np.hanning(len(noise)))) ** 2


def share_above(noise, edge):
    found = spectrum(noise)
    return found[np.fft.rfftfreq(len(noise), 1 / RATE) > edge].sum() / found.sum()


def kurtosis(noise):
    return np.mean(noise**4) / np.mean(noise**2) ** 2


@pytest.mark.parametrize("kind", plant.KINDS)
@pytest.mark.parametrize("samples", [400, 32001])
def test_unit_power_and_the_same_from_the_same_generator(kind, samples):
    for seed in range(12):
        noise = made(kind, seed, samples)
        assert len(noise) == samples and np.isfinite(noise).all()
        assert power(noise) == pytest.approx(1.0, rel=1e-4)
        assert np.array_equal(noise, made(kind, seed, samples))
        assert not np.array_equal(noise, made(kind, seed + 100, samples))


def test_machines_hum_at_twice_the_mains_frequency():
    for seed in range(5):
        found = spectrum(made("machine", seed))
        hertz = np.fft.rfftfreq(4 * RATE, 1 / RATE)
        near = found[np.abs(hertz - 100) < 3].max()
        between = np.median(found[np.abs(hertz - 150) < 30])
        assert found[hertz < 1000].sum() > 0.8 * found.sum()
        assert near > 20 * between


def test_broadband_noise_reaches_where_the_hum_does_not():
    shares = [share_above(made("broadband", seed), 1000) for seed in range(40)]
    print("share above 1 kHz", np.mean(shares), "smallest", min(shares))
    assert np.mean(shares) > 0.5
    assert max(share_above(made("machine", seed), 1000) for seed in range(10)) < 0.2


def test_tones_have_their_power_in_few_frequencies_of_a_moment():
    """In 50 ms the strongest tenth of the bins has nearly all of a tone's power, not of hiss."""

    def tonality(kind, seed):
        frames = made(kind, seed)[: 40 * 800].reshape(40, 800) * np.hanning(800)
        found = np.sort(np.abs(np.fft.rfft(frames, axis=1)) ** 2, axis=1)
        return found[:, -40:].sum() / found.sum()

    tones = [tonality("tonal", seed) for seed in range(20)]
    hiss = [tonality("broadband", seed) for seed in range(20)]
    print("tones", np.mean(tones), "hiss", np.mean(hiss))
    assert np.mean(tones) > 0.95 > np.mean(hiss)


def test_impacts_are_short_and_high():
    peaks = [kurtosis(made("impulsive", seed)) for seed in range(20)]
    hum = [kurtosis(made("machine", seed)) for seed in range(20)]
    print("kurtosis of impacts", np.median(peaks), "of hum", np.median(hum))
    assert np.median(peaks) > 10 and np.median(hum) < 4
