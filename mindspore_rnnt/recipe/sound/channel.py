# SPDX-License-Identifier: Apache-2.0
"""What rooms, radios and full microphones do to speech: reverberation, narrow bands, clipping."""

from __future__ import annotations

import numpy as np
from scipy.signal import butter, fftconvolve, resample_poly, sosfilt

from .levels import gain, power


def reverberate(speech: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Speech as a room passes it, as long and as loud as before."""
    heard = fftconvolve(speech, response)[: len(speech)]
    heard *= np.sqrt(power(speech) / max(power(heard), 1e-20))
    return heard.astype(np.float32)


def random_room(sample_rate: int, rng: np.random.Generator) -> np.ndarray:
    """A response to train with: the direct sound, a few echoes, a tail that dulls as it decays."""
    rt60 = rng.uniform(0.1, 0.9)
    response = np.zeros(int(rt60 * sample_rate))
    response[0] = 1.0
    for _ in range(int(rng.integers(2, 9))):
        delay = rng.uniform(0.001, 0.05)
        response[min(int(delay * sample_rate), len(response) - 1)] += rng.uniform(-0.6, 0.6)
    time = np.arange(len(response)) / sample_rate
    tail = np.zeros(len(response))
    # The tail is bright for a while and dull for longer.
    for share, cut in ((rng.uniform(0.3, 0.7), 0.95), (1.0, rng.uniform(0.15, 0.5))):
        band = butter(1, cut, output="sos")
        noise = sosfilt(band, rng.standard_normal(len(response)))
        tail += noise * np.exp(-6.908 * time / (share * rt60))  # 60 dB in share * rt60 seconds
    begin = int(rng.uniform(0.002, 0.02) * sample_rate)
    tail[:begin] = 0.0
    ratio_db = rng.uniform(-3.0, 15.0)  # of the direct sound and the echoes to the tail
    energy = np.sum(response**2) / max(np.sum(tail**2), 1e-20)
    return response + tail * np.sqrt(energy) * gain(-ratio_db)


def exponential_room(sample_rate: int, rt60: float, rng: np.random.Generator) -> np.ndarray:
    """A response to test with: white noise under one exponential, after the direct sound.

    The direct sound has the energy of the tail, as it has at the critical distance.
    """
    time = np.arange(int(rt60 * sample_rate)) / sample_rate
    tail = rng.standard_normal(len(time)) * np.exp(-6.908 * time / rt60)
    tail[0] = np.sqrt(np.sum(tail[1:] ** 2))
    return tail


def narrow(speech: np.ndarray, sample_rate: int, rng: np.random.Generator) -> np.ndarray:
    """To train with: a radio's or telephone's band, with edges drawn at random."""
    low, high = rng.uniform(50.0, 350.0), rng.uniform(2800.0, 0.9 * sample_rate / 2)
    edges = butter(int(rng.integers(2, 6)), (low, high), "bandpass", fs=sample_rate, output="sos")
    return sosfilt(edges, speech).astype(np.float32)


def half_band(speech: np.ndarray) -> np.ndarray:
    """To test with: half the sample rate, as of a telephone or a Bluetooth headset."""
    return resample_poly(resample_poly(speech, 1, 2), 2, 1)[: len(speech)].astype(np.float32)


def clip(speech: np.ndarray, decibels: float) -> np.ndarray:
    """Cut off at so many dB below the highest peak, and the peak is where it was."""
    peak = np.abs(speech).max(initial=0.0)
    loud = speech * gain(decibels)
    return np.clip(loud, -peak, peak)
