# SPDX-License-Identifier: Apache-2.0
"""Every mode of MindSpore gives the same loss and gradient; one graph serves all batches."""

import copy
import itertools

import mindspore as ms
import numpy as np
import pytest
from calls import loss_and_gradient, numbers, tensors
from mindspore import Tensor
from modes import ALL_MODES, flat, one_graph, refuse_double_backward, step_of
from oracles import random_batch, report, rnnt_loss_reference

from mindspore_rnnt import RNNTLoss, rnnt_loss
from mindspore_rnnt.kernels import pynative

LENGTHS = [(6, 3), (4, 2), (3, 4)]


@pytest.mark.parametrize("form", ["fused", "two-op"])
def test_modes_give_the_same_bits(form):
    inputs = tensors(random_batch(LENGTHS, V=9).layout(padded=False))
    results = [loss_and_gradient(inputs, mode, form=form, reduction="none") for mode in ALL_MODES]
    for loss, gradient in results[1:]:
        assert np.array_equal(loss, results[0][0]) and np.array_equal(gradient, results[0][1])


@pytest.mark.parametrize("form", ["fused", "two-op"])
def test_one_compile_serves_all_batch_sizes(form):
    loss_fn = RNNTLoss(reduction="sum", fused_grad=form == "fused").set_train()
    layouts = []
    for B in (1, 2, 3, 5):
        lengths = list(itertools.islice(itertools.cycle(LENGTHS), B))
        layouts.append(random_batch(lengths, V=9, seed=B).layout(padded=False))
    with one_graph(step_of(loss_fn, wanted=(0,)), layouts[0]) as compiled:
        for layout in layouts:
            loss, gradient = flat(compiled(*tensors(layout)))
            expected, expected_gradient = rnnt_loss_reference(*layout, reduction="sum")
            assert report("loss", loss, expected) <= 3e-5
            assert report("gradient", gradient, expected_gradient) <= 2e-6


def test_function_and_cell_agree_by_position_and_by_keyword():
    inputs = tensors(random_batch(LENGTHS, V=9).layout(padded=True))
    names = ("logits", "targets", "logit_lengths", "target_lengths")
    options = (2, 0.01, "sum", True)
    cell = RNNTLoss(*options, fastemit_lambda=0.2)
    losses = [
        rnnt_loss(*inputs, *options, fastemit_lambda=0.2),
        rnnt_loss(
            **dict(zip(names, inputs)), blank=2, clamp=0.01, reduction="sum", fastemit_lambda=0.2
        ),
        cell(*inputs),
        cell(**dict(zip(names, inputs))),
        copy.deepcopy(cell)(*inputs),
    ]
    assert len({float(loss) for loss in losses}) == 1


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.parametrize("fused_grad", [True, False])
def test_training_does_not_change_the_gradient(fused_grad, mode):
    """A Cell starts out not training, and a compiled graph may not notice a later set_train."""
    layout = random_batch(LENGTHS, V=9).layout(padded=False)
    _, expected = rnnt_loss_reference(*layout, reduction="mean")
    ms.set_context(mode=mode)
    try:
        cell = RNNTLoss(fused_grad=fused_grad)
        for training in (None, True, False, True):
            if training is not None:
                cell.set_train(training)
            gradient = ms.grad(cell)(*tensors(layout))
            assert report("gradient", numbers(gradient), expected) <= 2e-6
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize("fused_grad", [True, False])
def test_double_backward_is_an_error_and_leaves_the_next_call_right(fused_grad):
    layout = random_batch(LENGTHS, V=9).layout(padded=False)
    _, expected = rnnt_loss_reference(*layout, reduction="mean")
    name = r"rnnt_loss \(or RNNTLoss\)"
    refuse_double_backward(rnnt_loss, layout, name, expected, fused_grad=fused_grad)


@pytest.mark.parametrize("fused_grad", [True, False])
def test_backward_twice_through_vjp(fused_grad):
    """The second call must not see a gradient that the first one scaled."""
    layout = random_batch(LENGTHS, V=9).layout(padded=False)
    _, expected = rnnt_loss_reference(*layout, reduction="sum")
    inputs = tensors(layout)

    def loss(logits):
        return rnnt_loss(logits, *inputs[1:], reduction="sum", fused_grad=fused_grad)

    _, vjp = ms.vjp(loss, inputs[0])
    results = [(factor, vjp(Tensor(factor, ms.float32))) for factor in (2.0, -3.0, 0.0, 1.0)]
    for factor, result in results:
        gradient = result[0] if isinstance(result, tuple) else result
        assert report(f"x {factor}", numbers(gradient), factor * expected) <= 6e-6


@pytest.mark.parametrize("compiled", [False, True], ids=["pynative", "jit"])
@pytest.mark.parametrize("fused_grad", [True, False])
def test_one_forward_pass_with_several_gradients(fused_grad, compiled):
    """A graph merges equal forward passes: no backward pass may change what another one reads."""
    layout = random_batch(LENGTHS, V=9).layout(padded=False)
    _, expected = rnnt_loss_reference(*layout, reduction="sum")
    inputs = tensors(layout)

    def loss(logits):
        return rnnt_loss(logits, *inputs[1:], reduction="sum", fused_grad=fused_grad)

    def three_times(logits):
        return loss(logits) + 2 * loss(logits)

    def gradients(logits):
        scaled = logits * 1.0
        return ms.grad(three_times)(scaled), ms.grad(loss)(scaled), ms.grad(three_times)(scaled)

    results = (ms.jit(gradients) if compiled else gradients)(inputs[0])
    for factor, gradient in zip((3, 1, 3), results):
        assert report(f"x {factor}", numbers(gradient), factor * expected) <= 6e-6


def test_a_cell_that_is_not_training_makes_no_gradient(monkeypatch):
    inputs = tensors(random_batch(LENGTHS, V=9).layout(padded=False))

    def refuse(*batch):
        raise AssertionError("the fused operator was called")

    monkeypatch.setattr(pynative.FusedLoss, "apply", refuse)
    assert np.isfinite(float(RNNTLoss()(*inputs)))
    assert np.isfinite(float(RNNTLoss(fused_grad=False).set_train()(*inputs)))
    with pytest.raises(AssertionError, match="fused"):
        RNNTLoss().set_train()(*inputs)
