# SPDX-License-Identifier: Apache-2.0
"""Log-mel features that a stream and a file give alike, bit for bit.

Kaldi's fbank without dither: frame n covers samples [n*hop, n*hop + window), no centring, so no
frame waits for later audio. Every operation works on one frame by itself (a dense matrix product
would round a frame differently with its neighbours' number), hence the exact equality.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ..settings import FeaturesConfig

PRE_EMPHASIS = 0.97
FULL_SCALE = 32768.0  # energies are in int16 units, as in Kaldi
ENERGY_FLOOR = 1.0  # far below the quantisation noise of int16: digital silence gives 0
LOWEST_HZ = 20.0


class LogMel:
    """float audio in [-1, 1] -> (frames, mels) float32."""

    def __init__(self, config: FeaturesConfig):
        self.sample_rate = config.sample_rate
        self.mels = config.mels
        self.window_samples = round(config.sample_rate * config.window_ms / 1000)
        self.hop_samples = round(config.sample_rate * config.hop_ms / 1000)
        self.fft_size = 1 << (self.window_samples - 1).bit_length()
        self._window = np.hanning(self.window_samples) ** 0.85  # Kaldi's "povey"
        self._filters = csr_matrix(mel_filters(config.mels, self.fft_size, config.sample_rate))

    def num_frames(self, samples: Any) -> Any:
        """Whole frames of so many samples, an int, or of each number of an array."""
        return np.maximum(0, 1 + (samples - self.window_samples) // self.hop_samples)

    def __call__(self, audio: np.ndarray) -> np.ndarray:
        count = self.num_frames(len(audio))
        if count == 0:
            return np.zeros((0, self.mels), np.float32)
        audio = np.asarray(audio, np.float64) * FULL_SCALE
        windows = np.lib.stride_tricks.sliding_window_view(audio, self.window_samples)
        frames = windows[:: self.hop_samples][:count].copy()
        frames -= frames.mean(axis=1, keepdims=True)
        before = np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
        frames -= PRE_EMPHASIS * before
        frames *= self._window
        spectrum = np.fft.rfft(frames, self.fft_size, axis=1)
        power = spectrum.real**2 + spectrum.imag**2
        energies = self._filters @ power.T
        return np.log(np.maximum(energies, ENERGY_FLOOR)).T.astype(np.float32)


def mel_filters(mels: int, fft_size: int, sample_rate: int) -> np.ndarray:
    """(mels, fft_size/2 + 1) triangles, equally spaced and linear on the mel scale."""

    def to_mel(hertz: np.ndarray | float) -> np.ndarray:
        return 1127.0 * np.log1p(np.asarray(hertz) / 700.0)

    edges = np.linspace(to_mel(LOWEST_HZ), to_mel(sample_rate / 2), mels + 2)
    left, centre, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    bins = to_mel(np.arange(fft_size // 2 + 1) * sample_rate / fft_size)
    return np.maximum(
        0.0, np.minimum((bins - left) / (centre - left), (right - bins) / (right - centre))
    )


class FeatureStream:
    """The same frames as LogMel, from audio that comes in pieces of any size."""

    def __init__(self, extractor: LogMel):
        self._extractor = extractor
        self._pending = np.zeros(0, np.float32)

    def accept(self, audio: np.ndarray) -> np.ndarray:
        """The frames that this piece completes, (n, mels); n may be 0."""
        self._pending = np.concatenate([self._pending, np.asarray(audio, np.float32)])
        frames = self._extractor(self._pending)
        self._pending = self._pending[len(frames) * self._extractor.hop_samples :]
        return frames


class Cmvn:
    """Global mean and variance normalisation: one mean and one scale for each mel bin."""

    def __init__(self, mean: np.ndarray, scale: np.ndarray):
        self.mean = np.asarray(mean, np.float32)
        self.scale = np.asarray(scale, np.float32)

    @classmethod
    def of(cls, features: Iterable[np.ndarray]) -> Cmvn:
        """Statistics over every frame of the given utterances."""
        count, total, squares = 0, np.zeros(1), np.zeros(1)
        for item in features:
            wide = item.astype(np.float64)
            count += len(wide)
            total = total + wide.sum(axis=0)
            squares = squares + (wide**2).sum(axis=0)
        if count == 0:
            raise ValueError("no frames to take the mean and variance of")
        mean = total / count
        variance = np.maximum(squares / count - mean**2, 1e-4)
        return cls(mean, 1.0 / np.sqrt(variance))

    def __call__(self, features: np.ndarray) -> np.ndarray:
        return (features - self.mean) * self.scale

    def save(self, path: str | Path) -> None:
        np.save(path, np.stack([self.mean, self.scale]))

    @classmethod
    def load(cls, path: str | Path) -> Cmvn:
        return cls(*np.load(path))
