# SPDX-License-Identifier: Apache-2.0
"""Forward and backward on a device, beside the least time that memory allows.

The gradient of any logit depends on every logit of its sample, so the logits are read twice and the
gradient written once: 3 S for logits of S bytes. Less only if a sample stays in a cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import mindspore as ms
import numpy as np

from .. import native
from ..tools.configs import config_path
from ..tools.replacing import replacing
from .contenders import caller, our_call
from .problems import Problem, librispeech, uniform
from .timing import measure_calls

HBM_BYTES_PER_SECOND = 1.6e12  # Ascend 910B, from CANN's performance guide
LAUNCH_SECONDS = 20e-6  # with all vector cores, from the same guide


class DeviceTiming(NamedTuple):
    what: str
    logits_bytes: int
    floor_seconds: float
    seconds: float

    @property
    def share(self) -> float:
        """Of the floor: 1 is as fast as memory allows."""
        return self.floor_seconds / self.seconds


def bench_device(device: str, output: Path) -> None:
    """Of a device that is set: prints the table and writes it to device.md, row by row."""
    table = floor_table(device, [])
    print("\n".join(table), flush=True)
    for timing in time_device(device, quick=False):
        table.append(_row(timing))
        with replacing(output / "device.md") as draft:
            draft.write_text("\n".join([*table, ""]))
        print(table[-1], flush=True)


def time_device(device: str, quick: bool) -> Iterator[DeviceTiming]:
    """Medians of value and gradient, compiled, for both forms of the operator."""
    for problem in _problems(device, quick):
        floor = _floor(device, problem.bytes)
        for form in ("fused", "two-op"):
            call = caller(our_call(form, "jit"), _inputs(problem))
            seconds = measure_calls({form: call}, 0.2 if quick else 2.0)[form].median
            what = f"{problem.name} {problem.dtype}, {form}"
            yield DeviceTiming(what, problem.bytes, floor, seconds)


def floor_table(device: str, timings: list[DeviceTiming]) -> list[str]:
    """Lines of Markdown."""
    speed = "1.6 TB/s and 20 us of launch" if device == "Ascend" else "the speed of a plain stream"
    return [
        f"Forward and backward on {device}, compiled. The floor: 2 reads and 1 write of the logits "
        f"at {speed}.",
        "",
        "| case | logits MB | floor ms | measured ms | share of the floor |",
        "|---|---|---|---|---|",
        *map(_row, timings),
    ]


def _row(t):
    return (
        f"| {t.what} | {t.logits_bytes / 1e6:.1f} | {t.floor_seconds * 1e3:.3f} "
        f"| {t.seconds * 1e3:.3f} | {t.share:.0%} |"
    )


def _problems(device: str, quick: bool) -> list[Problem]:
    small, lengths = uniform(4, 200, 50, 50), config_path("librispeech_lengths.csv")
    if quick:
        return [small]
    if device == "Ascend":
        return [small, uniform(8, 500, 100, 500), librispeech(lengths, 16, 5000, "float16")]
    return [small, uniform(4, 250, 60, 1000), librispeech(lengths, 4, 500)]


def _inputs(problem):
    """Zeros: the time does not depend on the values, and random numbers would take minutes."""
    logits = ms.ops.zeros((problem.rows, problem.V), getattr(ms, problem.dtype))
    ints = (problem.targets, problem.logit_lengths, problem.target_lengths)
    return logits, *map(ms.Tensor, ints)


def _floor(device, size):
    if device == "Ascend":
        return 3 * size / HBM_BYTES_PER_SECOND + LAUNCH_SECONDS
    source, target = np.ones(size // 4, np.float32), np.empty(size // 4, np.float32)
    return min(native.stream_seconds(source, target) for _ in range(4))
