# SPDX-License-Identifier: Apache-2.0
"""The rest of the family beside what it is made of: alignment, posteriors, distillation and TDT on
kept logits; the pruned loss beside that of the whole joiner."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import native
from .compositions import composed_distillation, composed_tdt
from .contenders import MODES, caller, our_inputs
from .problems import Problem
from .timing import Timing, measure_calls

DURATIONS = (0, 1, 2, 3, 4)
JOINER_WIDTH = 512  # of encoder, predictor and joiner
PRUNE_RANGE = 5

# A contender, and whose times together it is compared with.
PARTS = {
    "align": ("evaluation",),
    "posteriors": ("evaluation",),
    "distillation": ("two-op", "evaluation"),  # two evaluations and one backward
    "TDT": ("two-op",),
    "distillation in MindSpore operators": ("distillation",),
    "TDT in MindSpore operators": ("TDT",),
    "JoinerRNNTLoss": ("PrunedRNNTLoss",),
}
LOSSES = ("JoinerRNNTLoss", "PrunedRNNTLoss")


def measure_family(
    problem: Problem, modes: list[str], composed: bool, threads: int, seconds: float
) -> dict[str, Timing]:
    """With `composed`, also what a user would write in MindSpore operators, in PyNative mode."""
    native.set_num_threads(threads)
    batch = our_inputs(problem)
    calls = {}
    for mode in modes:
        for name, (function, extra) in _functions(composed and mode == "pynative").items():
            inputs = [batch[0], *(_more_logits(problem, V) for V in extra), *batch[1:]]
            calls[f"{name} {mode}"] = caller(_in_mode(function, mode), tuple(inputs))
    return measure_calls(calls, seconds)


def measure_pruned(
    problem: Problem, modes: list[str], threads: int, seconds: float
) -> dict[str, Timing]:
    native.set_num_threads(threads)
    calls = {
        f"{name} {mode}": caller(*joiner_call(name, mode, problem))
        for name in LOSSES
        for mode in modes
    }
    return measure_calls(calls, seconds)


def joiner_call(name: str, mode: str, problem: Problem) -> tuple[Callable, tuple]:
    """Loss and gradients of inputs and weights, as a call and its inputs."""
    import mindspore as ms

    from .. import JoinerRNNTLoss, PackedJoiner, PrunedRNNTLoss, packed_indices

    B, max_t, max_u1, V = problem.padded_shape
    rng, J = np.random.default_rng(0), JOINER_WIDTH
    joiner = PackedJoiner(J, J, J, V)
    inputs = [rng.standard_normal((B, size, J), np.float32) for size in (max_t, max_u1)]
    inputs += [problem.targets, problem.logit_lengths, problem.target_lengths]
    if name == "JoinerRNNTLoss":
        loss = JoinerRNNTLoss(joiner)
        inputs += packed_indices(*inputs[-2:], max_t, max_u1 - 1)
    else:
        loss = PrunedRNNTLoss(joiner, V, PRUNE_RANGE)
    weights = loss.set_train().trainable_params()
    whole = ms.value_and_grad(loss, (0, 1), weights)

    def flat(*inputs):
        value, (of_inputs, of_weights) = whole(*inputs)
        return value, *of_inputs, *of_weights

    return _in_mode(flat, mode), tuple(map(ms.Tensor, inputs))


def _functions(composed: bool) -> dict[str, tuple[Callable, tuple]]:
    """Functions of logits, further logits, targets and lengths; and the classes of the further
    ones, None for as many as the logits have."""
    import mindspore as ms

    from .. import rnnt_align, rnnt_distillation_loss, rnnt_loss, rnnt_posteriors, tdt_loss

    def evaluation(logits, targets, T, U):
        return rnnt_loss(logits, targets, T, U, reduction="sum", fused_grad=False)

    def align(logits, targets, T, U):
        return rnnt_align(logits, targets, T, U)

    def posteriors(logits, targets, T, U):
        return rnnt_posteriors(logits, targets, T, U)

    def distillation(logits, teacher, targets, T, U):
        return rnnt_distillation_loss(logits, teacher, targets, T, U, reduction="sum")

    def tdt(logits, duration_logits, targets, T, U):
        return tdt_loss(logits, duration_logits, targets, T, U, DURATIONS, reduction="sum")

    D = len(DURATIONS)
    functions = {
        "evaluation": (evaluation, ()),
        "two-op": (ms.value_and_grad(evaluation), ()),
        "align": (align, ()),
        "posteriors": (posteriors, ()),
        "distillation": (ms.value_and_grad(distillation), (None,)),
        "TDT": (_flat(ms.value_and_grad(tdt, (0, 1))), (D,)),
    }
    if composed:
        of_tdt = _flat(ms.value_and_grad(composed_tdt(DURATIONS), (0, 1)))
        functions["distillation in MindSpore operators"] = (
            ms.value_and_grad(composed_distillation),
            (None,),
        )
        functions["TDT in MindSpore operators"] = (of_tdt, (D,))
    return functions


def _flat(call: Callable) -> Callable:
    def flat(*inputs):
        value, gradients = call(*inputs)
        return value, *gradients

    return flat


def _more_logits(problem: Problem, V: int | None):
    import mindspore as ms

    shape = problem.rows, V or problem.V
    return ms.Tensor(np.random.default_rng(1).standard_normal(shape, np.float32))


def _in_mode(function: Callable, mode: str) -> Callable:
    import mindspore as ms

    if mode not in MODES:
        raise ValueError(f"the mode must be one of {MODES}, but got {mode!r}")
    if mode == "pynative":
        return function

    def compiled(*inputs):
        return function(*inputs)

    return ms.jit(compiled)
