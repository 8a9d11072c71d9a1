# SPDX-License-Identifier: Apache-2.0
"""A device through MindSpore and its public API, in one execution mode, as a backend."""

from __future__ import annotations

from functools import lru_cache
from weakref import WeakKeyDictionary

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn

from ..kernels import get_ops
from ..loss import RNNTLoss
from .backend import OperatorBackend
from .batches import numbers

DTYPES = {"float32": ms.float32, "float16": ms.float16, "bfloat16": ms.bfloat16}


class MindSpore(OperatorBackend):
    """`fused` and `two_op` are RNNTLoss and its gradient; `chunked` calls the operators, in
    PyNative mode."""

    refuses_options = True
    chunk_rows = 256

    def __init__(self, mode: str = "pynative", device: str = "CPU"):
        self.device = device
        self.name = f"MindSpore on {device}, {mode}"
        self.run = MODES[mode]
        self.reports_mismatch = mode == "pynative" and device == "CPU"
        self.forms = ("fused", "two_op", "chunked") if mode == "pynative" else ("fused", "two_op")
        self.step = lru_cache(maxsize=None)(_Step)  # a graph each, which keeps what it compiled

    def __call__(self, form, layout, dtype="float32", dloss=None, **options):
        if form == "chunked":
            return super().__call__(form, layout, dtype, dloss, **options)
        logits, *rest = layout
        dloss = np.ones(len(rest[1])) if dloss is None else dloss
        inputs = [Tensor(logits).astype(DTYPES[dtype]), *map(Tensor, rest)]
        step = self.step(form == "fused", logits.ndim, dtype, tuple(sorted(options.items())))
        losses, gradient = self.run(step, [*inputs, Tensor(dloss, ms.float32)])
        if losses.dtype != ms.float32 or gradient.dtype != DTYPES[dtype]:
            raise TypeError(f"loss is {losses.dtype}, gradient {gradient.dtype} for {dtype} logits")
        return losses.asnumpy(), gradient.astype(ms.float32).asnumpy()

    def launch(self, op, inputs):
        names = {"RnntRowStats": "row_stats", "RnntLattice": "lattice", "RnntRowGrad": "row_grad"}
        half = inputs[0].dtype == np.uint16
        tensors = [Tensor(x) for x in inputs]
        if half:
            tensors[0] = Tensor(numbers(inputs[0])).astype(ms.bfloat16)
        outputs = getattr(get_ops(), names[op])(*tensors)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return [x.astype(ms.float32).asnumpy() for x in outputs]


class _Weighted(nn.Cell):
    def __init__(self, loss_fn):
        super().__init__()
        self.loss_fn = loss_fn

    def construct(self, logits, targets, logit_lengths, target_lengths, weights):
        losses = self.loss_fn(logits, targets, logit_lengths, target_lengths)
        return (losses * weights).sum(), losses


class _Step(nn.Cell):
    """Losses (B,) and the gradient of their weighted sum."""

    def __init__(self, fused_grad, rank, dtype, options):
        super().__init__()
        loss_fn = RNNTLoss(
            reduction="none", fused_grad=fused_grad, validate=False, **dict(options)
        ).set_train()
        self.net = _Weighted(loss_fn)
        self.loss_and_gradient = ms.value_and_grad(self.net, 0, has_aux=True)

    def construct(self, logits, targets, logit_lengths, target_lengths, weights):
        (_, losses), gradient = self.loss_and_gradient(
            logits, targets, logit_lengths, target_lengths, weights
        )
        return losses, gradient


def _pynative(step, inputs):
    return step(*inputs)


_JITTED: WeakKeyDictionary = (
    WeakKeyDictionary()
)  # by step: its function, which keeps what it compiled


def _jit(step, inputs):
    def call(logits, targets, logit_lengths, target_lengths, weights):
        return step(logits, targets, logit_lengths, target_lengths, weights)

    if step not in _JITTED:
        _JITTED[step] = ms.jit(call)
    return _JITTED[step](*inputs)


def _grad_of_jit(step, inputs):
    """The forward pass compiled, the gradient asked for outside."""

    def call(logits, targets, logit_lengths, target_lengths, weights):
        return step.net(logits, targets, logit_lengths, target_lengths, weights)

    if step not in _JITTED:
        _JITTED[step] = ms.value_and_grad(ms.jit(call), 0, has_aux=True)
    (_, losses), gradient = _JITTED[step](*inputs)
    return losses, gradient


def _graph(step, inputs, shapes=None):
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        if shapes is not None:
            step.set_inputs(*(Tensor(shape=s, dtype=x.dtype) for s, x in zip(shapes, inputs)))
        return step(*inputs)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def _graph_dynamic(step, inputs):
    """No size known but V."""
    sizes = (None,) * (inputs[0].ndim - 1)
    return _graph(step, inputs, ((*sizes, inputs[0].shape[-1]), (None, None), *[(None,)] * 3))


def _graph_dynamic_rank(step, inputs):
    return _graph(step, inputs, (None, (None, None), *[(None,)] * 3))


MODES = {
    "pynative": _pynative,
    "jit": _jit,
    "grad_of_jit": _grad_of_jit,
    "graph": _graph,
    "graph_dynamic": _graph_dynamic,
    "graph_dynamic_rank": _graph_dynamic_rank,
}
