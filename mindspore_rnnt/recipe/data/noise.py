# SPDX-License-Identifier: Apache-2.0
"""Machine noise: a parametric transformer hum with fans, or the user's own recordings."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.signal import butter, sosfilt

from ..config import NoiseConfig
from .corpus import UNREADABLE, BadFiles, read_audio, wav_files

HUM_HARMONICS = 8  # of twice the mains frequency: 100 .. 800 Hz


class NoiseMaker:
    """Mixes noise into speech at a signal-to-noise ratio, all randomness from the given rng.

    A recording in noise.folder that cannot be used is skipped with a warning, or an error if
    `strict`.
    """

    def __init__(self, config: NoiseConfig, sample_rate: int, strict: bool = False):
        self._config = config
        self._sample_rate = sample_rate
        self._recordings = _recordings(config.folder, sample_rate, strict) if config.folder else ()

    def maybe(self, speech: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """For training: noise with the configured probability and a ratio from its range."""
        # Without noise nothing is drawn: features that come from a cache draw nothing here either.
        if self._config.probability == 0.0 or rng.random() >= self._config.probability:
            return speech
        return self.add(speech, rng.uniform(*self._config.snr_db), rng)

    def add(self, speech: np.ndarray, snr_db: float, rng: np.random.Generator) -> np.ndarray:
        """`speech` with noise at exactly this ratio of mean powers."""
        return mix(speech, self._noise(len(speech), rng), snr_db)

    def _noise(self, samples: int, rng: np.random.Generator) -> np.ndarray:
        if self._recordings and rng.random() < self._config.folder_share:
            recording = self._recordings[rng.integers(len(self._recordings))]
            start = rng.integers(len(recording))
            piece = np.take(recording, np.arange(start, start + samples), mode="wrap")
            if power(piece) > 0.0:
                return piece
        return machine_noise(samples, self._sample_rate, rng)


@lru_cache(maxsize=2)  # of training and of evaluation, which has several ratios
def _recordings(folder: str, sample_rate: int, strict: bool) -> tuple[np.ndarray, ...]:
    """Every usable recording of a folder, in the order of the names."""
    files, bad, good = wav_files(folder), BadFiles(), []
    for path in files:
        try:
            recording = read_audio(path, sample_rate)
        except UNREADABLE as error:
            bad.add("unreadable or of another rate", path.name, str(error))
            continue
        if power(recording) == 0.0:
            bad.add("silent or empty", path.name)
        else:
            good.append(recording)
    bad.report(folder, len(files), strict, "noise files")
    if not good:
        raise ValueError(f"noise folder {folder!r} has no usable wav file")
    return tuple(good)


def machine_noise(samples: int, sample_rate: int, rng: np.random.Generator) -> np.ndarray:
    """Hum of a transformer plus a fan, mean power 1.

    The core's magnetostriction hums at twice the mains frequency f0, with harmonics of amplitude
    k^-0.7; the fan is noise below 200-600 Hz with a beat of 0.5-3 Hz.
    """
    time = np.arange(samples, dtype=np.float32) / np.float32(sample_rate)
    mains = 50.0 + rng.uniform(-0.2, 0.2)
    hum = np.zeros(samples, np.float32)
    for k in range(1, HUM_HARMONICS + 1):
        amplitude = k**-0.7 * rng.uniform(0.3, 1.0)
        angle = np.float32(2 * np.pi * 2 * k * mains) * time + np.float32(rng.uniform(0, 2 * np.pi))
        hum += np.float32(amplitude) * np.sin(angle)
    order = int(rng.integers(1, 3))
    low_pass = butter(order, rng.uniform(200.0, 600.0), fs=sample_rate, output="sos")
    fan = sosfilt(low_pass, rng.standard_normal(samples)).astype(np.float32)
    beat = np.float32(2 * np.pi * rng.uniform(0.5, 3.0)) * time
    fan *= 1 + np.float32(rng.uniform(0.0, 0.5)) * np.sin(beat)
    share = rng.uniform(0.2, 0.8)
    noise = _unit(hum) * np.float32(share**0.5) + _unit(fan) * np.float32((1 - share) ** 0.5)
    return _unit(noise)


def mix(speech: np.ndarray, noise: np.ndarray, snr_db: float) -> np.ndarray:
    """speech + g noise, with g such that 10 log10(P_speech / P_(g noise)) = snr_db."""
    gain = np.sqrt(power(speech) / power(noise) * 10 ** (-snr_db / 10))
    return (speech + gain * noise).astype(np.float32)


def power(signal: np.ndarray) -> float:
    """Mean square."""
    return float(np.mean(np.square(signal, dtype=np.float64))) if len(signal) else 0.0


def _unit(signal: np.ndarray) -> np.ndarray:
    return signal / np.float32(np.sqrt(max(power(signal), 1e-20)))
