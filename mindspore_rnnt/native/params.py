# SPDX-License-Identifier: Apache-2.0
"""Slots of the `params` tensor; the mirror of ascendc_op/op_kernel/rnnt_params.h."""

from enum import IntEnum

import numpy as np


class Param(IntEnum):
    BLANK = 0
    CLAMP = 1
    FUSED_LOG_SOFTMAX = 2
    FASTEMIT_LAMBDA = 3
    ZERO_INFINITY = 4
    MAY_THROW = 5
    TEMPERATURE = 6  # of RnntRowStats and RnntRowGrad
    REST = 7
    SIGMA = 6  # of RnntTdtLattice, which has no temperature


def pack_params(
    blank: int = -1,
    clamp: float = -1.0,
    fused_log_softmax: bool = True,
    fastemit_lambda: float = 0.0,
    zero_infinity: bool = False,
    may_throw: bool = False,
    temperature: float = 0.0,
    rest: bool = False,
    sigma: float = 0.0,
) -> np.ndarray:
    """The options as the float32 vector that every operator takes as its `params` input.

    A temperature of 0 stands for 1. `temperature` and `sigma` share a slot: no operator has both.
    """
    params = np.zeros(len(Param), np.float32)
    params[Param.BLANK] = blank
    params[Param.CLAMP] = float32_clamp(clamp)
    params[Param.FUSED_LOG_SOFTMAX] = fused_log_softmax
    params[Param.FASTEMIT_LAMBDA] = fastemit_lambda
    params[Param.ZERO_INFINITY] = zero_infinity
    params[Param.MAY_THROW] = may_throw
    params[Param.TEMPERATURE] = temperature or sigma
    params[Param.REST] = rest
    return params


def float32_clamp(clamp: float) -> float:
    """The nearest clamp that float32 holds: one too small for it must not become 0, which is none.

    A Cell calls this in Python, as a graph rounds a Cell's numbers to float32 before it uses them.
    """
    limits = np.finfo(np.float32)
    least = float(limits.tiny if clamp > 0 else limits.min)
    return min(max(float(clamp), least), float(limits.max))
