# SPDX-License-Identifier: Apache-2.0
"""The conditions that held-out speech is tested under, each a row of the table.

Speech is surrounded by quiet and has a level as evaluate.pad_seconds, floor_dbfs and gain_db say,
the same for an utterance under every condition, unless the condition itself is about that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..settings import Config
from ..sound import channel, trials
from ..sound.babble import babble
from ..sound.levels import gain, power
from .augment import draw_pads, surround
from .negatives import people_of, speak_others
from .noise import NoiseMaker, mix

RT60 = 0.5  # seconds
CLIPPED_DB = 12.0
TALKERS = 6
PEOPLE = 40  # recordings that babble is drawn from
PLANT, BABBLE = "plant", "babble"  # noise of training's kinds or of evaluate.noise_folder


@dataclass(frozen=True)
class Condition:
    """`pads` in seconds, `level` of the quiet noise in dBFS and `gain_db`; None: as drawn."""

    name: str
    noise: str = ""
    snr_db: float = 0.0
    change: str = ""  # of the speech itself: "clipped", "narrow" or "reverberant"
    pads: tuple[float, float] | None = None
    level: float | None = None
    gain_db: float | None = None


CLEAN = Condition("clean")
CHANGES = {
    "bare": Condition("as spoken", pads=(0.0, 0.0), gain_db=0.0),
    "padded": Condition("1.5 s at -60 dBFS around", pads=(1.5, 1.5), level=-60.0),
    "quiet": Condition("20 dB quieter", gain_db=-20.0),
    "clipped": Condition(f"clipped by {CLIPPED_DB:g} dB", change="clipped"),
    "narrow": Condition("8 kHz sampling", change="narrow"),
    "reverberant": Condition(f"RT60 {RT60:g} s", change="reverberant"),
}


def conditions(config: Config) -> list[Condition]:
    """Clean, noise of training's family, other noises, and changes of the speech."""
    options = config.evaluate
    ratio = options.noises_snr_db
    return [
        CLEAN,
        *(Condition(f"{snr:g} dB", PLANT, snr) for snr in options.snr_db),
        *(Condition(f"{kind} {ratio:g} dB", kind, ratio) for kind in options.noises),
        *(CHANGES[change] for change in options.changes),
    ]


class Trials:
    """Makes recordings of held-out speech, all randomness from evaluate.seed and their number."""

    def __init__(self, config: Config):
        self._config, self._rate = config, config.features.sample_rate
        self._plant: NoiseMaker | None = None
        self._people: list[np.ndarray] = []

    def hear(self, speech: np.ndarray, condition: Condition, number: int) -> np.ndarray:
        """The recording of utterance `number` under a condition."""
        options, rate = self._config.evaluate, self._rate
        place = np.random.default_rng([options.seed, number, 0])
        (pads,) = draw_pads(1, options.pad_seconds, rate, place)
        level, decibels = place.uniform(*options.floor_dbfs), place.uniform(*options.gain_db)
        rng = np.random.default_rng([options.seed, number, 1])
        if condition.pads is not None:
            pads = np.rint(np.multiply(condition.pads, rate)).astype(np.int64)
        level = level if condition.level is None else condition.level
        decibels = decibels if condition.gain_db is None else condition.gain_db
        speech = self._change(speech, condition.change, rng)
        audio = surround(speech, pads, level, rng) if pads.any() else speech
        if condition.noise:
            noise = self.noise(condition.noise, len(audio), rng)
            audio = mix(audio, noise, condition.snr_db, power(speech))
        return audio * gain(decibels)

    def noise(self, kind: str, samples: int, rng: np.random.Generator) -> np.ndarray:
        """Noise of one kind of `trials`, babble, or of training's family; mean power 1."""
        if kind == BABBLE:
            return babble(samples, self._talkers(), TALKERS, 0.0, rng)
        if kind == PLANT:
            return self._plant_noise().noise(samples, rng)
        return trials.KINDS[kind](samples, self._rate, rng)

    def _change(self, speech: np.ndarray, change: str, rng: np.random.Generator) -> np.ndarray:
        changes: dict[str, Callable[[], np.ndarray]] = {
            "": lambda: speech,
            "clipped": lambda: channel.clip(speech, CLIPPED_DB),
            "narrow": lambda: channel.half_band(speech),
            "reverberant": lambda: channel.reverberate(
                speech, channel.exponential_room(self._rate, RT60, rng)
            ),
        }
        return changes[change]()

    def _plant_noise(self) -> NoiseMaker:
        if self._plant is None:
            folder = self._config.evaluate.noise_folder
            settings = self._config.noise.but(kinds=["machine"], pieces=0)  # not those of training
            if folder:  # nothing else then
                settings = settings.but(folder=folder, folder_share=1.0)
            self._plant = NoiseMaker(settings, self._rate, self._config.data.strict)
        return self._plant

    def _talkers(self) -> list[np.ndarray]:
        if not self._people:
            self._people = people_of(speak_others(self._config, "heldout", PEOPLE))
        return self._people
