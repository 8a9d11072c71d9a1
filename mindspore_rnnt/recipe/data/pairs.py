# SPDX-License-Identifier: Apache-2.0
"""Utterances of two commands, the second soon after the first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ..settings import Config
from .corpus import BadFiles, Utterance, readable


def pairs(
    utterances: Sequence[Utterance], count: int, seed: int, config: Config
) -> list[Utterance]:
    """So many utterances, each joined from two by one voice, with digital silence between them.

    The silence is shorter than endpoint.silence, after which the second is an utterance of its own.
    All voices have as many. What has no text, or is longer than half of data.max_seconds, is not
    joined. The audio is in memory, as int16.
    """
    data = config.data
    voices: dict[str, list[Utterance]] = defaultdict(list)
    for item in utterances:
        if item.text and 2 * item.samples <= data.max_seconds * item.sample_rate:
            voices[item.voice].append(item)
    if count and not voices:
        raise ValueError("no utterance is short enough to be one of two: raise data.max_seconds")
    rng, bad, joined = np.random.default_rng(seed), BadFiles(), []
    spoken = list(voices.values())
    for number in range(count):
        group = spoken[number % len(spoken)]
        drawn = [group[place] for place in rng.integers(len(group), size=2)]
        gap = rng.uniform(0.0, config.endpoint.silence)
        heard = [audio for _, audio in readable(drawn, bad)]
        if len(heard) == 2:
            joined.append(_join(f"pair-{number:05d}", drawn, heard, gap))
    bad.report("pairs", 2 * count, data.strict)
    return joined


def _join(
    key: str, drawn: Sequence[Utterance], heard: Sequence[np.ndarray], gap: float
) -> Utterance:
    first, second = drawn
    silence = np.zeros(round(gap * first.sample_rate), np.float32)
    audio = np.concatenate([heard[0], silence, heard[1]])
    pcm = np.clip(np.rint(audio * 32768), -32768, 32767).astype(np.int16)
    text = first.text + second.text
    return Utterance(key, text, len(pcm), first.sample_rate, first.voice, pcm=pcm)
