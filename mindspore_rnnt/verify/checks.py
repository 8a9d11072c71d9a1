# SPDX-License-Identifier: Apache-2.0
"""What must hold on a device, each as a function that yields results: all statements of the
conformance suite in three execution modes, and what only a device can show."""

from collections.abc import Iterator
from typing import NamedTuple

import mindspore as ms
import numpy as np
from mindspore import Tensor, amp, nn

from .. import (
    JoinerRNNTLoss,
    PackedJoiner,
    RNNTLoss,
    TDTLoss,
    conformance,
    packed_indices,
    rnnt_loss,
)
from ..conformance.batches import random_batch
from ..conformance.modes import MindSpore
from ..conformance.oracles import closed_form
from ..conformance.tolerances import TOLERANCES
from ..reference import tdt_loss_reference


class Result(NamedTuple):
    check: str
    what: str
    passed: bool
    detail: str


def statements(device: str, quick: bool) -> Iterator[Result]:
    """Each case of each statement; large ones and compiled modes only if there is time."""
    for mode in ("pynative",) if quick else ("pynative", "jit", "graph_dynamic"):
        backend = MindSpore(mode, device)
        for case in conformance.cases(backend.forms):
            if not case.large or (mode == "pynative" and not quick):
                yield _state(case, backend, mode)


def _state(case, backend, mode):
    details = []
    name = f"{case.name}, {case.form}, {mode}"
    try:
        case.check(backend, details.append)
    except Exception as error:  # of whatever kind: the next case is still of interest
        return Result(case.statement.section, name, False, f"{type(error).__name__}: {error}")
    return Result(case.statement.section, name, True, "; ".join(details[-2:]))


def modes(device: str, quick: bool) -> Iterator[Result]:
    """Each mode gives the same bits, fused or not; no second derivative."""
    layout = random_batch([(7, 3), (5, 2)], V=40).layout(padded=False)
    for form in ("fused", "two_op"):
        expected = MindSpore("pynative", device)(form, layout)
        for mode in ("jit", "graph", "graph_dynamic"):
            got = MindSpore(mode, device)(form, layout)
            equal = all(np.array_equal(a, b) for a, b in zip(expected, got))
            yield Result("modes", f"{mode}, {form}", equal, "the bits of PyNative" if equal else "")
        yield _second_derivative(layout, form == "fused")


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


def durations(device: str, quick: bool) -> Iterator[Result]:
    """TDTLoss and the gradients of both heads against the float64 reference."""
    batch, steps = random_batch([(40, 12), (5, 9), (1, 0)], V=20), (2, 0, 1, 4)
    logits, targets, T, U = batch.layout(padded=False)
    head = np.random.default_rng(5).standard_normal((len(logits), len(steps))).astype(np.float32)
    expected = tdt_loss_reference(logits, head, targets, T, U, steps, reduction="sum", sigma=0.05)
    inputs = [Tensor(x) for x in (logits, head, targets, T, U)]
    loss_fn = TDTLoss(steps, reduction="sum", sigma=0.05)
    step = ms.value_and_grad(loss_fn, (0, 1))
    for mode, run in (("pynative", step), ("jit", ms.jit(step))):
        loss, gradients = run(*inputs)
        error = float(abs(loss.asnumpy() - expected[0]) / expected[0])
        errors = [np.abs(a.asnumpy() - b).max() for a, b in zip(gradients, expected[1:])]
        limit = TOLERANCES[device].of_gradient(expected[1], 52, "float32")
        good = error <= 1e-5 and max(errors) <= limit
        detail = f"loss {error:.1e} of it, gradients {errors[0]:.1e} and {errors[1]:.1e}"
        yield Result("durations", f"TDTLoss, {mode}", good, detail)


def offsets_beyond_int32(device: str, quick: bool, T=2000, U=53, V=20000) -> Iterator[Result]:
    """One sample of equal float16 logits, made on the device: the loss in closed form, and the
    gradient of the last cell, which every path goes through by its blank."""
    if quick or device == "CPU":  # 4.3 GB
        return
    logits = ms.ops.zeros((T * (U + 1), V), ms.float16)
    batch = (Tensor(np.zeros((1, U), np.int32)), Tensor([T], ms.int32), Tensor([U], ms.int32))
    loss_fn = RNNTLoss(reduction="none").set_train()
    losses, dlogits = ms.value_and_grad(loss_fn, 0)(logits, *batch)
    right = np.array([closed_form(T, U, V)])
    error = float(np.abs(losses.asnumpy() - right)[0])
    last = dlogits[-1].asnumpy().astype(np.float64)
    last[-1] += 1.0
    gradient_error = float(np.abs(last - 1.0 / V).max())
    good = error <= TOLERANCES[device].of_losses(right, T + U) and gradient_error <= 2e-3
    detail = f"loss {error:.1e}, last gradient {gradient_error:.1e}"
    yield Result("limits", f"{T * (U + 1) * V} logits", good, detail)


CHECKS = (statements, modes, mixed_precision, chunked_joiner, durations, offsets_beyond_int32)


def _relative(got, expected):
    return float(np.linalg.norm(got - expected) / np.linalg.norm(expected))


def _second_derivative(layout, fused_grad):
    logits, *batch = (Tensor(x) for x in layout)
    first = ms.grad(RNNTLoss(fused_grad=fused_grad).set_train(), 0)
    try:
        ms.grad(lambda x: first(x, *batch).sum())(logits).asnumpy()
    except RuntimeError as error:
        said = "does not support double backward" in str(error)
        return Result("modes", "double backward", said, "refused" if said else str(error))
    return Result("modes", "double backward", False, "no error")
