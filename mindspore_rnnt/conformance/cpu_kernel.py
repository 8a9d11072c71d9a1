# SPDX-License-Identifier: Apache-2.0
"""The CPU kernel as a backend, called without MindSpore, at one SIMD level."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

from .. import native
from .backend import OperatorBackend, output_shapes


class CpuKernel(OperatorBackend):
    device = "CPU"
    worker_counts = (1, 2, 3, 8)

    def __init__(self, level: str | None = None):
        self.level = level or native.cpu_level()
        self.name = f"CPU kernel, {self.level}"

    def launch(self, op, inputs):
        """Every output starts as NaN, to see whether all of it is written."""
        before = native.cpu_level()
        native.select_cpu_level(self.level)
        try:
            outputs = [poisoned(shape, "float32") for shape in output_shapes(op, inputs)]
            if op not in ("RnntRowStats", "RnntLattice", "RnntForward"):  # the last one is rows
                outputs[-1] = poisoned(outputs[-1].shape, inputs[0].dtype)
            native.run_op(op, inputs, outputs)
            return outputs
        finally:
            native.select_cpu_level(before)

    @contextmanager
    def workers(self, count):
        native.set_num_threads(count)
        try:
            yield
        finally:
            native.set_num_threads(0)


def poisoned(shape, dtype="float32"):
    """NaN everywhere; uint16 stands for bfloat16."""
    return np.full(shape, 0x7FC0 if dtype == np.uint16 else np.nan, dtype)
