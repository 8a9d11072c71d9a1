# SPDX-License-Identifier: Apache-2.0
"""Batches of a few fixed shapes, the same for a seed and an epoch wherever a run starts.

What a batch holds follows from (train.seed, epoch, step) alone, so a run resumed at any step,
shared out to any number of ranks or prepared by any number of workers, sees the same features.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mindspore_rnnt import packed_indices

from ..settings import Config
from . import augment, pipeline
from .buckets import SUBSAMPLING, pad, padded_shapes, shape_of
from .cache import FeatureCache
from .corpus import UNREADABLE, Utterance
from .features import Cmvn, LogMel
from .perturb import Perturber
from .text import Vocabulary


class Draws(NamedTuple):
    """What an epoch draws for each utterance before it is read, as its length depends on it."""

    speeds: np.ndarray  # (n,)
    pads: np.ndarray  # (n, 2) samples of quiet before and after
    frames: np.ndarray  # (n,) frames of all


class BatchSource:
    """The training set in batches; `shapes` are the padded lengths in frames, `max_u` in labels.

    `lost` are the keys of utterances that have become unreadable since the corpus was read.
    """

    def __init__(
        self,
        config: Config,
        utterances: Sequence[Utterance],
        vocabulary: Vocabulary,
        cmvn: Cmvn,
        cache: FeatureCache,
        rank: int = 0,
        size: int = 1,
    ):
        self._config, self._utterances = config, utterances
        self._rank, self._size = rank, size
        self._perturber = Perturber(config, utterances, cmvn, cache)
        self._extractor = LogMel(config.features)
        self._rate = config.features.sample_rate
        self.lost: set[str] = set()
        self._targets = [vocabulary.encode(item.text) for item in utterances]
        self.batch_size = config.train.batch_size
        self.steps_per_epoch = len(utterances) // (self.batch_size * size)
        if self.steps_per_epoch == 0:
            raise ValueError(
                f"{len(utterances)} training utterances do not fill one batch of "
                f"{self.batch_size} on each of {size} ranks; lower train.batch_size"
            )
        self.max_u = max(map(len, self._targets))
        self._samples = np.array([item.samples for item in utterances])
        slowest = np.full(len(utterances), min(config.augment.speeds))
        most = round(max(config.augment.pad_seconds) * self._rate)
        usual = self._draw(np.random.default_rng(config.train.seed), 1.0)
        self.shapes = padded_shapes(
            self._frames(slowest, usual.pads),
            config.data.buckets,
            self._frames(slowest, np.full_like(usual.pads, most)).max(),
        )
        self._planned: tuple[int, tuple] | None = None

    def epoch(self, epoch: int, start_step: int = 0) -> Iterator[dict]:
        """The batches of an epoch from a step on, as `batch` makes them; workers are ahead."""
        data = self._config.data
        ahead = pipeline.batches(self, epoch, start_step, data.workers, data.processes)
        for batch in ahead:
            self.name_lost(batch.pop("lost"))
            yield batch | {"texts": [self._utterances[i].text for i in batch.pop("numbers")]}

    def batch(self, epoch: int, step: int) -> dict:
        """This rank's part of a step; the padded shape is that of all ranks together.

        features (B, max_frames, mels) float32, frame_lengths, encoder_lengths (B,) int32, targets
        (B, max_u) int32, target_lengths (B,) int32, frame_rows, step_rows (N,) int32, numbers
        (B,) of the utterances, lost (key, error) of those that could not be read.
        """
        draws, steps = self._plan(epoch)
        everyone = steps[step]
        lost: list[tuple] = []
        shape = shape_of(draws.frames[everyone].max(), self.shapes)
        start = self._rank * self.batch_size
        found = self._found(epoch, everyone[start : start + self.batch_size], draws, lost)
        readable = list(found) or [self._substitute(epoch, everyone[start], draws, shape, lost)]
        # Another takes the place of one that has become unreadable: shapes stay as they are.
        rows = [readable[place] for place in np.resize(np.arange(len(readable)), self.batch_size)]
        numbers = np.array([i for i, _ in rows], np.int32)
        padded, lengths = pad([features for _, features in rows], shape)
        targets = np.zeros((self.batch_size, self.max_u), np.int32)
        for row, i in enumerate(numbers):
            targets[row, : len(self._targets[i])] = self._targets[i]
        target_lengths = np.array([len(self._targets[i]) for i in numbers], np.int32)
        encoder_lengths = lengths // SUBSAMPLING
        frame_rows, step_rows = packed_indices(
            encoder_lengths,
            target_lengths,
            max_t=padded.shape[1] // SUBSAMPLING,
            max_u=self.max_u,
        )
        return {
            "features": padded,
            "frame_lengths": lengths,
            "encoder_lengths": encoder_lengths,
            "targets": targets,
            "target_lengths": target_lengths,
            "frame_rows": frame_rows,
            "step_rows": step_rows,
            "numbers": numbers,
            "lost": lost,
        }

    def name_lost(self, lost: Iterable[tuple[str, str]]) -> None:
        """A warning, or with data.strict an error, for each utterance that could not be read."""
        for key, error in lost:
            self.lost.add(key)
            message = f"utterance {key} became unreadable, {len(self.lost)} so far: {error}"
            if self._config.data.strict:
                raise ValueError(message)
            warnings.warn(message, stacklevel=2)

    def _plan(self, epoch: int) -> tuple[Draws, np.ndarray]:
        """What an epoch draws, and (steps, B * size) numbers: like lengths together."""
        planned = self._planned
        if planned is None or planned[0] != epoch:
            planned = self._planned = (epoch, self._new_plan(epoch))
        return planned[1]

    def _new_plan(self, epoch: int) -> tuple[Draws, np.ndarray]:
        rng = np.random.default_rng([self._config.train.seed, epoch])
        draws = self._draw(rng, self._perturber.share(epoch))
        kept = rng.permutation(len(self._utterances))
        kept = kept[: self.steps_per_epoch * self.batch_size * self._size]
        buckets = np.searchsorted(self.shapes, draws.frames[kept])
        kept = kept[np.argsort(buckets, kind="stable")]
        return draws, rng.permutation(kept.reshape(self.steps_per_epoch, -1))

    def _draw(self, rng: np.random.Generator, share: float) -> Draws:
        options, count = augment.ramped(self._config.augment, share), len(self._utterances)
        speeds = rng.choice(options.speeds, count)
        pads = augment.draw_pads(count, options.pad_seconds, self._rate, rng)
        return Draws(speeds, pads, self._frames(speeds, pads))

    def _frames(self, speeds: np.ndarray, pads: np.ndarray) -> np.ndarray:
        samples = self._samples.copy()
        for speed in set(speeds):
            at = speeds == speed
            samples[at] = augment.sped_samples(samples[at], speed)
        return self._extractor.num_frames(samples + pads.sum(axis=1))

    def _substitute(
        self, epoch: int, number: int, draws: Draws, shape: int, lost: list
    ) -> tuple[int, np.ndarray]:
        """The first readable utterance after one, of those that a padded length holds."""
        others = np.roll(np.arange(len(self._utterances)), -number - 1)
        others = others[draws.frames[others] <= shape]
        for found in self._found(epoch, others, draws, lost):
            return found
        key, error = lost[-1]
        raise RuntimeError(
            f"no training utterance of up to {shape} frames can be read any more; {key}: {error}"
        )

    def _found(
        self, epoch: int, numbers: Iterable[int], draws: Draws, lost: list
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Numbers and features, without those that cannot be read any more."""
        for i in map(int, numbers):
            utterance, drawn = self._utterances[i], (draws.speeds[i], draws.pads[i])
            try:
                features = self._perturber.features(utterance, i, epoch, *drawn)
            except UNREADABLE as error:
                lost.append((utterance.key, str(error)))
            else:
                yield i, features
