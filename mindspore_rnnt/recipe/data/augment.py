# SPDX-License-Identifier: Apache-2.0
"""Speed perturbation and gain of the audio, SpecAugment of the features.

The masks are drawn here and not by `mindspore.dataset.audio`, whose transforms share one global
generator: a run resumed in the middle of an epoch could not repeat them.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.signal import resample_poly

from ..config import AugmentConfig


def change_speed(audio: np.ndarray, speed: float) -> np.ndarray:
    """Faster (speed > 1) and higher, as a tape would be; `sped_samples` gives the length."""
    if speed == 1.0:
        return audio
    ratio = _ratio(speed)
    return resample_poly(audio, ratio.denominator, ratio.numerator).astype(np.float32)


def sped_samples(samples: int, speed: float) -> int:
    """Length of `change_speed`: ceil(samples / speed)."""
    ratio = _ratio(speed)
    return -(-samples * ratio.denominator // ratio.numerator)


def change_gain(audio: np.ndarray, config: AugmentConfig, rng: np.random.Generator) -> np.ndarray:
    """A microphone nearer or farther: a gain from the configured range in dB."""
    low, high = config.gain_db
    if low == high == 0.0:
        return audio
    return audio * np.float32(10 ** (rng.uniform(low, high) / 20))


def spec_augment(
    features: np.ndarray, config: AugmentConfig, rng: np.random.Generator
) -> np.ndarray:
    """Mask random bands of time and frequency with 0, the mean of normalised features."""
    masked = features.copy()
    frames, mels = features.shape
    for _ in range(config.time_masks):
        start, stop = _band(frames, config.time_width, rng)
        masked[start:stop] = 0.0
    for _ in range(config.frequency_masks):
        start, stop = _band(mels, config.frequency_width, rng)
        masked[:, start:stop] = 0.0
    return masked


def _band(size: int, widest: int, rng: np.random.Generator) -> tuple[int, int]:
    width = int(rng.integers(0, min(widest, size) + 1))
    start = int(rng.integers(0, size - width + 1))
    return start, start + width


def _ratio(speed: float) -> Fraction:
    return Fraction(speed).limit_denominator(100)
