# SPDX-License-Identifier: Apache-2.0
"""Noises to test with, of another construction than those of training (`plant`); mean power 1.

Every maker takes (samples, sample_rate, rng). Babble is made by `babble`, of people who are not in
the training set.
"""

from __future__ import annotations

import numpy as np

from .channel import exponential_room, reverberate
from .levels import unit

HALL_RT60 = 0.8  # seconds


def white(samples: int, sample_rate: int, rng: np.random.Generator) -> np.ndarray:
    """The same power in every hertz."""
    return unit(rng.standard_normal(samples))


def pink(samples: int, sample_rate: int, rng: np.random.Generator) -> np.ndarray:
    """The same power in every octave from 30 Hz up, shaped in the spectrum."""
    spectrum = np.fft.rfft(rng.standard_normal(samples))
    hertz = np.fft.rfftfreq(samples, 1 / sample_rate)
    spectrum *= np.where(hertz < 30.0, 0.0, np.maximum(hertz, 30.0) ** -0.5)
    return unit(np.fft.irfft(spectrum, samples))


def impulses(samples: int, sample_rate: int, rng: np.random.Generator) -> np.ndarray:
    """Four hits a second: bursts of white noise that fade within a tenth of a second."""
    total = np.zeros(samples + sample_rate)
    fade = np.exp(-np.arange(sample_rate // 5) / (0.02 * sample_rate))
    for start in rng.integers(samples, size=max(1, rng.poisson(4.0 * samples / sample_rate))):
        burst = rng.uniform(0.3, 1.0) * rng.standard_normal(len(fade)) * fade
        total[start : start + len(fade)] += burst
    return unit(total[:samples])


def reverberated(samples: int, sample_rate: int, rng: np.random.Generator) -> np.ndarray:
    """Pink noise and hits, as a hall with bare walls gives them back."""
    source = pink(samples, sample_rate, rng) + impulses(samples, sample_rate, rng)
    return unit(reverberate(source, exponential_room(sample_rate, HALL_RT60, rng)))


KINDS = {"white": white, "pink": pink, "impulses": impulses, "reverberated": reverberated}
