# SPDX-License-Identifier: Apache-2.0
"""Character errors, whole sentences and slots right, as `mindspore.train.Metric` classes.

Each `update(hypotheses, references)` takes two equally long lists of texts; `eval()` is over
everything since `clear()`: errors by reference length, never a mean of rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from mindspore.train import Metric

from .ticket import TicketParser


@dataclass(frozen=True)
class Errors:
    """The fewest edits that turn the reference into the hypothesis."""

    substitutions: int = 0
    insertions: int = 0
    deletions: int = 0
    length: int = 0  # of the reference

    @property
    def total(self) -> int:
        return self.substitutions + self.insertions + self.deletions

    @property
    def rate(self) -> float:
        """total / length; without any reference 0 if there is no error, else infinite."""
        if self.length:
            return self.total / self.length
        return float("inf") if self.total else 0.0

    def __add__(self, other: Errors) -> Errors:
        return Errors(
            self.substitutions + other.substitutions,
            self.insertions + other.insertions,
            self.deletions + other.deletions,
            self.length + other.length,
        )


def error_rate(reference: Sequence, hypothesis: Sequence) -> Errors:
    """Edits between two sequences: strings for CER, lists of words for WER."""
    rows, columns = len(reference) + 1, len(hypothesis) + 1
    cost = np.zeros((rows, columns), np.int64)
    cost[:, 0] = np.arange(rows)
    cost[0] = np.arange(columns)
    for i in range(1, rows):
        for j in range(1, columns):
            differ = reference[i - 1] != hypothesis[j - 1]
            cost[i, j] = min(cost[i - 1, j - 1] + differ, cost[i - 1, j] + 1, cost[i, j - 1] + 1)
    substitutions = insertions = deletions = 0
    i, j = rows - 1, columns - 1
    while i or j:
        differ = bool(i and j and reference[i - 1] != hypothesis[j - 1])
        if i and j and cost[i, j] == cost[i - 1, j - 1] + differ:
            substitutions += differ
            i, j = i - 1, j - 1
        elif i and cost[i, j] == cost[i - 1, j] + 1:
            deletions += 1
            i -= 1
        else:
            insertions += 1
            j -= 1
    return Errors(substitutions, insertions, deletions, len(reference))


class CharErrorRate(Metric):
    """Character error rate; `errors` has the kinds apart."""

    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self.errors = Errors()

    def update(self, *inputs: Sequence[str]) -> None:
        for hypothesis, reference in _pairs(inputs):
            self.errors += error_rate(reference, hypothesis)

    def eval(self) -> float:
        return self.errors.rate


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


class WrongOrders(_Share):
    """Share of commands that give an order, and another one than was said.

    References that the grammar does not know are not counted.
    """

    def __init__(self, parser: TicketParser):
        self._parser = parser
        super().__init__()

    def update(self, *inputs: Sequence[str]) -> None:
        for hypothesis, reference in _pairs(inputs):
            if self._parser.parse(reference)["understood"]:
                given = self._parser.parse(hypothesis)["understood"]
                self._right += given and hypothesis != reference
                self._all += 1


def _pairs(inputs: tuple[Sequence[str], ...]) -> list[tuple[str, str]]:
    if len(inputs) != 2 or len(inputs[0]) != len(inputs[1]):
        raise ValueError("update wants two equally long lists: hypotheses and references")
    return list(zip(*inputs))
