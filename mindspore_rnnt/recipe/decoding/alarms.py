# SPDX-License-Identifier: Apache-2.0
"""Tickets without a command, against commands without a ticket, for every least confidence.

A stream of plant noise runs through the decoder as an open microphone would hear it; speech that
is no command goes through one by one, as do commands in noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..bar import bar
from ..data.conditions import BABBLE, PLANT, Trials
from ..data.features import Cmvn, FeatureStream, LogMel
from ..settings import Config
from ..sound import trials as sounds
from .bias import Bias
from .recogniser import Recogniser
from .scoring import Decoded
from .streaming import StreamingDecoder
from .verdict import Judge

STRETCH = 60  # seconds of one kind of noise at one level
BELOW_DB = (0.0, 20.0)  # the noise is so far below the speech
PIECE = 1600  # samples


@dataclass(frozen=True)
class Alarms:
    """Confidences of the tickets that there would be if none were refused for its confidence."""

    noise: Sequence[float]  # from noise without speech
    noise_hours: float
    others: Sequence[float]  # from speech that is no command
    others_count: int
    commands: Sequence[float]  # from commands, of those that are right
    commands_count: int

    def at(self, least: float) -> dict[str, float]:
        """False tickets an hour, share of other speech that gives one, share of commands missed.

        Without noise there is nothing to say of false tickets an hour.
        """
        passed = [sum(value >= least for value in part) for part in (self.noise, self.others)]
        heard = sum(value >= least for value in self.commands)
        row = {"least confidence": least}
        if self.noise_hours:
            row["false tickets an hour"] = passed[0] / self.noise_hours
        row["other speech"] = passed[1] / max(1, self.others_count)
        row["missed"] = 1.0 - heard / max(1, self.commands_count)
        return row

    def curve(self, points: int = 101) -> list[dict[str, float]]:
        return [self.at(float(least)) for least in np.linspace(0.0, 1.0, points)]


def sound_alarms(
    recogniser: Recogniser,
    config: Config,
    cmvn: Cmvn,
    biases: Sequence[Bias],
    judge: Judge,
    trials: Trials,
    others: Sequence[Decoded],
    commands: Sequence[Decoded],
    speech_power: float,
) -> Alarms:
    """Measure all three; `others` and `commands` have been decoded already.

    A model of whole utterances, without chunks, is no open microphone: it hears no hours of noise.
    """
    right = [item for item in commands if item.text == item.utterance.text]
    noise: list[float] = []
    hours = config.evaluate.noise_hours if recogniser.chunk_size > 0 else 0.0
    if hours:
        parts = (recogniser, config, cmvn, biases, judge, trials, speech_power)
        noise = noise_tickets(*parts)
    return Alarms(
        noise,
        hours,
        [judge.confidence(item.found) for item in others if judge.understands(item.found)],
        len(others),
        [judge.confidence(item.found) for item in right if judge.understands(item.found)],
        len(commands),
    )


def noise_tickets(
    recogniser: Recogniser,
    config: Config,
    cmvn: Cmvn,
    biases: Sequence[Bias],
    judge: Judge,
    trials: Trials,
    speech_power: float,
) -> list[float]:
    """Confidences of the commands found in evaluate.noise_hours of noise without speech."""
    stream = FeatureStream(LogMel(config.features))
    decoder = StreamingDecoder(recogniser, config, biases)
    ended = []
    for audio in _noise(config, trials, speech_power):
        ended += decoder.accept(cmvn(stream.accept(audio)))
    ended += decoder.finish()
    found = [segment.found for segment in ended]
    return [judge.confidence(item) for item in found if judge.understands(item)]


def _noise(config: Config, trials: Trials, speech_power: float) -> Iterator[np.ndarray]:
    """Every kind of noise in turn, each stretch at a level of its own."""
    kinds = [PLANT, *sounds.KINDS, BABBLE]
    seconds = config.evaluate.noise_hours * 3600
    rate = config.features.sample_rate
    for number in bar(range(-(-int(seconds) // STRETCH)), "noise", "min"):
        rng = np.random.default_rng([config.evaluate.seed, number, 2])
        samples = int(min(STRETCH, seconds - STRETCH * number) * rate)
        below = rng.uniform(*BELOW_DB)
        noise = trials.noise(kinds[number % len(kinds)], samples, rng)
        noise = noise * np.float32((speech_power * 10 ** (-below / 10)) ** 0.5)
        for start in range(0, samples, PIECE):
            yield noise[start : start + PIECE].astype(np.float32)
