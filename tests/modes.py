# SPDX-License-Identifier: Apache-2.0
"""Any function of the package in every mode of MindSpore, with and without its gradient."""

import mindspore as ms
from mindspore import Tensor, nn

MODES = ("pynative", "jit", "graph", "graph_dynamic")
# The last: the forward pass compiled, the gradient asked for outside.
ALL_MODES = (*MODES, "graph_dynamic_rank", "grad_of_jit")
BYTECODE_MODES = ("jit_bytecode", "grad_of_jit_bytecode")  # in processes: see test_first_calls.py


def run(function, inputs, mode="pynative", **options):
    """`function(*inputs, **options)` as a list of NumPy arrays; inputs are Tensors or arrays."""
    return _arrays(_in_mode(_Call(function, options), _tensors(inputs), mode))


def run_gradient(function, inputs, wanted, mode="pynative", weights=1.0, **options):
    """The loss, the sum of `weights` times it, and that sum's gradients of the inputs `wanted`."""
    inputs = _tensors(inputs)
    loss = _in_mode(_Call(function, options), inputs, mode)
    assert loss.dtype == ms.float32
    net = _Gradient(_Weighted(_Call(function, options), Tensor(weights, ms.float32)), wanted)
    total, gradients = _in_mode(net, inputs, mode)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    for place, gradient in zip(wanted, gradients):
        assert gradient.dtype == inputs[place].dtype and gradient.shape == inputs[place].shape
    return _arrays((loss, total, *gradients))


def _in_mode(net, inputs, mode):
    if mode == "pynative":
        return net(*inputs)
    if mode.startswith("grad_of_jit") and isinstance(net, _Gradient):
        return ms.value_and_grad(_compiled(net.net, mode), net.wanted)(*inputs)
    if "jit" in mode:
        return _compiled(net, mode)(*inputs)
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        if mode == "graph_dynamic":  # no size is known but that of the classes
            net.set_inputs(*(Tensor(shape=_unknown(x), dtype=x.dtype) for x in inputs))
        elif mode == "graph_dynamic_rank":
            shapes = [None, *map(_unknown, inputs[1:])]
            net.set_inputs(*(Tensor(shape=s, dtype=x.dtype) for s, x in zip(shapes, inputs)))
        return net(*inputs)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def _compiled(net, mode):
    def call(*inputs):
        return net(*inputs)

    return ms.jit(call, capture_mode="bytecode" if mode.endswith("bytecode") else "ast")


def _unknown(x):
    is_int = x.dtype in (ms.int32, ms.int64)
    return (None,) * (x.ndim - 1) + (None if is_int or x.ndim == 1 else x.shape[-1],)


def _tensors(inputs):
    return [x if isinstance(x, Tensor) else Tensor(x) for x in inputs]


def _arrays(outputs):
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return [
        (x.astype(ms.float32) if x.dtype in (ms.float16, ms.bfloat16) else x).asnumpy()
        for x in outputs
    ]


class _Call(nn.Cell):
    def __init__(self, function, options):
        super().__init__()
        self.function = function
        self.options = options

    def construct(self, *inputs):
        return self.function(*inputs, **self.options)


class _Weighted(nn.Cell):
    def __init__(self, net, weights):
        super().__init__()
        self.net = net
        self.weights = weights

    def construct(self, *inputs):
        return (self.net(*inputs) * self.weights).sum()


class _Gradient(nn.Cell):
    def __init__(self, net, wanted):
        super().__init__()
        self.net = net
        self.wanted = wanted
        self.value_and_grad = ms.value_and_grad(net, wanted)

    def construct(self, *inputs):
        return self.value_and_grad(*inputs)
