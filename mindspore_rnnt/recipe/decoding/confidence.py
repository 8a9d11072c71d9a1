# SPDX-License-Identifier: Apache-2.0
"""How sure a result is: posteriors of the emitted labels, calibrated on held-out speech.

A label emitted with probability p is right with probability sigmoid(a logit(p) + b), and a command
with sigmoid(c logit(q) + d). After a beam search q is the command's share of the probability of all
that the search has kept: what else it may have been is among them. Greedy search keeps nothing
else; then q is the geometric mean over the labels, as the product would make every long command
unsure. The four numbers are fitted by `calibrate`; without a fit they are 1, 0, 1, 0.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from ...tools.text_files import read_json
from .found import Found

FILE = "calibration.json"
CLOSEST = 1e-6  # probabilities stay so far from 0 and 1: a logit must be finite
PRIOR = 1e-2  # weight of staying at slope 1, offset 0: few errors must not make a steep fit


@dataclass(frozen=True)
class Line:
    """p -> sigmoid(slope * logit(p) + offset)."""

    slope: float = 1.0
    offset: float = 0.0

    def __call__(self, probabilities: np.ndarray) -> np.ndarray:
        return expit(self.slope * _logit(probabilities) + self.offset)

    @classmethod
    def fit(cls, probabilities: Sequence[float], right: Sequence[bool]) -> Line:
        """The likeliest line for what turned out right and wrong."""
        if not len(probabilities):
            return cls()
        x, sign = _logit(np.asarray(probabilities)), np.where(right, 1.0, -1.0)

        def loss(line: np.ndarray) -> float:
            fine = PRIOR * ((line[0] - 1) ** 2 + line[1] ** 2)
            return float(np.logaddexp(0, -sign * (line[0] * x + line[1])).mean() + fine)

        # Never falling: where sureness says nothing, the fit is flat and not upside down.
        found = minimize(loss, [1.0, 0.0], method="Nelder-Mead", bounds=[(0, None), (None, None)])
        return cls(*map(float, found.x))


@dataclass(frozen=True)
class Calibration:
    label: Line = Line()
    command: Line = Line()

    def labels(self, log_probs: Sequence[float]) -> np.ndarray:
        """Of each label the probability that it is right."""
        return self.label(np.exp(np.asarray(log_probs, np.float64)))

    def whole(self, found: Found) -> float:
        """The probability that all labels are right; 0 without any."""
        return float(self.command(np.asarray(_sureness(self.label, found)))) if found.ids else 0.0

    def save(self, folder: str | Path) -> None:
        Path(folder, FILE).write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Calibration:
        """That of a folder; where `evaluate` has not made one, the posteriors as they are."""
        path = Path(folder, FILE)
        if not path.is_file():
            return cls()
        lines = read_json(path)
        try:
            return cls(**{name: Line(**line) for name, line in lines.items()})
        except (AttributeError, TypeError) as error:
            raise ValueError(f"{path} is no calibration: {error}; evaluate again") from None


def calibrate(
    labels: Sequence[tuple[Found, Sequence[bool]]], commands: Sequence[tuple[Found, bool]]
) -> Calibration:
    """Fit both lines: of what was found which labels were right, and which commands."""
    sure = [value for found, _ in labels for value in np.exp(found.log_probs).tolist()]
    line = Line.fit(sure, [one for _, right in labels for one in right])
    before = [_sureness(line, found) for found, _ in commands]
    return Calibration(line, Line.fit(before, [right for _, right in commands]))


def reliability(
    confidences: Sequence[float], right: Sequence[bool], bins: int = 5
) -> list[dict[str, float]]:
    """For each of equally wide bins with something in it: its mean confidence and share right."""
    sure, true = np.asarray(confidences, float), np.asarray(right, bool)
    places = np.minimum((sure * bins).astype(int), bins - 1)
    return [
        {
            "from": place / bins,
            "to": (place + 1) / bins,
            "confidence": float(sure[places == place].mean()),
            "right": float(true[places == place].mean()),
            "count": int((places == place).sum()),
        }
        for place in np.unique(places)
    ]


def _sureness(label: Line, found: Found) -> float:
    """q of a command."""
    if found.share is not None:
        return found.share
    probabilities = label(np.exp(np.asarray(found.log_probs, np.float64)))
    return float(np.exp(np.log(np.maximum(probabilities, CLOSEST)).mean()))


def _logit(probabilities: np.ndarray) -> np.ndarray:
    inside = np.clip(probabilities, CLOSEST, 1 - CLOSEST)
    return np.log(inside) - np.log1p(-inside)
