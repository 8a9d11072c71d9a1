# SPDX-License-Identifier: Apache-2.0
"""Speed, quiet around speech, rooms, channels and gain of the audio; SpecAugment of the features.

The masks are drawn here and not by `mindspore.dataset.audio`, whose transforms share one global
generator: a run resumed in the middle of an epoch could not repeat them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.signal import lfilter, resample_poly

from ..settings import AugmentConfig
from ..sound import channel
from ..sound.levels import gain, unit

CLIPPED_DB = (3.0, 15.0)  # how far a clipped utterance is over what its microphone can take


def change_speed(audio: np.ndarray, speed: float) -> np.ndarray:
    """Faster (speed > 1) and higher, as a tape would be; `sped_samples` gives the length."""
    if speed == 1.0:
        return audio
    ratio = _ratio(speed)
    return resample_poly(audio, ratio.denominator, ratio.numerator).astype(np.float32)


def sped_samples(samples: int | np.ndarray, speed: float) -> int | np.ndarray:
    """Length of `change_speed`: ceil(samples / speed)."""
    ratio = _ratio(speed)
    return -(-samples * ratio.denominator // ratio.numerator)


def draw_pads(
    count: int, pad_seconds: Sequence[float], sample_rate: int, rng: np.random.Generator
) -> np.ndarray:
    """(count, 2) samples before and after each of so many utterances; draws nothing for [0, 0]."""
    if not any(pad_seconds):
        return np.zeros((count, 2), np.int64)
    return np.rint(rng.uniform(*pad_seconds, (count, 2)) * sample_rate).astype(np.int64)


def surround(
    speech: np.ndarray,
    pads: Sequence[int] | np.ndarray,
    level_dbfs: float | None,
    rng: np.random.Generator,
) -> np.ndarray:
    """Speech with so many samples before and after it, and throughout a quiet noise, if any.

    The noise is white or falls towards high frequencies, as that of amplifiers and rooms.
    """
    audio = np.pad(speech, pads)
    if level_dbfs is None:
        return audio
    white = rng.standard_normal(len(audio), np.float32)
    return audio + gain(level_dbfs) * unit(lfilter([1.0], [1.0, -rng.uniform(0.0, 0.98)], white))


def floor_level(config: AugmentConfig, rng: np.random.Generator) -> float | None:
    """The level of the quiet noise of an utterance; None for those without."""
    if rng.random() < config.floorless:
        return None
    return rng.uniform(*config.floor_dbfs)


def enter_room(
    speech: np.ndarray, config: AugmentConfig, sample_rate: int, rng: np.random.Generator
) -> np.ndarray:
    """The configured share of utterances in a room."""
    if not _happens(config.reverberant, rng):
        return speech
    return channel.reverberate(speech, channel.random_room(sample_rate, rng))


def pass_channel(
    audio: np.ndarray, config: AugmentConfig, sample_rate: int, rng: np.random.Generator
) -> np.ndarray:
    """The configured shares over a radio and clipped; then a microphone nearer or farther."""
    if _happens(config.narrow, rng):
        audio = channel.narrow(audio, sample_rate, rng)
    if _happens(config.clipped, rng):
        audio = channel.clip(audio, rng.uniform(*CLIPPED_DB))
    if not any(config.gain_db):
        return audio
    return gain(rng.uniform(*config.gain_db)) * audio


def ramped(config: AugmentConfig, share: float) -> AugmentConfig:
    """The settings of an epoch in which only a share of everything is done to the audio."""
    if share == 1.0:
        return config
    return config.but(
        gain_db=[share * value for value in config.gain_db],
        pad_seconds=[share * value for value in config.pad_seconds],
        reverberant=share * config.reverberant,
        narrow=share * config.narrow,
        clipped=share * config.clipped,
    )


def is_untouched(config: AugmentConfig) -> bool:
    """Whether nothing is ever done to the audio, but for its speed."""
    shares = (config.reverberant, config.narrow, config.clipped)
    return not any((*config.gain_db, *config.pad_seconds, *shares))


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


def _happens(share: float, rng: np.random.Generator) -> bool:
    return share > 0.0 and rng.random() < share
