# SPDX-License-Identifier: Apache-2.0
"""What must hold on a device, each as a function that yields results. The float64 reference says
what is right."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import mindspore as ms
import numpy as np
from mindspore import Tensor, amp, nn

from .. import JoinerRNNTLoss, PackedJoiner, RNNTLoss, packed_indices, rnnt_loss
from .cases import Case, evaluate, loss_cell

ROUNDING = {"float32": 0.0, "float16": 1e-3, "bfloat16": 8e-3}  # of a gradient to its dtype


class Result(NamedTuple):
    check: str
    what: str
    passed: bool
    detail: str


class Limits(NamedTuple):
    """How far a device may be from the reference."""

    loss_absolute: float
    loss_per_step: float  # times T + U
    loss_relative: float
    gradient: float  # up to T = 500
    gradient_long: float  # beyond


LIMITS = {
    "CPU": Limits(1e-6, 0.0, 2.5e-7, 2e-6, 2e-6),
    "Ascend": Limits(1e-3, 1e-5, 1e-6, 2e-4, 2e-3),
}


def parity(device: str, quick: bool) -> Iterator[Result]:
    """Losses and gradients against the reference: layouts, dtypes, options, both forms."""
    mixed = ((9, 4), (5, 0), (1, 3), (12, 5))
    cases = [
        Case("both arcs", mixed, 67),
        Case("two operators", mixed, 67, options={"fused_grad": False}),
        Case("padded", mixed, 67, padded=True, options={"blank": 0}),
        Case("log-probs", mixed, 33, options={"fused_log_softmax": False, "blank": 3}),
        Case("clamp", mixed, 33, padded=True, options={"clamp": 0.05}),
        Case("FastEmit", mixed, 33, options={"fastemit_lambda": 0.3, "blank": 1}),
        Case("one class", ((3, 0), (2, 0)), 1),
        Case("wide row", ((4, 2),), 5003),
        Case("long sample", ((600, 40),), 32),
    ]
    if not quick:
        cases += [
            Case("long and wide", ((500, 100), (431, 77)), 500),
            Case("longest", ((2000, 120),), 64),
            Case("widest row", ((3, 2),), 131072),
        ]
    for case in cases:
        for dtype in ROUNDING:
            yield _compare("parity", device, case.with_dtype(dtype))


def limits(device: str, quick: bool) -> Iterator[Result]:
    """The closed form at length, and samples that must not touch their neighbours."""
    T, U, V = (1000, 150, 8) if quick else (5000, 800, 8)
    case = Case("all logits equal", ((T, U),), V)
    logits, *batch = case.arrays()
    yield _compare("limits", device, case, (np.zeros_like(logits), *batch))

    case = Case("NaN, impossible and good samples", ((4, 2), (3, 2), (4, 1), (5, 3)), 9)
    logits, *batch = case.arrays()
    starts = np.cumsum([0] + [t * (u + 1) for t, u in case.lengths])
    logits[starts[1] + 4, 5] = np.nan
    logits[starts[2] : starts[3], case.V - 1] = -np.inf  # no blank: no path
    yield _compare("limits", device, case, (logits, *batch))

    case = replace(case, name="a label outside", options={"validate": False})
    logits, targets, *lengths = case.arrays()
    bad = targets.copy()
    bad[0, 1] = case.V
    losses, dlogits = evaluate(case, (logits, bad, *lengths))
    right, gradient = case.expected()
    first = slice(0, starts[1])
    passed = np.isnan(losses[0]) and not dlogits[first].any()
    passed &= _within(device, case, losses[1:], right[1:])[0]
    passed &= np.abs(dlogits[starts[1] :] - gradient[starts[1] :]).max() <= LIMITS[device].gradient
    yield Result("limits", str(case), bool(passed), f"losses {losses}")

    if device == "Ascend" and not quick:
        yield offsets_beyond_int32(device, 2000, 53, 20000)


def determinism(device: str, quick: bool) -> Iterator[Result]:
    """The same bits twice, and for a sample alone, in a batch and in another order."""
    case = Case("same bits", ((37, 9), (64, 20), (1, 0), (50, 3)), 129)
    logits, targets, T, U = case.arrays()
    losses, dlogits = evaluate(case)
    again, dlogits_again = evaluate(case)
    yield _same("twice", (losses, dlogits), (again, dlogits_again))
    pieces = np.split(np.arange(len(logits)), np.cumsum(T * (U + 1))[:-1])
    for order in ([1], [3, 2, 1, 0]):
        rows = np.concatenate([pieces[b] for b in order])
        other = evaluate(case, (logits[rows], targets[order], T[order], U[order]))
        name = "a sample alone" if len(order) == 1 else "another order"
        yield _same(name, (losses[order], dlogits[rows]), other)


def modes(device: str, quick: bool) -> Iterator[Result]:
    """Eager, jit and GRAPH_MODE give the same bits, fused or not; no second derivative."""
    for fused_grad in (True, False):
        case = Case("modes", ((7, 3), (5, 2)), 40, options={"fused_grad": fused_grad})
        name = "fused" if fused_grad else "two operators"
        expected = evaluate(case)
        yield _same(f"jit, {name}", expected, evaluate(case, run=ms.jit))
        ms.set_context(mode=ms.GRAPH_MODE)
        try:
            graph = evaluate(case)
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
        yield _same(f"GRAPH_MODE, {name}", expected, graph)
    yield _second_derivative(case)


def mixed_precision(device: str, quick: bool) -> Iterator[Result]:
    """A layer in float16 with a loss scale: its weight gradient, unscaled, against float32's."""
    rng = np.random.default_rng(1)
    features = Tensor(rng.standard_normal((18, 16)).astype(np.float32))
    batch = [Tensor(x, ms.int32) for x in ([[1, 2], [3, 0]], [3, 3], [2, 2])]
    gradients = []
    for level, scale in (("O0", 1.0), ("O2", 1024.0)):
        ms.set_seed(3)
        weight = Tensor(np.random.default_rng(2).standard_normal((12, 16)).astype(np.float32) / 4)
        layer = nn.Dense(16, 12, weight_init=weight, has_bias=False)
        layer = amp.auto_mixed_precision(layer, level, ms.float16)
        scaler = amp.StaticLossScaler(scale)

        def scaled_loss(x, layer=layer, scaler=scaler):
            return scaler.scale(rnnt_loss(layer(x), *batch))

        grad = ms.value_and_grad(scaled_loss, None, layer.trainable_params())(features)[1]
        gradients.append(scaler.unscale(grad)[0].astype(ms.float32).asnumpy())
    error = float(np.abs(gradients[0] - gradients[1]).max() / np.abs(gradients[0]).max())
    yield Result("AMP", "O2 with loss scale 1024", error < 5e-3, f"{error:.1e} of the largest")


def chunked_joiner(device: str, quick: bool) -> Iterator[Result]:
    """JoinerRNNTLoss with several chunks against RNNTLoss on the joiner's logits."""
    lengths = np.array([[9, 4], [7, 0], [5, 6]], np.int32)
    T, U = lengths.T
    rng = np.random.default_rng(4)
    targets = Tensor(rng.integers(1, 30, (3, 6)), ms.int32)
    rows = [Tensor(x) for x in packed_indices(T, U)]
    joiner = PackedJoiner(16, 12, 24, 30)
    whole = RNNTLoss(blank=0)
    chunked = JoinerRNNTLoss(joiner, memory_budget=16_000, blank=0)

    def unchunked(encoder_out, predictor_out):
        logits = joiner(encoder_out, predictor_out, *rows)
        return whole(logits, targets, Tensor(T), Tensor(U))

    def in_chunks(encoder_out, predictor_out):
        return chunked(encoder_out, predictor_out, targets, Tensor(T), Tensor(U), *rows)

    inputs = [Tensor(rng.standard_normal(s), ms.float32) for s in ((3, 9, 16), (3, 7, 12))]
    results = []
    for function in (unchunked, in_chunks):
        loss, gradients = ms.value_and_grad(function, (0, 1), joiner.trainable_params())(*inputs)
        results.append([loss, *gradients[0], *gradients[1]])
    error = max(_relative(a.asnumpy(), b.asnumpy()) for a, b in zip(*results))
    limit = 1e-5 if device == "CPU" else 1e-3  # its matrix products are rounded
    yield Result("chunked", "JoinerRNNTLoss, 3 samples", error <= limit, f"{error:.1e} in norm")


CHECKS = (parity, limits, determinism, modes, mixed_precision, chunked_joiner)


def offsets_beyond_int32(device: str, T: int, U: int, V: int) -> Result:
    """One sample of equal float16 logits, made on the device: the loss in closed form, and the
    gradient of the last cell, which every path goes through by its blank."""
    case = Case(f"{T * (U + 1) * V} logits", ((T, U),), V, "float16")
    logits = ms.ops.zeros((T * (U + 1), V), ms.float16)
    batch = (Tensor(np.zeros((1, U), np.int32)), Tensor([T], ms.int32), Tensor([U], ms.int32))
    losses, dlogits = ms.value_and_grad(loss_cell(case), 0)(logits, *batch)
    right = (T + U) * math.log(V) - math.lgamma(T + U) + math.lgamma(T) + math.lgamma(U + 1)
    good_loss, error = _within(device, case, losses.asnumpy(), np.array([right]))
    last = dlogits[-1].asnumpy().astype(np.float64)
    last[-1] += 1.0
    gradient_error = float(np.abs(last - 1.0 / V).max())
    detail = f"loss {error:.1e}, last gradient {gradient_error:.1e}"
    return Result("limits", str(case), good_loss and gradient_error <= 2e-3, detail)


def _compare(check, device, case, arrays=None):
    """One case against the reference: losses and gradients."""
    losses, dlogits = evaluate(case, arrays)
    right, gradient = case.expected(arrays)
    good_loss, loss_error = _within(device, case, losses, right)
    longest = max(t for t, _ in case.lengths)
    limit = LIMITS[device].gradient if longest <= 500 else LIMITS[device].gradient_long
    limit += ROUNDING[case.dtype] * max(1.0, np.nanmax(np.abs(gradient)))
    gradient_error = _error(dlogits, gradient)
    detail = f"loss {loss_error:.1e}, gradient {gradient_error:.1e} (limit {limit:.0e})"
    return Result(check, str(case), good_loss and gradient_error <= limit, detail)


def _within(device, case, losses, right):
    limit = LIMITS[device]
    steps = max(t + u for t, u in case.lengths)
    finite = np.abs(right[np.isfinite(right)]).max(initial=0.0)
    allowed = limit.loss_absolute + limit.loss_per_step * steps + limit.loss_relative * finite
    error = _error(losses, right)
    return bool(error <= allowed), error


def _error(got, expected):
    """The largest difference; NaN and inf in the same places are equal."""
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(got - expected))
    return float(np.where(np.isnan(error), np.inf, error).max(initial=0.0))


def _relative(got, expected):
    return float(np.linalg.norm(got - expected) / np.linalg.norm(expected))


def _same(what, first, second):
    equal = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(first, second))
    error = max(_error(a, b) for a, b in zip(first, second))
    return Result("same bits", what, equal, "equal" if equal else f"differ by {error:.1e}")


def _second_derivative(case):
    logits, *batch = (Tensor(x) for x in case.arrays())
    first = ms.grad(loss_cell(case), 0)
    try:
        ms.grad(lambda x: first(x, *batch).sum())(logits).asnumpy()
    except RuntimeError as error:
        said = "does not support double backward" in str(error)
        return Result("modes", "double backward", said, "refused" if said else str(error))
    return Result("modes", "double backward", False, "no error")
