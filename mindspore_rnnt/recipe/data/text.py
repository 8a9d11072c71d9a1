# SPDX-License-Identifier: Apache-2.0
"""Characters and their ids; id 0 is the transducer's blank."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ...tools.text_files import read_text

BLANK = 0
BLANK_NAME = "<blank>"
# Characters of category Cf that are drawn: they enclose the number or the word behind them.
DRAWN = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
# Of other categories, and not drawn: the grapheme joiner, fillers, variation selectors.
FILLERS = (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0)
SELECTORS = ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
NOT_DRAWN = frozenset(
    map(chr, [*FILLERS, *(code for low, high in SELECTORS for code in range(low, high + 1))])
)
NON_JOINER, JOINER = "\u200c", "\u200d"
VIRAMA = 9  # combining class of the signs that take an Indic letter's vowel away


class Vocabulary:
    """Blank and a fixed order of characters; `len(vocabulary)` is V."""

    def __init__(self, characters: Iterable[str]):
        self.characters = list(characters)
        wrong = [item for item in self.characters if len(item) != 1]
        if wrong:
            raise ValueError(f"a vocabulary holds single characters, but got {wrong[0]!r}")
        self._ids = {item: number for number, item in enumerate(self.characters, start=1)}
        if len(self._ids) != len(self.characters):
            raise ValueError("a vocabulary must not hold a character twice")

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> Vocabulary:
        """Every character of the texts, sorted, so that the ids do not depend on their order."""
        return cls(sorted(set().union(*map(set, texts))))

    @classmethod
    def load(cls, path: str | Path) -> Vocabulary:
        """One character a line; a first line `<blank>` is what `save` writes."""
        return cls(line for line in read_lines(path) if line and line != BLANK_NAME)

    def save(self, path: str | Path) -> None:
        text = "\n".join([BLANK_NAME, *self.characters]) + "\n"
        Path(path).write_text(text, encoding="utf-8")

    def __len__(self) -> int:
        return 1 + len(self.characters)

    def unknown(self, text: str) -> str:
        """The characters of `text` that have no id, each once."""
        return "".join(dict.fromkeys(item for item in text if item not in self._ids))

    def encode(self, text: str) -> np.ndarray:
        """int32 ids of a text whose characters are all known."""
        unknown = self.unknown(text)
        if unknown:
            raise ValueError(f"characters {unknown!r} of {text!r} are not in the vocabulary")
        return np.array([self._ids[item] for item in text], dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; blanks vanish."""
        return "".join(self.characters[item - 1] for item in ids if item != BLANK)


def read_lines(path: str | Path) -> list[str]:
    """The lines of a UTF-8 file, with or without a byte order mark.

    Only \\n and \\r\\n end a line: str.splitlines would cut a transcript at U+2028 or U+0085.
    """
    return read_text(path).replace("\r\n", "\n").split("\n")


def normalise(text: str, fold_case: bool = False) -> str:
    """Nothing invisible, Unicode NFKC, single spaces; none in Chinese, where corpora split words.

    `fold_case` makes letters small, for scripts that have both.
    """
    text = unicodedata.normalize("NFKC", visible(text))
    text = "".join(" " if unicodedata.category(item) == "Cc" else item for item in text)
    text = text.lower() if fold_case else text
    has_chinese = any("\u4e00" <= item <= "\u9fff" for item in text)
    return "".join(text.split()) if has_chinese else " ".join(text.split())


def visible(text: str) -> str:
    """Without what cannot be seen: formats (category Cf), variation selectors, fillers.

    The two joiners stay where they are spelling: both behind an Indic virama, the non-joiner also
    between Arabic letters (Persian suffixes). Those are the places where RFC 5892 allows them.
    """
    kept = [item for item in text if item in (NON_JOINER, JOINER) or not _is_invisible(item)]
    return "".join(
        item
        for place, item in enumerate(kept)
        if item not in (NON_JOINER, JOINER) or _is_spelling(kept, place)
    )


def _is_invisible(item: str) -> bool:
    return (unicodedata.category(item) == "Cf" and item not in DRAWN) or item in NOT_DRAWN


def _is_spelling(text: Sequence[str], place: int) -> bool:
    """Whether the joiner at a place shapes letters of a script that needs it."""
    before, behind = text[:place][::-1], text[place + 1 :]
    if before and unicodedata.combining(before[0]) == VIRAMA:
        return True
    # Vowel signs may stand between an Arabic letter and the joiner; they have no direction.
    sides = [
        next((item for item in side if unicodedata.bidirectional(item) != "NSM"), " ")
        for side in (before, behind)
    ]
    arabic = all(unicodedata.bidirectional(item) == "AL" for item in sides)
    return arabic and text[place] == NON_JOINER
