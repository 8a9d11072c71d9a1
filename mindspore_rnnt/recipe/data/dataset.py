# SPDX-License-Identifier: Apache-2.0
"""The utterances to train and to test with, and held-out batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..bar import bar
from ..settings import Config
from . import shards
from .batches import BatchSource
from .buckets import SUBSAMPLING, pad, shape_of
from .cache import FeatureCache
from .conditions import CLEAN, Condition, Trials
from .corpus import BadFiles, Utterance, load_corpus, readable
from .features import Cmvn, LogMel
from .grammar import load_grammar
from .negatives import silences, speak_others
from .pairs import pairs
from .synth import speak_heldout, speak_train
from .text import Vocabulary


def build(
    config: Config, rank: int = 0, size: int = 1
) -> tuple[BatchSource, list[Utterance], Vocabulary, Cmvn]:
    """Training batches of this rank, held-out utterances, vocabulary and normalisation."""
    cache = FeatureCache(config.features)  # first: its folder may be none that can be written
    train, heldout, vocabulary = load(config)
    spoken = [item for item in train if item.text]
    some, bad = spread(spoken, config.features.cmvn_utterances), BadFiles()
    looked = bar(some, "mean and variance", "utterance")
    cmvn = Cmvn.of(cache.features(item, audio) for item, audio in readable(looked, bad))
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
        extra = load_any(data.extra, config, vocabulary) if data.extra else []
        spoken = speak_train(config)
        joined = pairs(
            [*spoken[: data.train_utterances], *extra], data.train_pairs, data.seed, config
        )
        train = [*spoken, *extra, *joined, *others, *silences(config)]
        return train, load_heldout(config), vocabulary
    train = load_any(data.train, config, vocabulary)
    vocabulary = vocabulary or Vocabulary.of_texts(item.text for item in train)
    joined = pairs(train, data.train_pairs, data.seed, config)
    return [*train, *joined, *silences(config)], load_heldout(config), vocabulary


def load_heldout(config: Config) -> list[Utterance]:
    """The held-out utterances alone."""
    if config.data.heldout:
        return load_any(config.data.heldout, config, None, is_test=True)
    return speak_heldout(config)


def load_any(
    source: str, config: Config, vocabulary: Vocabulary | None, is_test: bool = False
) -> list[Utterance]:
    """A corpus of recordings or a packed one."""
    if shards.is_packed(source):
        return shards.load(source, config, vocabulary)
    return load_corpus(source, config, vocabulary, is_test)


def spread(utterances: Sequence[Utterance], count: int) -> Sequence[Utterance]:
    """About `count` of them, evenly: the first so many would be a few speakers of a corpus."""
    return utterances[:: max(1, len(utterances) // count)][:count]


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
    A recording that is shorter than a frame of the encoder ends in zeros.
    """
    extractor = LogMel(config.features)
    least = extractor.window_samples + (SUBSAMPLING - 1) * extractor.hop_samples
    trials = trials or Trials(config)
    bad = BadFiles()
    order = np.argsort([item.samples for item in utterances], kind="stable")
    size = config.decode.batch_size
    for start in range(0, len(order), size):
        kept, features = [], []
        numbers = {utterances[i]: int(i) for i in order[start : start + size]}
        for utterance, audio in readable(numbers, bad):
            kept.append(utterance)
            audio = np.pad(audio, (0, max(0, least - len(audio))))
            heard = trials.hear(audio, condition, numbers[utterance])
            features.append(cmvn(extractor(heard)))
        if kept:
            rows = [features[i] for i in np.resize(np.arange(len(kept)), size)]
            padded, lengths = pad(rows, shape_of(max(map(len, rows)), shapes))
            yield {"features": padded, "frame_lengths": lengths, "utterances": kept}
    bad.report("held-out speech", len(utterances), config.data.strict)
    if len(bad) == len(utterances):
        raise ValueError("no held-out utterance can be read")
