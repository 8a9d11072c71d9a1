# SPDX-License-Identifier: Apache-2.0
"""The noise of training: kinds made from parameters, people who talk, the user's own recordings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..settings import NoiseConfig
from ..sound import plant
from ..sound.babble import babble
from ..sound.levels import noise_gain, power, unit
from .recordings import Recordings

NOMINAL_POWER = 0.01  # of speech, -20 dBFS: what a ratio refers to where nothing is said
BABBLE = "babble"
TALKERS = (3, 8)  # of babble, fewest and most
SPREAD_DB = 9.0  # of their levels
TWO_KINDS = 0.4  # share of noises that are two kinds at once
PIECE_SECONDS = 10.0  # of noise.pieces


class NoiseMaker:
    """Mixes noise into speech at a signal-to-noise ratio, all randomness from the given rng.

    `people` are recordings for babble; without any there is none. A recording in noise.folder that
    cannot be used is skipped with a warning, or an error if `strict`.
    """

    def __init__(
        self,
        config: NoiseConfig,
        sample_rate: int,
        strict: bool = False,
        people: Sequence[np.ndarray] = (),
    ):
        self._config, self._sample_rate, self._people = config, sample_rate, people
        self._kinds = [kind for kind in config.kinds if kind != BABBLE or len(people)]
        self._pieces: dict[tuple[str, int], np.ndarray] = {}
        folder = config.folder
        self._recordings = Recordings(folder, sample_rate, strict) if folder else None

    def __getstate__(self) -> dict:
        """For a worker process, which makes pieces of its own."""
        return self.__dict__ | {"_pieces": {}}

    def maybe(
        self,
        audio: np.ndarray,
        rng: np.random.Generator,
        speech_power: float | None = None,
        share: float = 1.0,
    ) -> np.ndarray:
        """For training: noise with a share of the configured probability, at a ratio in range."""
        # Without noise nothing is drawn: features that come from a cache draw nothing here either.
        probability = share * self._config.probability
        if probability == 0.0 or rng.random() >= probability:
            return audio
        return self.add(audio, rng.uniform(*self._config.snr_db), rng, speech_power)

    def add(
        self,
        audio: np.ndarray,
        snr_db: float,
        rng: np.random.Generator,
        speech_power: float | None = None,
    ) -> np.ndarray:
        """`audio` with noise throughout, at exactly this ratio of mean powers.

        `speech_power` is that of the speech alone, if it does not fill the audio; where it is 0,
        in a recording without speech, the ratio is to speech of NOMINAL_POWER.
        """
        wanted = power(audio) if speech_power is None else speech_power
        return mix(audio, self.noise(len(audio), rng), snr_db, wanted or NOMINAL_POWER)

    def noise(self, samples: int, rng: np.random.Generator) -> np.ndarray:
        """A recording, or one or two of the configured kinds."""
        if self._recordings is not None and rng.random() < self._config.folder_share:
            piece = self._recordings.piece(samples, rng)
            if power(piece) > 0.0:
                return piece
        noise = self._kind(samples, rng)
        if len(self._kinds) > 1 and rng.random() < TWO_KINDS:
            share = rng.uniform(0.1, 0.9)
            other = self._kind(samples, rng)
            noise = unit(noise * np.float32(share**0.5) + other * np.float32((1 - share) ** 0.5))
        return noise

    def _kind(self, samples: int, rng: np.random.Generator) -> np.ndarray:
        kind = self._kinds[rng.integers(len(self._kinds))]
        if kind == BABBLE:
            talkers = int(rng.integers(TALKERS[0], TALKERS[1] + 1))
            return babble(samples, self._people, talkers, SPREAD_DB, rng)
        if self._config.pieces:
            number = int(rng.integers(self._config.pieces))
            return unit(cut(self._piece(kind, number), samples, rng))
        return plant.KINDS[kind](samples, self._sample_rate, rng)

    def _piece(self, kind: str, number: int) -> np.ndarray:
        """Follows from its kind and number alone, so that any worker makes the same; made once."""
        if (kind, number) not in self._pieces:
            rng = np.random.default_rng([number, *kind.encode()])
            samples = int(PIECE_SECONDS * self._sample_rate)
            self._pieces[kind, number] = plant.KINDS[kind](samples, self._sample_rate, rng)
        return self._pieces[kind, number]


def cut(piece: np.ndarray, samples: int, rng: np.random.Generator) -> np.ndarray:
    """So many samples from anywhere in a piece; one that is too short begins anew."""
    if samples <= len(piece):
        start = int(rng.integers(len(piece) - samples + 1))
        return piece[start : start + samples]
    start = int(rng.integers(len(piece)))
    return np.take(piece, np.arange(start, start + samples), mode="wrap")


def mix(audio: np.ndarray, noise: np.ndarray, snr_db: float, speech_power: float) -> np.ndarray:
    """audio + g noise, with g such that 10 log10(speech_power / P_(g noise)) = snr_db."""
    factor = np.float32(noise_gain(speech_power, power(noise), snr_db))
    return (audio + factor * noise).astype(np.float32)
