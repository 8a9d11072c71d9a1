# SPDX-License-Identifier: Apache-2.0
"""Powers, ratios and levels of signals; full scale is 1.0, and 0 dBFS is a mean power of 1."""

from __future__ import annotations

import numpy as np


def power(signal: np.ndarray) -> float:
    """Mean square."""
    return float(np.mean(np.square(signal, dtype=np.float64))) if len(signal) else 0.0


def unit(signal: np.ndarray) -> np.ndarray:
    """The signal with mean power 1, as float32; silence stays silence."""
    wide = np.asarray(signal, np.float64)
    return (wide / np.sqrt(max(power(wide), 1e-20))).astype(np.float32)


def gain(decibels: float) -> np.float32:
    """The factor of an amplitude."""
    return np.float32(10 ** (decibels / 20))


def noise_gain(speech_power: float, noise_power: float, snr_db: float) -> float:
    """g such that 10 log10(P_speech / (g^2 P_noise)) = snr_db; 0 for a noise that is silent."""
    if noise_power == 0.0:
        return 0.0
    return float(np.sqrt(speech_power / noise_power * 10 ** (-snr_db / 10)))
