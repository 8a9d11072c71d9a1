# SPDX-License-Identifier: Apache-2.0
"""Noises of a plant from random parameters, to train with; each has mean power 1.

Every maker takes (samples, sample_rate, rng). None of them is used to test with: see `trials`.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import butter, lfilter, sosfilt

from .levels import unit

HUM_HARMONICS = 8  # of twice the mains frequency: 100 .. 800 Hz


def machine(samples: int, sample_rate: int, rng: np.random.Generator) -> np.ndarray:
    """Hum of a transformer plus a fan.

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
    return unit(unit(hum) * np.float32(share**0.5) + unit(fan) * np.float32((1 - share) ** 0.5))


def broadband(samples: int, sample_rate: int, rng: np.random.Generator) -> np.ndarray:
    """Steam, compressed air, cooling fans: a band of noise that swells or comes in bursts."""
    nyquist = sample_rate / 2
    low = _log_uniform(rng, 40.0, 0.2 * nyquist)
    high = _log_uniform(rng, 0.3 * nyquist, 0.98 * nyquist)
    order = int(rng.integers(1, 4))
    noise = rng.standard_normal(samples)
    noise = sosfilt(butter(order, low, "highpass", fs=sample_rate, output="sos"), noise)
    noise = sosfilt(butter(order, high, fs=sample_rate, output="sos"), noise)
    if rng.random() < 0.6:  # falls towards high frequencies, as most of them do
        noise = lfilter([1.0], [1.0, -rng.uniform(0.2, 0.97)], noise)
    if rng.random() < 0.5:
        noise = noise + rng.uniform(0.3, 2.0) * _resonance(noise, sample_rate, rng)
    if rng.random() < 0.7:
        envelope = 1 + rng.uniform(0.0, 0.7) * _swell(samples, sample_rate, rng, 0.2, 8.0)
    else:
        envelope = _gate(samples, sample_rate, rng, 0.3, 4.0)
    return unit(noise * envelope)


def tonal(samples: int, sample_rate: int, rng: np.random.Generator) -> np.ndarray:
    """Whine of a compressor, a siren, or the beeps of an alarm."""
    pitch: np.ndarray | float
    envelope: np.ndarray | float
    kind = rng.integers(3)
    if kind == 0:  # a whine of drifting pitch
        pitch = _log_uniform(rng, 120.0, 2500.0)
        pitch = pitch * (1 + 0.03 * _swell(samples, sample_rate, rng, 0.05, 1.0))
        envelope = 1 + 0.3 * _swell(samples, sample_rate, rng, 0.5, 12.0)
    elif kind == 1:  # a siren between two pitches, sliding or switching
        low = _log_uniform(rng, 400.0, 1800.0)
        swing = _swell(samples, sample_rate, rng, 0.3, 4.0)
        swing = np.sign(swing) if rng.random() < 0.5 else swing
        pitch = low * rng.uniform(1.1, 2.0) ** (0.5 + 0.5 * swing)
        envelope = 1.0
    else:
        pitch = np.full(samples, _log_uniform(rng, 600.0, 3500.0))
        envelope = _gate(samples, sample_rate, rng, 1.0, 8.0)
    angle = 2 * np.pi * np.cumsum(pitch) / sample_rate
    total = np.zeros(samples)
    for k in range(1, int(rng.integers(2, 9))):
        below = k * pitch < 0.95 * sample_rate / 2  # no aliasing
        total += below * rng.uniform(0.2, 1.0) / k * np.sin(k * angle + rng.uniform(0, 2 * np.pi))
    return unit(total * envelope + 0.01 * rng.standard_normal(samples))


def impulsive(samples: int, sample_rate: int, rng: np.random.Generator) -> np.ndarray:
    """Impacts that ring, of a few kinds, and the sparks of an arc at twice the mains frequency."""
    total = np.zeros(samples)
    kinds = [_ring(sample_rate, rng) for _ in range(4)]
    count = rng.poisson(_log_uniform(rng, 0.7, 15.0) * samples / sample_rate)
    for start in rng.integers(samples, size=max(1, count)):
        ring = kinds[rng.integers(len(kinds))][: samples - start]
        total[start : start + len(ring)] += np.exp(rng.normal(0.0, 0.7)) * ring
    if rng.random() < 0.3:
        time = np.arange(samples) / sample_rate
        sparks = np.abs(np.sin(2 * np.pi * 50.0 * time)) ** rng.uniform(4.0, 30.0)
        hiss = rng.standard_normal(samples) * sparks * _gate(samples, sample_rate, rng, 0.2, 2.0)
        total = unit(total) + rng.uniform(0.3, 2.0) * unit(hiss)
    return unit(total)


KINDS = {"machine": machine, "broadband": broadband, "tonal": tonal, "impulsive": impulsive}


def _ring(sample_rate: int, rng: np.random.Generator) -> np.ndarray:
    """One impact: damped resonances of a piece of metal, or of something duller."""
    decay = _log_uniform(rng, 0.003, 0.1)
    time = np.arange(int(4 * decay * sample_rate) + 1) / sample_rate
    total = np.zeros(len(time))
    for _ in range(int(rng.integers(2, 6))):
        pitch = _log_uniform(rng, 150.0, 0.9 * sample_rate / 2)
        total += rng.uniform(0.2, 1.0) * np.sin(2 * np.pi * pitch * time) * np.exp(-time / decay)
        decay *= rng.uniform(0.5, 1.0)
    return total


def _resonance(noise: np.ndarray, sample_rate: int, rng: np.random.Generator) -> np.ndarray:
    """The noise as a cavity passes it: a two-pole resonance of mean power 1."""
    angle = 2 * np.pi * _log_uniform(rng, 200.0, 0.9 * sample_rate / 2) / sample_rate
    radius = rng.uniform(0.8, 0.99)
    return unit(lfilter([1.0], [1.0, -2 * radius * np.cos(angle), radius**2], noise))


def _swell(
    samples: int, sample_rate: int, rng: np.random.Generator, slowest: float, fastest: float
) -> np.ndarray:
    """A sine of a random frequency and phase."""
    pitch = _log_uniform(rng, slowest, fastest)
    phase = rng.uniform(0, 2 * np.pi)
    return np.sin(2 * np.pi * pitch / sample_rate * np.arange(samples) + phase)


def _gate(
    samples: int, sample_rate: int, rng: np.random.Generator, slowest: float, fastest: float
) -> np.ndarray:
    """On and off, with edges of about 10 ms; never off throughout."""
    swell = _swell(samples, sample_rate, rng, slowest, fastest)
    steep = 0.01 * sample_rate
    is_on = swell > rng.uniform(-0.8, 0.5)
    if not is_on.any():
        is_on[:] = True
    return lfilter([1 / steep], [1.0, 1 / steep - 1.0], is_on.astype(np.float64))


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
