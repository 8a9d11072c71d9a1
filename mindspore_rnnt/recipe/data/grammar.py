# SPDX-License-Identifier: Apache-2.0
"""The commands a user may say, from YAML: a template, its slots, and what each phrase means."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...tools.configs import config_path
from ...tools.text_files import read_yaml
from .text import visible


@dataclass(frozen=True)
class Grammar:
    """`parts` is the template cut into literal text and slot names, in order."""

    parts: tuple[tuple[str, str], ...]  # ("text", "号") or ("slot", "device")
    slots: dict[str, dict[str, object]]  # slot -> phrase -> meaning
    pinyin: dict[str, str]  # character -> reading, for pictures without a Chinese font
    bopomofo: dict[str, str]  # character -> reading with its tone, but for the first tone

    def choices(self) -> list[list[str]]:
        """For each part what may be said there, in the order of the file."""
        return [
            [value] if kind == "text" else list(self.slots[value]) for kind, value in self.parts
        ]

    def sentences(self) -> list[str]:
        """Every sentence, in the order of the file."""
        return ["".join(pieces) for pieces in itertools.product(*self.choices())]

    def phrases(self) -> list[str]:
        """Every phrase of every slot, in the order of the file."""
        return [phrase for phrases in self.slots.values() for phrase in phrases if phrase]

    def characters(self) -> list[str]:
        """Every character that a sentence can hold, sorted."""
        return sorted(set().union(*map(set, self.sentences())))

    def split(self, train: int, heldout: int, seed: int) -> tuple[list[str], list[str]]:
        """Sentences to train on and others that are never trained.

        When more are asked for than the grammar has, the training sentences come again.
        """
        sentences = self.sentences()
        if not 0 < heldout < len(sentences):
            raise ValueError(
                f"the grammar has {len(sentences)} sentences; "
                f"the held-out number must be in [1, {len(sentences) - 1}], but got {heldout}"
            )
        order = np.random.default_rng(seed).permutation(len(sentences))
        unseen = [sentences[number] for number in order[:heldout]]
        pool = itertools.cycle(sentences[number] for number in order[heldout:])
        return list(itertools.islice(pool, train)), unseen


def load_grammar(path: str | Path) -> Grammar:
    """Read and check a grammar file; a bare name is looked up in configs/."""
    found = config_path(path)
    tree = read_yaml(found)
    if not isinstance(tree, dict) or not {"template", "slots"} <= set(tree):
        raise ValueError(f"{found}: a grammar has 'template' and 'slots'")
    template, slots = tree["template"], tree["slots"]
    readings = [tree.get(name) or {} for name in ("pinyin", "bopomofo")]
    if not isinstance(template, str) or not all(isinstance(item, dict) for item in readings):
        raise ValueError(f"{found}: 'template' must be a string, 'pinyin' and 'bopomofo' mappings")
    if not isinstance(slots, dict):
        raise ValueError(f"{found}: 'slots' must map names to phrases")
    parts = []
    for number, piece in enumerate(re.split(r"\{(\w+)\}", visible(template))):
        if number % 2 == 0:
            if piece:
                parts.append(("text", piece))
        elif piece in slots:
            parts.append(("slot", piece))
        else:
            raise ValueError(f"{found}: the template names an unknown slot '{piece}'")
    names = [value for kind, value in parts if kind == "slot"]
    if len(set(names)) != len(names):
        raise ValueError(f"{found}: the template must name each slot once")
    for name, phrases in slots.items():
        if not isinstance(phrases, dict) or not phrases:
            raise ValueError(f"{found}: slot '{name}' must map phrases to meanings")
        if not all(isinstance(phrase, str) for phrase in phrases):
            raise ValueError(f"{found}: the phrases of slot '{name}' must be strings")
        slots[name] = {visible(phrase): meaning for phrase, meaning in phrases.items()}
    return Grammar(tuple(parts), slots, *readings)
