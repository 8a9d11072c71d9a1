# SPDX-License-Identifier: Apache-2.0
"""Error rates, whole sentences and slots right, as `mindspore.train.Metric` classes.

Each `update(hypotheses, references)` takes two equally long lists of texts; `eval()` is over
everything since `clear()`: errors by reference length, never a mean of rates. jiwer counts the
edits.
"""

from __future__ import annotations

from collections.abc import Sequence

import jiwer
from mindspore.train import Metric

from .ticket import TicketParser

CHARACTERS = {  # nothing is stripped, so that an alignment fits the texts as they are
    "reference_transform": jiwer.ReduceToListOfListOfChars(),
    "hypothesis_transform": jiwer.ReduceToListOfListOfChars(),
}


def right_characters(reference: str, hypothesis: str) -> list[bool]:
    """For each character of the hypothesis whether the best alignment finds it in the reference."""
    right = [False] * len(hypothesis)
    (chunks,) = jiwer.process_characters(reference, hypothesis, **CHARACTERS).alignments
    for chunk in chunks:
        if chunk.type == "equal":
            right[chunk.hyp_start_idx : chunk.hyp_end_idx] = [True] * (
                chunk.hyp_end_idx - chunk.hyp_start_idx
            )
    return right


class CharErrorRate(Metric):
    """Edits of characters by characters of the references; the kinds of edits are attributes."""

    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self.substitutions = self.insertions = self.deletions = self.length = 0

    def update(self, *inputs: Sequence[str]) -> None:
        for hypothesis, reference in _pairs(inputs):
            counted = self._count(reference, hypothesis)
            self.substitutions += counted.substitutions
            self.insertions += counted.insertions
            self.deletions += counted.deletions
            self.length += counted.hits + counted.substitutions + counted.deletions

    def eval(self) -> float:
        """Without any reference 0 if there is no edit, else infinite."""
        edits = self.substitutions + self.insertions + self.deletions
        if self.length:
            return edits / self.length
        return float("inf") if edits else 0.0

    def _count(self, reference: str, hypothesis: str) -> jiwer.CharacterOutput | jiwer.WordOutput:
        return jiwer.process_characters(reference, hypothesis, **CHARACTERS)


class WordErrorRate(CharErrorRate):
    """Edits of words by words of the references, for scripts that write spaces."""

    def _count(self, reference: str, hypothesis: str) -> jiwer.WordOutput:
        return jiwer.process_words(reference, hypothesis)


class _Share(Metric):
    """right / all."""

    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._right = self._all = 0

    @property
    def counted(self) -> int:
        """How many the share is of."""
        return self._all

    def eval(self) -> float:
        if self._all == 0:
            raise RuntimeError(f"{type(self).__name__} has seen nothing to evaluate")
        return self._right / self._all


class SentenceAccuracy(_Share):
    """Share of sentences without any error."""

    def update(self, *inputs: Sequence[str]) -> None:
        for hypothesis, reference in _pairs(inputs):
            self._right += hypothesis == reference
            self._all += 1


class SlotAccuracy(_Share):
    """Share of slots of the work order filled rightly; one not understood has all wrong.

    References that the grammar does not know are not counted.
    """

    def __init__(self, parser: TicketParser):
        self._parser = parser
        super().__init__()

    def update(self, *inputs: Sequence[str]) -> None:
        for hypothesis, reference in _pairs(inputs):
            wanted = self._parser.parse(reference)
            if not wanted["understood"]:
                continue
            found = self._parser.parse(hypothesis)
            slots = self._parser.slots
            self._right += sum(
                found["understood"] and found[slot] == wanted[slot] for slot in slots
            )
            self._all += len(slots)


class _Orders(_Share):
    """A share of the references that are a command or several; others are not counted."""

    def __init__(self, parser: TicketParser):
        self._parser = parser
        super().__init__()

    def update(self, *inputs: Sequence[str]) -> None:
        for hypothesis, reference in _pairs(inputs):
            if self._parser.parse_all(reference):
                given = bool(self._parser.parse_all(hypothesis))
                self._right += self._counts(given, hypothesis == reference)
                self._all += 1


class WrongOrders(_Orders):
    """Share of commands that give an order, and another one than was said."""

    def _counts(self, given: bool, right: bool) -> bool:
        return given and not right


class MissedOrders(_Orders):
    """Share of commands that give no order; a hypothesis that was refused is passed as empty."""

    def _counts(self, given: bool, right: bool) -> bool:
        return not given


def _pairs(inputs: tuple[Sequence[str], ...]) -> list[tuple[str, str]]:
    if len(inputs) != 2 or len(inputs[0]) != len(inputs[1]):
        raise ValueError("update wants two equally long lists: hypotheses and references")
    return list(zip(*inputs))
