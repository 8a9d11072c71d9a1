# SPDX-License-Identifier: Apache-2.0
"""Whether an utterance becomes a ticket, and if not, why not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from ..data.text import Vocabulary
from ..settings import Config
from .confidence import Calibration
from .found import Found
from .ticket import TicketParser


class Judge:
    """Turns what was found in an utterance into what `listen` and `evaluate` report."""

    def __init__(
        self,
        config: Config,
        vocabulary: Vocabulary,
        parser: TicketParser | None,
        calibration: Calibration,
    ):
        self._least = config.decode.min_confidence
        self._vocabulary, self._parser, self._calibration = vocabulary, parser, calibration

    def __call__(self, found: Found, seconds: Sequence[float]) -> dict:
        """text, confidence, characters, and with a grammar orders, order and reason.

        `orders` has one for each command; without any, `reason` says why. `order` is the only one,
        and None where there are several.
        """
        text = self.text(found)
        confidence = self.confidence(found)
        sure = [float(value) for value in self._calibration.labels(found.log_probs)]
        report = {
            "text": text,
            "confidence": round(confidence, 4),
            "characters": [
                {"text": character, "seconds": round(second, 3), "confidence": round(value, 4)}
                for character, second, value in zip(text, seconds, sure)
            ],
        }
        if self._parser is None:
            return report
        orders = self._parser.parse_all(text)
        reason = self._doubt(text, confidence, sure)
        if not orders:
            reason = _unlike_a_command(self._parser.parse(text))
        given = [] if reason else orders
        order = given[0] if len(given) == 1 else None
        return report | {"order": order, "orders": given, "reason": reason}

    def text(self, found: Found) -> str:
        return self._vocabulary.decode(found.ids)

    def passes(self, found: Found) -> bool:
        """Whether it becomes a ticket."""
        return self.understands(found) and self.confidence(found) >= self._least

    def understands(self, found: Found) -> bool:
        """Whether it is a command or several, however unsure."""
        return bool(self._orders(found))

    def confidence(self, found: Found) -> float:
        """The probability that all of it is right.

        The share of a beam search is of the whole; after greedy search it is the product over the
        commands.
        """
        lengths = [len(order["text"]) for order in self._orders(found)]
        if found.share is not None or len(lengths) < 2:
            return self._calibration.whole(found)
        ends = itertools.accumulate(lengths)
        spans = [slice(end - length, end) for length, end in zip(lengths, ends)]
        parts = [Found(found.ids[s], found.frames[s], found.log_probs[s]) for s in spans]
        return math.prod(map(self._calibration.whole, parts))

    def _orders(self, found: Found) -> list[dict]:
        return self._parser.parse_all(self.text(found)) if self._parser else []

    def _doubt(self, text: str, confidence: float, sure: list[float]) -> str | None:
        """Why a command gives no ticket; None if it gives one."""
        if confidence >= self._least or not text:
            return None
        worst = min(range(len(text)), key=sure.__getitem__)
        return (
            f"unsure: confidence {confidence:.2f} is below {self._least:g}; least sure of "
            f"{text[worst]!r} ({sure[worst]:.2f})"
        )


def _unlike_a_command(order: dict) -> str:
    """Why what was not understood gives no ticket."""
    if not order["text"]:
        return "nothing was recognised"
    choices = " | ".join(phrase for phrase in order["phrases"] if phrase)
    wanted = f"{order['expected']} ({choices})" if choices else order["expected"]
    if any(phrase.startswith(order["found"]) for phrase in order["phrases"]):
        return f"half a command: {wanted} is not complete"
    return f"outside the grammar: {wanted} was expected, but {order['found']!r} came"
