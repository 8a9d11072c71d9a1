# SPDX-License-Identifier: Apache-2.0
"""Loss and gradient through MindSpore, in every mode it has."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn

from mindspore_rnnt import RNNTLoss

FORMS = {"fused": True, "two-op": False}


def tensors(layout, dtype="float32", ints=np.int32):
    """(logits, targets, logit_lengths, target_lengths) as Tensors."""
    logits, *rest = layout
    return Tensor(logits).astype(getattr(ms, dtype)), *(Tensor(x.astype(ints)) for x in rest)


def numbers(x):
    """A Tensor of any float dtype as float32 NumPy."""
    return x.astype(ms.float32).asnumpy()


def loss_and_gradient(inputs, mode="pynative", weights=None, form="fused", **options):
    """The loss, and the gradient of its sum (weighted per sample) with respect to the logits."""
    loss_fn = RNNTLoss(**options, fused_grad=FORMS[form]).set_train()
    weights = Tensor(1.0 if weights is None else weights, ms.float32)
    run = (MODES | BYTECODE_MODES)[mode]
    loss = run(loss_fn, inputs)
    total, gradient = run(_ValueAndGrad(_Weighted(loss_fn, weights)), inputs)
    assert np.isnan(numbers(total)) == np.isnan(numbers((loss * weights).sum()))
    assert loss.dtype == ms.float32 and gradient.dtype == inputs[0].dtype
    return numbers(loss), numbers(gradient)


class _Weighted(nn.Cell):
    def __init__(self, loss_fn, weights):
        super().__init__()
        self.loss_fn = loss_fn
        self.weights = weights

    def construct(self, logits, targets, logit_lengths, target_lengths):
        loss = self.loss_fn(logits, targets, logit_lengths, target_lengths)
        return (loss * self.weights).sum()


class _ValueAndGrad(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.value_and_grad = ms.value_and_grad(net)

    def construct(self, logits, targets, logit_lengths, target_lengths):
        return self.value_and_grad(logits, targets, logit_lengths, target_lengths)


def _pynative(net, inputs):
    return net(*inputs)


def _jit(capture_mode):
    def run(net, inputs):
        def call(logits, targets, logit_lengths, target_lengths):
            return net(logits, targets, logit_lengths, target_lengths)

        return ms.jit(call, capture_mode=capture_mode)(*inputs)

    return run


def _grad_of_jit(capture_mode):
    """The forward pass compiled, the gradient asked for outside."""

    def run(net, inputs):
        inner = net.net if isinstance(net, _ValueAndGrad) else net

        def call(logits, targets, logit_lengths, target_lengths):
            return inner(logits, targets, logit_lengths, target_lengths)

        compiled = ms.jit(call, capture_mode=capture_mode)
        return compiled(*inputs) if inner is net else ms.value_and_grad(compiled)(*inputs)

    return run


def _graph(net, inputs, shapes=None):
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        if shapes is not None:
            net.set_inputs(*(Tensor(shape=s, dtype=x.dtype) for s, x in zip(shapes, inputs)))
        return net(*inputs)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def _graph_dynamic(net, inputs):
    """No size known but V."""
    V = inputs[0].shape[-1]
    sizes = (None,) * (inputs[0].ndim - 1)
    return _graph(net, inputs, ((*sizes, V), (None, None), (None,), (None,)))


def _graph_dynamic_rank(net, inputs):
    return _graph(net, inputs, (None, (None, None), (None,), (None,)))


MODES = {
    "pynative": _pynative,
    "jit_ast": _jit("ast"),
    "grad_of_jit_ast": _grad_of_jit("ast"),
    "graph": _graph,
    "graph_dynamic": _graph_dynamic,
    "graph_dynamic_rank": _graph_dynamic_rank,
}

# In processes of their own, see test_first_calls.py.
BYTECODE_MODES = {
    "jit_bytecode": _jit("bytecode"),
    "grad_of_jit_bytecode": _grad_of_jit("bytecode"),
}
