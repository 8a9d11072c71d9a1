# SPDX-License-Identifier: Apache-2.0
"""What must be answered with nothing: recordings without speech, and speech that is no command.

Both are utterances with an empty transcript.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...tools.configs import config_path
from ...tools.text_files import read_yaml
from ..settings import Config
from .corpus import UNREADABLE, Utterance
from .synth import cast_voices, utterances

SILENCE_SECONDS = (0.5, 4.0)
MOST_WORDS = 12  # of a saying in words or, in Chinese, in characters
MOST_PEOPLE = 300  # recordings kept in memory for babble


def silences(config: Config) -> list[Utterance]:
    """data.train_noises recordings of nothing, which training fills with noise."""
    rng = np.random.default_rng([config.data.seed, 1])
    rate, found = config.features.sample_rate, []
    for number in range(config.data.train_noises):
        samples = int(rng.uniform(*SILENCE_SECONDS) * rate)
        found.append(
            Utterance(f"noise-{number:05d}", "", samples, rate, pcm=np.zeros(samples, np.int16))
        )
    return found


def speak_others(config: Config, part: str, count: int) -> list[Utterance]:
    """So much speech that is no command: pieces of the sentences of data.others, by all languages.

    `part` is "train", or "heldout" for sentences and voices that are never trained.
    """
    data = config.data
    if count == 0:
        return []
    tree = _languages(data.others, part)
    rng = np.random.default_rng([data.seed, 2 if part == "train" else 3])
    languages = [name for name, choice in tree.items() for _ in range(choice["share"])]
    names = [languages[number % len(languages)] for number in range(count)]
    texts = [_piece(tree[name]["sentences"], rng) for name in names]
    voices = data.train_voices if part == "train" else data.heldout_voices
    cast = cast_voices(texts, voices, data, data.seed + (2 if part == "train" else 3))
    spoken = [replace(item, language=name) for item, name in zip(cast, names)]
    return [replace(item, text="") for item in utterances(spoken, f"other-{part}", config)]


def _languages(name: str, part: str) -> dict[str, dict]:
    """Language of espeak-ng -> its `share` and its `sentences`, of one part of the file."""
    found = config_path(name)
    tree = read_yaml(found)
    part_of = tree.get(part) if isinstance(tree, dict) else None
    if not isinstance(part_of, dict) or not part_of:
        raise ValueError(f"{found}: '{part}' must map languages to 'share' and 'sentences'")
    for language, choice in part_of.items():
        said = choice.get("sentences") if isinstance(choice, dict) else None
        share = choice.get("share") if isinstance(choice, dict) else None
        if not isinstance(said, list) or not all(isinstance(item, str) and item for item in said):
            raise ValueError(f"{found}: 'sentences' of {language} must be a list of strings")
        if not said or not isinstance(share, int) or share < 1:
            raise ValueError(f"{found}: {language} needs a sentence and a whole 'share' above 0")
    return part_of


def _piece(sentences: Sequence[str], rng: np.random.Generator) -> str:
    """Words, or Chinese characters, from anywhere in a sentence."""
    sentence = sentences[rng.integers(len(sentences))]
    words = sentence.split()
    joint = " " if len(words) > 1 else ""
    words = words if len(words) > 1 else list(sentence)
    length = int(rng.integers(2, MOST_WORDS + 1))
    start = int(rng.integers(max(1, len(words) - length + 1)))
    return joint.join(words[start : start + length])


def people_of(recordings: Sequence[Utterance]) -> list[np.ndarray]:
    """Recordings for babble: of those who say no commands if there are any, else of all."""
    spoken = [item for item in recordings if not item.key.startswith("noise-")]
    others = [item for item in spoken if not item.text] or spoken
    found = []
    for item in others[:: max(1, len(others) // MOST_PEOPLE)][:MOST_PEOPLE]:
        try:
            audio = item.audio()
        except UNREADABLE:  # it is named where it is trained
            continue
        if audio.any():
            found.append(audio)
    return found
