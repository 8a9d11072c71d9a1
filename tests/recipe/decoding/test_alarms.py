# SPDX-License-Identifier: Apache-2.0
"""Rates of false and missed tickets, counted by hand, and the noise they are measured in."""

import numpy as np
import pytest

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data.conditions import Trials
from mindspore_rnnt.recipe.decoding import alarms
from mindspore_rnnt.recipe.sound.levels import power

SEEN = alarms.Alarms([0.3, 0.9], 0.5, [0.2, 0.6, 0.8], 10, [0.1, 0.55, 0.99], 4)


@pytest.mark.parametrize(
    ("least", "tickets", "others", "missed"),
    [(0.0, 4.0, 0.3, 0.25), (0.5, 2.0, 0.2, 0.5), (0.9, 2.0, 0.0, 0.75), (1.0, 0.0, 0.0, 1.0)],
)
def test_rates(least, tickets, others, missed):
    row = SEEN.at(least)
    assert row["false tickets an hour"] == pytest.approx(tickets)
    assert row["other speech"] == pytest.approx(others)
    assert row["missed"] == pytest.approx(missed)


def test_a_curve_has_its_ends():
    curve = SEEN.curve(11)
    assert curve[0] == SEEN.at(0.0) and curve[-1] == SEEN.at(1.0) and len(curve) == 11


def test_without_noise_nothing_is_said_of_an_hour():
    quiet = alarms.Alarms([], 0.0, [0.2, 0.6, 0.8], 10, [0.1, 0.55, 0.99], 4)
    for row in quiet.curve(3):
        assert set(row) == {"least confidence", "other speech", "missed"}
    assert quiet.at(0.5) == {"least confidence": 0.5, "other speech": 0.2, "missed": 0.5}


def test_noise_lasts_as_asked_and_lies_below_speech(monkeypatch):
    monkeypatch.setattr(alarms, "STRETCH", 2)
    settings = config.load(None, ["evaluate.noise_hours=0.0025"])
    pieces = list(alarms._noise(settings, Trials(settings), speech_power=0.01))
    audio = np.concatenate(pieces)
    assert len(audio) == 9 * 16000
    for start in range(0, len(audio), 2 * 16000):
        below = 10 * np.log10(0.01 / power(audio[start : start + 2 * 16000]))
        assert -0.5 < below < 20.5
