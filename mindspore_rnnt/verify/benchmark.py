# SPDX-License-Identifier: Apache-2.0
"""Forward and backward beside the least time that memory allows.

The gradient of any logit depends on every logit of its sample, so the logits are read twice and the
gradient written once: 3 S for logits of S bytes. Less only if a sample stays in a cache.
"""

import time
from typing import NamedTuple

import mindspore as ms
import numpy as np
from mindspore import Tensor

from .. import native
from .cases import DTYPES, Case, loss_cell

HBM_BYTES_PER_SECOND = 1.6e12  # Ascend 910B, from CANN's performance guide
LAUNCH_SECONDS = 20e-6  # with all vector cores, from the same guide

# Frames after 4x subsampling and BPE-500 tokens of the first 16 utterances of LibriSpeech
# train-clean-100, from csukuangfj/transducer-loss-benchmarking (shape_info.pt).
LIBRISPEECH = (
    (433, 101),
    (288, 73),
    (325, 92),
    (342, 83),
    (381, 77),
    (360, 73),
    (419, 73),
    (396, 77),
    (323, 59),
    (133, 32),
    (320, 70),
    (326, 87),
    (361, 72),
    (312, 76),
    (354, 80),
    (282, 67),
)


class Timing(NamedTuple):
    what: str
    logits_bytes: int
    floor_seconds: float
    seconds: float

    @property
    def share(self) -> float:
        """Of the floor: 1 is as fast as memory allows."""
        return self.floor_seconds / self.seconds


def benchmark(device: str, quick: bool) -> list[Timing]:
    """The best of several calls, value and gradient, compiled, for both forms of the operator."""
    cases = [Case("(4, 200, 50, 50)", ((200, 50),) * 4, 50)]
    if not quick:
        cases += _large(device)
    timings = []
    for case in cases:
        for fused_grad in (True, False):
            timings.append(_time(case, fused_grad, device, calls=5 if quick else 20))
    return timings


def _large(device):
    if device == "Ascend":
        return [
            Case("(8, 500, 100, 500)", ((500, 100),) * 8, 500),
            Case("LibriSpeech, 16 utterances", LIBRISPEECH, 5000, dtype="float16"),
        ]
    return [
        Case("(4, 250, 60, 1000)", ((250, 60),) * 4, 1000),
        Case("LibriSpeech, 4 utterances", LIBRISPEECH[:4], 500),
    ]


def _time(case, fused_grad, device, calls):
    cell = loss_cell(Case(case.name, case.lengths, case.V, options={"fused_grad": fused_grad}))
    step = ms.jit(ms.value_and_grad(cell, 0))
    arguments = _arguments(case)
    times = []
    for _ in range(calls + 2):  # the first calls compile and allocate
        start = time.perf_counter()
        losses, dlogits = step(*arguments)
        losses.asnumpy()  # waits for the graph on CPU
        if device == "Ascend":
            ms.runtime.synchronize()
        times.append(time.perf_counter() - start)
        del losses, dlogits
    logits = arguments[0]
    size = logits.size * logits.itemsize
    form = "fused" if fused_grad else "two operators"
    what = f"{case.name} {case.dtype} V={case.V}, {form}"
    return Timing(what, size, _floor(device, size), min(times[2:]))


def _arguments(case):
    """Zeros: the time does not depend on the values, and random numbers would take minutes."""
    T, U = np.array(case.lengths, np.int32).T
    rows = int((T * (U + 1)).sum())
    logits = ms.ops.zeros((rows, case.V), DTYPES[case.dtype])
    targets = np.ones((len(T), U.max()), np.int32) % case.V
    return (logits, *map(Tensor, (targets, T, U)))


def _floor(device, size):
    if device == "Ascend":
        return 3 * size / HBM_BYTES_PER_SECOND + LAUNCH_SECONDS
    source, target = np.ones(size // 4, np.float32), np.empty(size // 4, np.float32)
    return min(native.stream_seconds(source, target) for _ in range(4))
