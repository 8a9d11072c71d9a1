# SPDX-License-Identifier: Apache-2.0
"""Contenders side by side: in each round every one runs once, so a change of the machine's load
meets all of them.
Only where memory does not hold all of them at once, they are measured one after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .contenders import PEERS, is_ours, make, memory_bytes
from .problems import Problem

LEAST_ROUNDS, MOST_ROUNDS = 3, 200
PATIENCE = 10  # times `seconds`: after that a call gets no further round, see config.py


class Timing(NamedTuple):
    median: float  # seconds
    low: float  # quartiles
    high: float
    rounds: int


def measure(
    problem: Problem, contenders: list[str], threads: int, seconds: float
) -> dict[str, Timing]:
    """Time each contender for about so many seconds, after a warm-up (and compilation).

    What memory does not hold is left out, and so is a peer that fails.
    """
    timings: dict[str, Timing] = {}
    for group in _groups(contenders, problem):
        need = memory_bytes(group, problem)
        if need > _available_bytes():
            for name in group:
                print(f"{name} is left out: it needs {need / 1e9:.0f} GB of memory")
            continue
        timings |= measure_calls(make(group, problem, threads), seconds, may_fail=PEERS)
    return {name: timings[name] for name in contenders if name in timings}


def _groups(contenders, problem):
    """Who is in memory at the same time. Ours last: MindSpore keeps what it has had."""
    if memory_bytes(contenders, problem) <= _available_bytes():
        return [contenders]
    ours = [name for name in contenders if is_ours(name)]
    return [*([name] for name in contenders if not is_ours(name)), *([ours] if ours else [])]


def measure_calls(
    calls: dict[str, Callable], seconds: float, may_fail: Collection[str] = ()
) -> dict[str, Timing]:
    """Rounds until each call has taken `seconds` in LEAST_ROUNDS, or PATIENCE times that in fewer.

    An error ends it all, but for those of `may_fail`: such a call is left out.
    """
    times = {}
    for name, call in calls.items():
        try:
            call()
        except (MemoryError, RuntimeError) as error:
            if name not in may_fail:
                raise
            print(f"{name} is left out: {type(error).__name__}: {error}".splitlines()[0])
            continue
        times[name] = [_seconds(call)]
    for _ in range(MOST_ROUNDS - 1):
        due = [name for name, taken in times.items() if not _is_enough(taken, seconds)]
        for name in due:
            times[name].append(_seconds(calls[name]))
        if not due:
            break
    return {name: _summary(taken) for name, taken in times.items()}


def _is_enough(taken, seconds):
    return sum(taken) >= (seconds if len(taken) >= LEAST_ROUNDS else PATIENCE * seconds)


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
