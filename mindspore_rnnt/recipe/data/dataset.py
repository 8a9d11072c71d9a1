# SPDX-License-Identifier: Apache-2.0
"""Batches of a few fixed shapes, the same for a seed and an epoch wherever a run starts.

Everything random about an utterance comes from (train.seed, epoch, its number), so a run resumed
at any step, or shared out to any number of ranks, sees the very same features.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from mindspore_rnnt import packed_indices

from ..config import Config
from ..sound.levels import power
from . import augment
from .buckets import SUBSAMPLING, pad, padded_shapes, shape_of
from .cache import FeatureCache
from .conditions import CLEAN, Condition, Trials
from .corpus import UNREADABLE, BadFiles, Utterance, load_corpus
from .features import Cmvn, LogMel
from .grammar import load_grammar
from .negatives import people_of, silences, speak_others
from .noise import NoiseMaker
from .synth import speak_heldout, speak_train
from .text import Vocabulary

AHEAD = 2  # batches made in the background


def build(
    config: Config, rank: int = 0, size: int = 1
) -> tuple[BatchSource, list[Utterance], Vocabulary, Cmvn]:
    """Training batches of this rank, held-out utterances, vocabulary and normalisation."""
    train, heldout, vocabulary = load(config)
    cache = FeatureCache(config.features)
    spoken = [item for item in train if item.text]
    some, bad = spread(spoken, config.features.cmvn_utterances), BadFiles()
    cmvn = Cmvn.of(cache.features(item, audio) for item, audio in _readable(some, bad))
    bad.report("mean and variance", len(some), config.data.strict)
    return (
        BatchSource(config, train, vocabulary, cmvn, cache, rank, size),
        heldout,
        vocabulary,
        cmvn,
    )


def load(config: Config) -> tuple[list[Utterance], list[Utterance], Vocabulary]:
    """Training and held-out utterances and the vocabulary, synthetic or from the two corpora."""
    data = config.data
    if bool(data.train) != bool(data.heldout):
        raise ValueError("data.train and data.heldout must be given together")
    if data.train and data.extra:
        raise ValueError("data.extra is trained beside synthetic speech; leave out data.train")
    vocabulary = Vocabulary.load(data.vocabulary) if data.vocabulary else None
    if not data.train:
        vocabulary = vocabulary or Vocabulary(load_grammar(data.grammar).characters())
        others = speak_others(config, "train", data.train_others)
        extra = load_corpus(data.extra, config, vocabulary) if data.extra else []
        train = [*speak_train(config), *extra, *others, *silences(config)]
        return train, load_heldout(config, vocabulary), vocabulary
    train = load_corpus(data.train, config, vocabulary)
    vocabulary = vocabulary or Vocabulary.of_texts(item.text for item in train)
    return [*train, *silences(config)], load_heldout(config, vocabulary), vocabulary


def load_heldout(config: Config, vocabulary: Vocabulary) -> list[Utterance]:
    """The held-out utterances alone."""
    if config.data.heldout:
        return load_corpus(config.data.heldout, config, vocabulary)
    return speak_heldout(config)


def spread(utterances: Sequence[Utterance], count: int) -> Sequence[Utterance]:
    """About `count` of them, evenly: the first so many would be a few speakers of a corpus."""
    return utterances[:: max(1, len(utterances) // count)][:count]


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
        self._config, self._utterances, self._cmvn, self._cache = config, utterances, cmvn, cache
        self._rank, self._size = rank, size
        self._extractor = LogMel(config.features)
        people = people_of(utterances) if config.noise.probability else ()
        self._rate = config.features.sample_rate
        self._noise = NoiseMaker(config.noise, self._rate, config.data.strict, people)
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

    def epoch(self, epoch: int, start_step: int = 0) -> Iterator[dict]:
        """The batches of an epoch from a step on; the next ones are made in the background.

        features (B, max_frames, mels) float32, frame_lengths, encoder_lengths (B,) int32, targets
        (B, max_u) int32, target_lengths (B,) int32, frame_rows, label_rows (N,) int32, texts.
        """
        draws, batches = self._plan(epoch)
        with ThreadPoolExecutor(max_workers=1) as pool:
            pending: deque = deque()
            try:
                for indices in batches[start_step:]:
                    pending.append(pool.submit(self._batch, epoch, indices, draws))
                    if len(pending) > AHEAD:
                        yield pending.popleft().result()
                while pending:
                    yield pending.popleft().result()
            finally:
                for future in pending:
                    future.cancel()

    def _plan(self, epoch: int) -> tuple[Draws, np.ndarray]:
        """What an epoch draws, and (steps, B * size) indices: like lengths together."""
        rng = np.random.default_rng([self._config.train.seed, epoch])
        draws = self._draw(rng, self._share(epoch))
        kept = rng.permutation(len(self._utterances))
        kept = kept[: self.steps_per_epoch * self.batch_size * self._size]
        buckets = np.searchsorted(self.shapes, draws.frames[kept])
        kept = kept[np.argsort(buckets, kind="stable")]
        return draws, rng.permutation(kept.reshape(self.steps_per_epoch, -1))

    def _share(self, epoch: int) -> float:
        """How much of the augmentation an epoch has."""
        ramp = self._config.augment.ramp_epochs
        return min(1.0, epoch / ramp) if ramp else 1.0

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

    def _batch(self, epoch: int, everyone: np.ndarray, draws: Draws) -> dict:
        """This rank's part of a step; the padded shape is that of all ranks together."""
        longest = draws.frames[everyone].max()
        shape = shape_of(longest, self.shapes)
        start = self._rank * self.batch_size
        found = self._found(epoch, everyone[start : start + self.batch_size], draws)
        readable = list(found) or [self._substitute(epoch, everyone[start], draws, shape)]
        # Another takes the place of one that has become unreadable: shapes stay as they are.
        rows = [readable[place] for place in np.resize(np.arange(len(readable)), self.batch_size)]
        indices = [i for i, _ in rows]
        padded, lengths = pad([features for _, features in rows], shape)
        targets = np.zeros((self.batch_size, self.max_u), np.int32)
        for row, i in enumerate(indices):
            targets[row, : len(self._targets[i])] = self._targets[i]
        target_lengths = np.array([len(self._targets[i]) for i in indices], np.int32)
        encoder_lengths = lengths // SUBSAMPLING
        frame_rows, label_rows = packed_indices(
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
            "label_rows": label_rows,
            "texts": [self._utterances[i].text for i in indices],
        }

    def _substitute(
        self, epoch: int, index: int, draws: Draws, shape: int
    ) -> tuple[int, np.ndarray]:
        """The first readable utterance after one, of those that a padded length holds."""
        others = np.roll(np.arange(len(self._utterances)), -index - 1)
        others = others[draws.frames[others] <= shape]
        for found in self._found(epoch, others, draws):
            return found
        raise RuntimeError(f"no training utterance of up to {shape} frames can be read any more")

    def _found(
        self, epoch: int, indices: Iterable[int], draws: Draws
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Indices and features, without those that cannot be read any more."""
        for i in indices:
            try:
                features = self._features(epoch, i, draws)
            except UNREADABLE as error:
                self._lose(self._utterances[i].key, error)
            else:
                yield i, features

    def _lose(self, key: str, error: Exception) -> None:
        self.lost.add(key)
        message = f"utterance {key} became unreadable, {len(self.lost)} so far: {error}"
        if self._config.data.strict:
            raise ValueError(message)
        warnings.warn(message, stacklevel=2)

    def _features(self, epoch: int, index: int, draws: Draws) -> np.ndarray:
        """Augmented, normalised features; only clean ones at natural speed can be cached."""
        config, utterance = self._config, self._utterances[index]
        rng = np.random.default_rng([config.train.seed, epoch, int(index)])
        speed, pads = draws.speeds[index], draws.pads[index]
        share = self._share(epoch)
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
        """From a mouth to the recording: room, quiet around, noise of the plant, channel."""
        options = augment.ramped(self._config.augment, share)
        speech = audio = augment.enter_room(speech, options, self._rate, rng)
        if any(options.pad_seconds):
            audio = augment.surround(speech, pads, augment.floor_level(options, rng), rng)
        audio = self._noise.maybe(audio, rng, power(speech), share)
        return augment.pass_channel(audio, options, self._rate, rng)

    def _always_clean(self, speed: float, share: float) -> bool:
        untouched = augment.is_untouched(augment.ramped(self._config.augment, share))
        return speed == 1.0 and untouched and share * self._config.noise.probability == 0.0


def heldout_batches(
    config: Config,
    utterances: Sequence[Utterance],
    cmvn: Cmvn,
    shapes: Sequence[int],
    condition: Condition = CLEAN,
    trials: Trials | None = None,
) -> Iterator[dict]:
    """Batches to decode, heard under one condition: features, frame_lengths, utterances.

    Each has decode.batch_size rows; in the last the rows beyond len(utterances) repeat the first.
    """
    extractor = LogMel(config.features)
    trials = trials or Trials(config)
    bad = BadFiles()
    order = np.argsort([item.samples for item in utterances], kind="stable")
    size = config.decode.batch_size
    for start in range(0, len(order), size):
        kept, features = [], []
        numbers = {utterances[i]: int(i) for i in order[start : start + size]}
        for utterance, audio in _readable(numbers, bad):
            kept.append(utterance)
            heard = trials.hear(audio, condition, numbers[utterance])
            features.append(cmvn(extractor(heard)))
        if kept:
            rows = [features[i] for i in np.resize(np.arange(len(kept)), size)]
            padded, lengths = pad(rows, shape_of(max(map(len, rows)), shapes))
            yield {"features": padded, "frame_lengths": lengths, "utterances": kept}
    bad.report("held-out speech", len(utterances), config.data.strict)


def _readable(
    utterances: Iterable[Utterance], bad: BadFiles
) -> Iterator[tuple[Utterance, np.ndarray]]:
    """Utterances and their audio, without those that cannot be read any more."""
    for item in utterances:
        try:
            audio = item.audio()
        except UNREADABLE as error:
            bad.add("unreadable audio", item.key, str(error))
        else:
            yield item, audio
