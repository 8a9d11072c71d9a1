# SPDX-License-Identifier: Apache-2.0
"""Forward and backward on a device, beside the least time that memory allows.

The gradient of any logit depends on every logit of its sample, so the logits are read twice and the
gradient written once: 3 S for logits of S bytes. Less only if a sample stays in a cache.
"""

from __future__ import annotations

from typing import NamedTuple

import mindspore as ms
import numpy as np

from .. import native
from .contenders import caller, our_call
from .problems import Problem, uniform
from .timing import measure_calls

HBM_BYTES_PER_SECOND = 1.6e12  # Ascend 910B, from CANN's performance guide
LAUNCH_SECONDS = 20e-6  # with all vector cores, from the same guide

# Frames after 4x subsampling and BPE-500 tokens of the first 16 utterances of LibriSpeech
# train-clean-100, from csukuangfj/transducer-loss-benchmarking (shape_info.pt).
LIBRISPEECH = (
    *((433, 101), (288, 73), (325, 92), (342, 83), (381, 77), (360, 73), (419, 73), (396, 77)),
    *((323, 59), (133, 32), (320, 70), (326, 87), (361, 72), (312, 76), (354, 80), (282, 67)),
)


class DeviceTiming(NamedTuple):
    what: str
    logits_bytes: int
    floor_seconds: float
    seconds: float

    @property
    def share(self) -> float:
        """Of the floor: 1 is as fast as memory allows."""
        return self.floor_seconds / self.seconds


def time_device(device: str, quick: bool) -> list[DeviceTiming]:
    """Medians of value and gradient, compiled, for both forms of the operator."""
    timings = []
    for problem in _problems(device, quick):
        floor = _floor(device, problem.bytes)
        for form in ("fused", "two-op"):
            call = caller(our_call(form, "jit"), _inputs(problem))
            seconds = measure_calls({form: call}, 0.2 if quick else 2.0)[form].median
            what = f"{problem.name} {problem.dtype}, {form}"
            timings.append(DeviceTiming(what, problem.bytes, floor, seconds))
    return timings


def _problems(device, quick):
    small = uniform(4, 200, 50, 50)
    if quick:
        return [small]
    if device == "Ascend":
        large = Problem("LibriSpeech, 16 utterances, V = 5000", LIBRISPEECH, 5000, "float16")
        return [small, uniform(8, 500, 100, 500), large]
    large = Problem("LibriSpeech, 4 utterances, V = 500", LIBRISPEECH[:4], 500)
    return [small, uniform(4, 250, 60, 1000), large]


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
