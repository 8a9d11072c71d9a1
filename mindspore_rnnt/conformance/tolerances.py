# SPDX-License-Identifier: Apache-2.0
"""How far a backend may be from the float64 reference: one row for each."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

# Of a gradient to its dtype, for gradients of at most 1.
ROUNDING = {"float32": 0.0, "float16": 1e-3, "bfloat16": 8e-3}


class Tolerance(NamedTuple):
    """Absolute, for the unit-upstream loss. A step is a frame or a label."""

    loss: float
    loss_per_step: float
    loss_relative: float
    gradient: tuple[tuple[float, float], ...]  # (steps of the longest sample, limit up to there)
    closed_form: float  # of the loss of equal logits, relative, on top of one float32 ulp

    def of_losses(self, expected: np.ndarray, steps: int) -> float:
        finite = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
        return self.loss + self.loss_per_step * steps + self.loss_relative * finite

    def of_gradient(self, expected: np.ndarray, steps: int, dtype: str) -> float:
        limit = next(limit for longest, limit in self.gradient if steps <= longest)
        finite = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
        return limit + ROUNDING[dtype] * max(1.0, finite)


TOLERANCES = {
    # The CPU kernel: rows in float32, the lattice in float64.
    "CPU": Tolerance(1e-6, 0.0, 2.5e-7, ((math.inf, 2e-6),), 0.0),
    # The AscendC kernel on its host twin: float32 with renormalisation, exact exp and log.
    "twin": Tolerance(1e-5, 1e-6, 2e-6, ((16, 1e-5), (600, 2e-4), (math.inf, 2e-3)), 2e-6),
    # The same on the device, where the accuracy of exp and log is not documented.
    "Ascend": Tolerance(1e-3, 1e-5, 1e-6, ((600, 2e-4), (math.inf, 2e-3)), 2e-6),
}
