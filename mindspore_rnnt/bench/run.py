# SPDX-License-Identifier: Apache-2.0
"""Run what the configuration asks for, section by section."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from pathlib import Path

from .config import BenchConfig
from .contenders import FORMS, available
from .family import LOSSES, measure_family, measure_pruned
from .memory import MODES, peak_bytes
from .problems import librispeech, uniform
from .profile import KERNELS, profile
from .report import Report
from .timing import measure


def run(config: BenchConfig, output: Path) -> None:
    report = Report(output)
    try:
        _run(config, report)
    finally:
        print(f"results are in {output}" if report.rows or report.peaks else "no results")


def _run(config, report):
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
    for section, composed in (("family", False), ("compositions", True)):
        for size in getattr(config, section):
            problem = uniform(*size)
            others = config.modes, composed, config.threads, config.seconds
            report.add(section, problem, config.threads, _apart(measure_family, problem, *others))
    for size in config.pruned:
        problem = uniform(*size)
        others = config.modes, config.threads, config.seconds
        report.add("pruned", problem, config.threads, _apart(measure_pruned, problem, *others))
        for loss in LOSSES:
            for mode in config.modes:
                report.add_peak(problem, loss, mode, peak_bytes(problem, loss, mode))
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
            if axis == "threads":  # what MindSpore's own threads hide
                alone = _apart(profile, problem, threads, config.seconds)
                timings |= {KERNELS: alone[KERNELS]}
            report.add(axis, problem, threads, timings, value)
    report.plot()


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
        # The child inherits the mask: Ctrl-C reaches the parent alone.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        future = pool.submit(function, problem, *arguments)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        try:
            return future.result()
        except BrokenProcessPool:
            print(f"{problem.name} is left out: its process died, perhaps for want of memory")
            return {}
        except KeyboardInterrupt:
            for child in active_children():
                child.kill()  # or its call would be waited for
            raise
