# SPDX-License-Identifier: Apache-2.0
"""Whether an utterance becomes a ticket, and if not, why not."""

from __future__ import annotations

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
        """text, confidence, characters, and with a grammar order and reason: one is None."""
        text = self._vocabulary.decode(found.ids)
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
        order = self._parser.parse(text)
        reason = self._reason(order, confidence, text, sure)
        return report | {"order": None if reason else order, "reason": reason}

    def passes(self, found: Found) -> bool:
        """Whether it becomes a ticket."""
        return self.understands(found) and self.confidence(found) >= self._least

    def understands(self, found: Found) -> bool:
        """Whether it is a command, however unsure."""
        text = self._vocabulary.decode(found.ids)
        return self._parser is not None and self._parser.parse(text)["understood"]

    def confidence(self, found: Found) -> float:
        """The probability that all of it is right."""
        return self._calibration.whole(found.log_probs)

    def _reason(self, order: dict, confidence: float, text: str, sure: list[float]) -> str | None:
        """Why there is no ticket; None if there is one."""
        if not text:
            return "nothing was recognised"
        if not order["understood"]:
            choices = " | ".join(phrase for phrase in order["phrases"] if phrase)
            wanted = f"{order['expected']} ({choices})" if choices else order["expected"]
            if any(phrase.startswith(order["found"]) for phrase in order["phrases"]):
                return f"half a command: {wanted} is not complete"
            return f"outside the grammar: {wanted} was expected, but {order['found']!r} came"
        if confidence < self._least:
            worst = min(range(len(text)), key=sure.__getitem__)
            return (
                f"unsure: confidence {confidence:.2f} is below {self._least:g}; least sure of "
                f"{text[worst]!r} ({sure[worst]:.2f})"
            )
        return None
