# SPDX-License-Identifier: Apache-2.0
"""Where the time of one call goes: the kernels on memory that is there, the first touch of fresh
memory (allocation, page faults), and the rest: MindSpore's own share."""

from __future__ import annotations

import numpy as np

from .. import native
from ..native.params import pack_params
from .problems import Problem
from .timing import Timing, measure_calls

KERNELS = "two-op kernels"
STATE = 5  # floats per row that RnntForward leaves to RnntBackward


def profile(problem: Problem, threads: int, seconds: float) -> dict[str, Timing]:
    """Times of: each operator, the two-op pair on old and on fresh memory; float32 only."""
    native.set_num_threads(threads)
    logits, B = problem.packed(), len(problem.lengths)
    ints = [problem.targets, problem.logit_lengths, problem.target_lengths]
    batch = [logits, *ints, pack_params()]
    loss, dloss = np.zeros(B, np.float32), np.ones(B, np.float32)
    state = np.zeros((problem.rows, STATE), np.float32)
    grad, scaled = np.zeros_like(logits), np.zeros_like(logits)

    def forward(state=state):
        native.run_op("RnntForward", batch, [loss, state])

    def backward(state=state, dlogits=grad):
        native.run_op("RnntBackward", [*batch, state, dloss], [dlogits])

    def fresh():
        state = np.empty((problem.rows, STATE), np.float32)
        forward(state)
        backward(state, np.empty_like(logits))

    def both():
        forward()
        backward()

    return measure_calls(
        {
            "RnntForward": forward,
            "RnntBackward": backward,
            "RnntFused": lambda: native.run_op("RnntFused", batch, [loss, grad]),
            "RnntScaleGrad": lambda: native.run_op(
                "RnntScaleGrad", [grad, *ints[1:], dloss], [scaled]
            ),
            KERNELS: both,
            "two-op kernels, fresh memory": fresh,
        },
        seconds,
    )
