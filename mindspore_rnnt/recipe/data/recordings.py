# SPDX-License-Identifier: Apache-2.0
"""Noise from a folder of recordings: pieces are read as they are needed, however long the files."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
import soundfile
from scipy.signal import resample_poly

from ..bar import bar
from .corpus import UNREADABLE, BadFiles
from .entries import wav_files

BLOCK = 1 << 20  # frames that are looked at together


@dataclass(frozen=True)
class Recording:
    path: Path
    frames: int
    rate: int


class Recordings:
    """Every usable recording of a folder, in the order of the names; of any rate.

    One that cannot be used is skipped with a warning, or an error if `strict`.
    """

    def __init__(self, folder: str, sample_rate: int, strict: bool):
        self._files, self._sample_rate = _usable(folder, strict), sample_rate

    def piece(self, samples: int, rng: np.random.Generator) -> np.ndarray:
        """So many samples of one recording, from anywhere; it begins anew where it ends."""
        recording = self._files[rng.integers(len(self._files))]
        ratio = Fraction(self._sample_rate, recording.rate)
        start = int(rng.integers(recording.frames))
        try:
            audio = _read(recording, start, -(-samples * ratio.denominator // ratio.numerator))
        except UNREADABLE as error:
            # Not one of UNREADABLE: the utterance that it was for can be read.
            raise RuntimeError(f"noise file {recording.path} became unreadable: {error}") from error
        if ratio != 1:
            audio = resample_poly(audio, ratio.numerator, ratio.denominator)
        return audio[:samples].astype(np.float32)


@lru_cache(maxsize=2)  # of training and of evaluation, which has several ratios
def _usable(folder: str, strict: bool) -> tuple[Recording, ...]:
    files, bad, good = wav_files(folder), BadFiles(), []
    for path in bar(files, "noise files", "file"):
        try:
            recording, is_silent = _inspect(path)
        except UNREADABLE as error:
            bad.add("unreadable", path.name, str(error))
            continue
        if is_silent:
            bad.add("silent or empty", path.name)
        else:
            good.append(recording)
    bad.report(folder, len(files), strict, "noise files")
    if not good:
        raise ValueError(f"noise folder {folder!r} has no usable wav file")
    return tuple(good)


def _inspect(path: Path) -> tuple[Recording, bool]:
    """A recording, read once from beginning to end, and whether there is no sound in it."""
    info, is_silent = soundfile.info(str(path)), True
    for block in soundfile.blocks(str(path), BLOCK, dtype="float32", always_2d=True):
        if not np.isfinite(block).all():
            raise ValueError(f"{path} has samples that are not finite")
        is_silent = is_silent and not block.mean(axis=1).any()
    return Recording(path, info.frames, info.samplerate), is_silent


def _read(recording: Recording, start: int, frames: int) -> np.ndarray:
    """Mono, so many frames from `start` on, with the beginning after the end."""
    with soundfile.SoundFile(str(recording.path)) as file:
        parts = []
        while frames > 0:
            file.seek(start)
            part = file.read(min(frames, recording.frames - start), "float32", always_2d=True)
            if len(part) == 0:
                raise ValueError(f"it has fewer than {recording.frames} frames now")
            parts.append(part.mean(axis=1))
            start, frames = (start + len(part)) % recording.frames, frames - len(part)
    return np.concatenate(parts)
