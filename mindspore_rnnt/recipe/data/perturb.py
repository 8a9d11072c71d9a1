# SPDX-License-Identifier: Apache-2.0
"""Training features of one utterance: speed, room, quiet, noise, channel, gain, masks.

Everything random about them comes from (train.seed, epoch, the utterance's number), so they are
the same whoever makes them: a resumed run, any rank, any worker.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..settings import Config
from ..sound.levels import power
from . import augment
from .cache import FeatureCache
from .corpus import Utterance
from .features import Cmvn, LogMel
from .negatives import people_of
from .noise import NoiseMaker


class Perturber:
    """`features` of an utterance in an epoch; early epochs get a share of the augmentation only."""

    def __init__(
        self, config: Config, utterances: Sequence[Utterance], cmvn: Cmvn, cache: FeatureCache
    ):
        self._config, self._cmvn, self._cache = config, cmvn, cache
        self._rate = config.features.sample_rate
        self._extractor = LogMel(config.features)
        people = people_of(utterances) if config.noise.probability else ()
        self._noise = NoiseMaker(config.noise, self._rate, config.data.strict, people)

    def share(self, epoch: int) -> float:
        """How much of the augmentation an epoch has."""
        options = self._config.augment
        late = epoch - options.clean_epochs
        return 0.0 if late < 0 else min(1.0, (late + 1) / (options.ramp_epochs + 1))

    def features(
        self, utterance: Utterance, number: int, epoch: int, speed: float, pads: np.ndarray
    ) -> np.ndarray:
        """Augmented and normalised; only clean ones at natural speed can be cached."""
        config, share = self._config, self.share(epoch)
        rng = np.random.default_rng([config.train.seed, epoch, number])
        features = self._cache.get(utterance) if self._always_clean(speed, share) else None
        if features is None:
            clean = utterance.audio()
            if len(clean) != utterance.samples:
                raise ValueError(f"{len(clean)} samples instead of {utterance.samples}")
            audio = self._perturb(augment.change_speed(clean, speed), pads, share, rng)
            is_clean = audio is clean
            features = (
                self._cache.features(utterance, clean) if is_clean else self._extractor(audio)
            )
        return augment.spec_augment(self._cmvn(features), config.augment, rng)

    def _perturb(
        self, speech: np.ndarray, pads: np.ndarray, share: float, rng: np.random.Generator
    ) -> np.ndarray:
        """Speech as it is recorded: room, quiet around it, noise of the plant, channel."""
        options = augment.ramped(self._config.augment, share)
        speech = audio = augment.enter_room(speech, options, self._rate, rng)
        if any(options.pad_seconds):
            audio = augment.surround(speech, pads, augment.floor_level(options, rng), rng)
        audio = self._noise.maybe(audio, rng, power(speech), share)
        return augment.pass_channel(audio, options, self._rate, rng)

    def _always_clean(self, speed: float, share: float) -> bool:
        untouched = augment.is_untouched(augment.ramped(self._config.augment, share))
        return speed == 1.0 and untouched and share * self._config.noise.probability == 0.0
