# SPDX-License-Identifier: Apache-2.0
"""Any function of the package in every mode of MindSpore, with and without its gradient."""

import sys
from contextlib import contextmanager
from functools import lru_cache

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn
from oracles import report

MODES = ("pynative", "jit", "graph", "graph_dynamic")
# The last: the forward pass compiled, the gradient asked for outside.
ALL_MODES = (*MODES, "graph_dynamic_rank", "grad_of_jit")
BYTECODE_MODES = ("jit_bytecode", "grad_of_jit_bytecode")  # in processes: see test_first_calls.py
NEEDS_BYTECODE = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11),
    reason="MindSpore captures bytecode rightly on Python 3.11 only (docs/graph_mode.md)",
)


def run(function, inputs, mode="pynative", **options):
    """`function(*inputs, **options)` as a list of NumPy arrays; inputs are Tensors or arrays."""
    inputs = _tensors(inputs)
    call = _kept_call(function, tuple(options.items()), _kind(inputs, mode))
    return flat(_in_mode(call, inputs, mode))


def run_gradient(function, inputs, wanted, mode="pynative", weights=1.0, **options):
    """The loss, the sum of `weights` times it, and that sum's gradients of the inputs `wanted`."""
    inputs = _tensors(inputs)
    call = _kept_call(function, tuple(options.items()), _kind(inputs, mode))
    has_aux = mode not in BYTECODE_MODES  # MindSpore's gradient is wrong there: docs/graph_mode.md
    step = _kept_step(call, _numbers(weights), tuple(wanted), has_aux, _kind(inputs, mode))
    total, gradients = _in_mode(step, inputs, mode)
    total, loss = total if has_aux else (total, None)
    if loss is None or mode in ("pynative", "graph_dynamic"):
        alone = _in_mode(call, inputs, mode)  # without a gradient
        loss = alone if loss is None else loss
        assert np.array_equal(alone.asnumpy(), loss.asnumpy(), equal_nan=True)
    assert loss.dtype == ms.float32
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    for place, gradient in zip(wanted, gradients):
        assert gradient.dtype == inputs[place].dtype and gradient.shape == inputs[place].shape
    return flat((loss, total, *gradients))


def gradients(net, inputs, mode="pynative", weights=1.0):
    """What `step_of` gives of these inputs, as a list of NumPy arrays."""
    inputs = _tensors(inputs)
    step = _kept_step(net, _numbers(weights), (0, 1), False, _kind(inputs, mode))
    return flat(_in_mode(step, inputs, mode))


def step_of(net, weights=1.0, wanted=(0, 1), has_aux=False):
    """A Cell: the sum of `weights` times the loss of the Cell `net`, and that sum's gradients of
    the inputs `wanted` and of all parameters. With `has_aux` the loss comes beside the sum."""
    parameters = net.trainable_params()
    parameters = ms.ParameterTuple(parameters) if parameters else None
    return _Gradient(net, weights, wanted, parameters, has_aux)


def flat(outputs):
    """Tensors in tuples as a list of NumPy arrays."""
    if not isinstance(outputs, Tensor):
        return [array for part in outputs for array in flat(part)]
    is_half = outputs.dtype in (ms.float16, ms.bfloat16)
    return [(outputs.astype(ms.float32) if is_half else outputs).asnumpy()]


@contextmanager
def one_graph(net, inputs):
    """`net` as a graph for inputs of any size, as these. It must not be compiled a second time."""
    net = _Counted(net)
    set_dynamic(net, _tensors(inputs))
    _COMPILES.clear()
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        yield net
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert len(_COMPILES) == 1


def refuse_double_backward(function, inputs, refusal, expected=None, **options):
    """In PyNative mode and compiled; the next gradient of the first input is right in both."""
    loss, (first, *others) = _Call(function, options), _tensors(inputs)

    def once(first):
        return ms.grad(lambda x: loss(x, *others).sum())(first)

    def twice(first):
        return ms.grad(lambda x: (once(x) ** 2).sum())(first)

    expected = once(first).asnumpy() if expected is None else expected
    refusal = f"{refusal} does not support double backward"
    with pytest.raises(RuntimeError, match=refusal):
        twice(first).asnumpy()
    assert report("gradient", once(first).asnumpy(), expected) <= 2e-6
    with pytest.raises(RuntimeError, match=refusal):
        ms.jit(twice)(first).asnumpy()
    for gradient in (once, ms.jit(once)):
        assert report("gradient", gradient(first).asnumpy(), expected) <= 2e-6


def set_dynamic(net, inputs):
    """No size is known but that of the classes or features."""
    net.set_inputs(*(Tensor(shape=_unknown(x), dtype=x.dtype) for x in inputs))


def _in_mode(net, inputs, mode):
    if mode == "pynative":
        return net(*inputs)
    if mode.startswith("grad_of_jit") and isinstance(net, _Gradient):
        loss = _compiled(net.net, mode)
        return ms.value_and_grad(loss, net.wanted, has_aux=net.has_aux)(*inputs)
    if "jit" in mode:
        return _compiled(net, mode)(*inputs)
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        if mode == "graph_dynamic":
            set_dynamic(net, inputs)
        elif mode == "graph_dynamic_rank":
            shapes = [None, *map(_unknown, inputs[1:])]
            net.set_inputs(*(Tensor(shape=s, dtype=x.dtype) for s, x in zip(shapes, inputs)))
        return net(*inputs)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


# Kept for the next test, which may be of the same Cell and kind: a Cell keeps its graphs.
@lru_cache(maxsize=4)
def _kept_call(function, options, kind):
    return _Call(function, dict(options))


@lru_cache(maxsize=4)
def _kept_step(net, weights, wanted, has_aux, kind):
    return step_of(net, weights, wanted, has_aux)


@lru_cache(maxsize=4)
def _compiled(net, mode):
    def call(*inputs):
        return net(*inputs)

    return ms.jit(call, capture_mode="bytecode" if mode.endswith("bytecode") else "ast")


def _kind(inputs, mode):
    """What a Cell is compiled for, whatever the sizes."""
    return mode, *((x.ndim, str(x.dtype)) for x in inputs)


def _numbers(weights):
    """As a key of a cache."""
    return tuple(np.ravel(weights).tolist())


def _unknown(x):
    is_int = x.dtype in (ms.int32, ms.int64)
    return (None,) * (x.ndim - 1) + (None if is_int or x.ndim == 1 else x.shape[-1],)


def _tensors(inputs):
    return [x if isinstance(x, Tensor) else Tensor(x) for x in inputs]


class _Call(nn.Cell):
    def __init__(self, function, options):
        super().__init__()
        self.function = function
        self.options = options

    def construct(self, *inputs):
        return self.function(*inputs, **self.options)


class _Weighted(nn.Cell):
    def __init__(self, net, weights, has_aux):
        super().__init__()
        self.net, self.has_aux = net, has_aux
        self.weights = Tensor(weights, ms.float32)

    def construct(self, *inputs):
        loss = self.net(*inputs)
        total = (loss * self.weights).sum()
        return (total, loss) if self.has_aux else total


class _Gradient(nn.Cell):
    def __init__(self, net, weights, wanted, parameters, has_aux):
        super().__init__()
        self.net, self.wanted, self.has_aux = _Weighted(net, weights, has_aux), wanted, has_aux
        self.value_and_grad = ms.value_and_grad(self.net, wanted, parameters, has_aux)

    def construct(self, *inputs):
        return self.value_and_grad(*inputs)


_COMPILES = []


@ms.constexpr(check=False)
def _count_compile():
    _COMPILES.append(1)


class _Counted(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, *inputs):
        _count_compile()
        return self.net(*inputs)
