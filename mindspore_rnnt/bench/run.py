# SPDX-License-Identifier: Apache-2.0
"""Run what the configuration asks for, section by section."""

from __future__ import annotations

import os
from pathlib import Path

from .config import BenchConfig
from .contenders import available
from .memory import FORMS, MODES, peak_bytes
from .problems import librispeech, uniform
from .profile import profile
from .report import Report
from .timing import measure


def run(config: BenchConfig, output: Path) -> None:
    report = Report(output)
    peers = available(config.peers)
    missing = sorted(set(config.peers) - set(peers))
    print(
        f"peers: {', '.join(peers)}" + (f" (not installed: {', '.join(missing)})" * bool(missing))
    )
    ours = [f"{form} {mode}" for form in config.forms for mode in config.modes]
    for size in config.memory:
        problem = uniform(*size)
        for form in FORMS:
            for mode in MODES:
                report.add_peak(problem, form, mode, peak_bytes(problem, form, mode))
    for dtype in config.dtypes:
        contenders = [*ours, *(p for p in peers if not (p != "stream" and dtype == "bfloat16"))]
        for size in config.sizes:
            _measure(report, config, "sizes", uniform(*size, dtype), contenders)
        for B in config.utterances:
            for V in config.vocabularies:
                problem = librispeech(Path(config.lengths), B, V, dtype)
                _measure(report, config, "LibriSpeech", problem, contenders)
    for size in config.profile:
        problem = uniform(*size)
        report.add(
            "profile", problem, config.threads, profile(problem, config.threads, config.seconds)
        )
    for axis, values in config.sweeps.items():
        for value in values:
            size = dict(zip("BTUV", config.sweep_base))
            threads = config.threads
            if axis == "threads":
                threads = min(value, os.cpu_count() or 1)
            else:
                size[axis] = value
            timings = measure(uniform(**size), [*ours, *peers], threads, config.seconds)
            report.add(axis, uniform(**size), threads, timings, value)
    report.plot()
    print(f"results are in {output}")


def _measure(report, config, section, problem, contenders):
    report.add(
        section,
        problem,
        config.threads,
        measure(problem, contenders, config.threads, config.seconds),
    )
