# SPDX-License-Identifier: Apache-2.0
"""Contenders side by side: in each round every one runs once, so all share the machine's moods."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .contenders import make
from .problems import Problem

LEAST_ROUNDS, MOST_ROUNDS = 3, 200


class Timing(NamedTuple):
    median: float  # seconds
    low: float  # quartiles
    high: float
    rounds: int


def measure(
    problem: Problem, contenders: list[str], threads: int, seconds: float
) -> dict[str, Timing]:
    """Time each contender for about so many seconds, after a warm-up (and compilation)."""
    return measure_calls(make(contenders, problem, threads), seconds)


def measure_calls(calls: dict[str, Callable], seconds: float) -> dict[str, Timing]:
    for name, call in list(calls.items()):
        try:
            call()
            call()
        except (MemoryError, RuntimeError) as error:  # a peer may need more memory than there is
            print(f"{name} is left out: {str(error).splitlines()[0]}")
            del calls[name]
    times = {name: [] for name in calls}
    for _ in range(MOST_ROUNDS):
        for name, call in calls.items():
            taken = times[name]
            if len(taken) < LEAST_ROUNDS or sum(taken) < seconds:
                taken.append(_seconds(call))
        if all(len(t) >= LEAST_ROUNDS and sum(t) >= seconds for t in times.values()):
            break
    return {name: _summary(taken) for name, taken in times.items()}


def _seconds(call):
    start = time.perf_counter()
    result = call()
    taken = time.perf_counter() - start
    del result
    return taken


def _summary(taken):
    low, median, high = np.quantile(taken, [0.25, 0.5, 0.75])
    return Timing(median, low, high, len(taken))
