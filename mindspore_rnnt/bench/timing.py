# SPDX-License-Identifier: Apache-2.0
"""Contenders side by side: in each round every one runs once, so all share the machine's moods."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .contenders import make, memory_bytes
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
    """Time each contender for about so many seconds, after a warm-up (and compilation).

    Where memory does not hold all of them at once, they run one after another.
    """
    needs = {contender: memory_bytes(contender, problem) for contender in contenders}
    there = _available_bytes()
    for name in [name for name, need in needs.items() if need > there]:
        print(f"{name} is left out: it needs {needs.pop(name) / 1e9:.0f} GB of memory")
    together = sum(needs.values()) <= there
    groups = [list(needs)] if together else [[name] for name in needs]
    timings = {}
    for group in groups:
        timings |= measure_calls(make(group, problem, threads), seconds)
    return timings


def measure_calls(calls: dict[str, Callable], seconds: float) -> dict[str, Timing]:
    """A call that takes ten times `seconds` is measured once."""
    times = {}
    for name, call in calls.items():
        call()
        second = _seconds(call)
        times[name] = [second] if second > 10 * seconds else []
    for _ in range(MOST_ROUNDS):
        due = [name for name, taken in times.items() if not _is_enough(taken, seconds)]
        for name in due:
            times[name].append(_seconds(calls[name]))
        if not due:
            break
    return {name: _summary(taken) for name, taken in times.items()}


def _is_enough(taken, seconds):
    return sum(taken) >= (seconds if len(taken) >= LEAST_ROUNDS else 10 * seconds)


def _seconds(call):
    start = time.perf_counter()
    result = call()
    taken = time.perf_counter() - start
    del result
    return taken


def _summary(taken):
    low, median, high = np.quantile(taken, [0.25, 0.5, 0.75])
    return Timing(median, low, high, len(taken))


def _available_bytes():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/meminfo has no MemAvailable")
