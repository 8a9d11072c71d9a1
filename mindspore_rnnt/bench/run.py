# SPDX-License-Identifier: Apache-2.0
"""Run what the configuration asks for, section by section."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
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
        timings = _apart(profile, problem, config.threads, config.seconds)
        report.add("profile", problem, config.threads, timings)
    for axis, values in config.sweeps.items():
        for value in values:
            size = dict(zip("BTUV", config.sweep_base))
            threads = config.threads
            if axis == "threads":
                threads = min(value, os.cpu_count() or 1)
            else:
                size[axis] = value
            problem = uniform(**size)
            timings = _apart(measure, problem, [*ours, *peers], threads, config.seconds)
            report.add(axis, problem, threads, timings, value)
    report.plot()
    print(f"results are in {output}")


def _measure(report, config, section, problem, contenders):
    timings = _apart(measure, problem, contenders, config.threads, config.seconds)
    report.add(section, problem, config.threads, timings)


def _apart(function, problem, *arguments):
    """In a process of its own: MindSpore's pool keeps what memory it has had until the end."""
    # Children inherit the C environment, in which `import mindspore` set this to 1.
    threads = os.environ.get("OMP_NUM_THREADS")
    if threads is None:
        os.unsetenv("OMP_NUM_THREADS")
    else:
        os.putenv("OMP_NUM_THREADS", threads)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(function, problem, *arguments).result()
        except BrokenProcessPool:
            print(f"{problem.name} is left out: its process died, perhaps for want of memory")
            return {}
