# SPDX-License-Identifier: Apache-2.0
"""Hours of audio that one core prepares in a second, by what is done to them."""

from __future__ import annotations

import time
from copy import deepcopy
from itertools import islice

import numpy as np

from ..bar import bar
from ..data import dataset
from ..data.batches import BatchSource
from ..data.cache import FeatureCache
from ..decoding.scoring import format_table
from ..settings import Config

NO_CHANNEL = {"reverberant": 0.0, "narrow": 0.0, "clipped": 0.0}
NOTHING = {"speeds": [1.0], "pad_seconds": [0.0, 0.0], "gain_db": [0.0, 0.0], **NO_CHANNEL}
CHANGES: dict[str, tuple[dict, float, bool]] = {  # augment.*, noise.probability, cached
    "clean, cached": (NOTHING, 0.0, True),
    "clean": (NOTHING, 0.0, False),
    "speed 0.9, 1.0, 1.1": (NOTHING | {"speeds": [0.9, 1.0, 1.1]}, 0.0, False),
    "noise in each": (NOTHING, 1.0, False),
    "speed, quiet around, level, noise in 70 %": (
        NO_CHANNEL | {"speeds": [0.9, 1.0, 1.1], "pad_seconds": [0.0, 1.5]},
        0.7,
        False,
    ),
    "as configured": ({}, -1.0, False),
}


def run(config: Config, seconds: float = 5.0) -> list[dict]:
    """Print and return a row for each kind of preparation; about `seconds` of work for each.

    Seconds are those of the processor, so other work on the machine does not count.
    """
    train, _, vocabulary = dataset.load(config)
    _, _, _, cmvn = dataset.build(config)
    rows = []
    for name, (augment, probability, cached) in bar(CHANGES.items(), "throughput", "row"):
        one = deepcopy(config)
        vars(one.augment).update(augment | {"clean_epochs": 0, "ramp_epochs": 0})
        if probability >= 0:
            one.noise.probability = probability
        one.features.cache_mb = config.features.cache_mb if cached else 0
        source = BatchSource(one, train, vocabulary, cmvn, FeatureCache(one.features))
        if cached:
            for step in range(source.steps_per_epoch):
                source.batch(0, step)
        speed = _hours_per_second(source, train, seconds)
        rows.append({"prepared": name, "hours a second and core": f"{speed:.3f}"})
    print(format_table(rows))
    return rows


def _hours_per_second(source: BatchSource, utterances: list, seconds: float) -> float:
    hours, begin = 0.0, time.process_time()
    endless = ((epoch, step) for epoch in range(99) for step in range(source.steps_per_epoch))
    for epoch, step in islice(endless, 10_000):
        numbers = source.batch(epoch, step)["numbers"]
        lengths = [utterances[n].samples / utterances[n].sample_rate for n in numbers]
        hours += float(np.sum(lengths)) / 3600
        if time.process_time() - begin > seconds:
            break
    return hours / (time.process_time() - begin)
