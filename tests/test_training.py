# SPDX-License-Identifier: Apache-2.0
"""The loss inside what people train with: train steps, mixed precision, recompute, export."""

import copy

import mindspore as ms
import numpy as np
import pytest
from calls import numbers, tensors
from mindspore import Tensor, amp, nn, ops
from oracles import random_batch, report

from mindspore_rnnt import PackedJoiner, RNNTLoss, packed_indices

LENGTHS = [(5, 3), (4, 2), (6, 0)]
V = 7


class Net(nn.Cell):
    """A Dense layer over packed rows, and the loss."""

    def __init__(self, fused_grad=True):
        super().__init__()
        weight = np.random.default_rng(1).standard_normal((V, V)).astype(np.float32) / 4
        self.layer = nn.Dense(V, V, weight_init=Tensor(weight), bias_init="zeros")
        self.loss_fn = RNNTLoss(fused_grad=fused_grad)

    def construct(self, x, targets, logit_lengths, target_lengths):
        return self.loss_fn(self.layer(x), targets, logit_lengths, target_lengths)


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["pynative", "graph"])
def mode(request):
    ms.set_context(mode=request.param)
    yield request.param
    ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.fixture
def inputs():
    return tensors(random_batch(LENGTHS, V=V).layout(padded=False))


def _weight_gradient(net, inputs):
    step = ms.value_and_grad(net, None, net.trainable_params())
    loss, gradients = step(*inputs)
    return float(loss), numbers(gradients[0])


@pytest.mark.parametrize("fused_grad", [True, False])
def test_train_step_lowers_the_loss(fused_grad, mode, inputs):
    net = Net(fused_grad)
    step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 0.05)).set_train()
    losses = [float(step(*inputs)) for _ in range(20)]
    print(losses[0], losses[-1])
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize("fused_grad", [True, False])
def test_recompute(fused_grad, mode, inputs):
    plain, recomputed = Net(fused_grad).set_train(), Net(fused_grad).set_train()
    recomputed.recompute()
    loss, expected = _weight_gradient(plain, inputs)
    again, gradient = _weight_gradient(recomputed, inputs)
    assert loss == again and report("gradient", gradient, expected) <= 1e-6


@pytest.mark.parametrize("fused_grad", [True, False])
def test_gradient_accumulation(fused_grad, mode, inputs):
    """Adding the next gradient to the last one must not reach into the operator's buffers."""
    net = Net(fused_grad).set_train()
    _, expected = _weight_gradient(net, inputs)
    step = ms.value_and_grad(net, None, net.trainable_params())
    total = step(*inputs)[1][0]
    for _ in range(2):
        total += step(*inputs)[1][0]
    assert report("gradient", numbers(total), 3 * expected) <= 1e-5


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
def test_mixed_precision(level, mode, inputs):
    expected_loss, expected = _weight_gradient(Net().set_train(), inputs)
    net = amp.auto_mixed_precision(Net().set_train(), level, dtype=ms.float16)
    loss, gradient = _weight_gradient(net, inputs)
    assert report("loss", loss, expected_loss) <= 0.02
    assert report("gradient", gradient, expected) <= 0.02


@pytest.mark.parametrize("fused_grad", [True, False])
def test_loss_scaling(fused_grad, mode, inputs):
    net = Net(fused_grad).set_train()
    _, expected = _weight_gradient(net, inputs)
    scaler = amp.StaticLossScaler(1024)

    def scaled(x, targets, logit_lengths, target_lengths):
        return scaler.scale(net(x, targets, logit_lengths, target_lengths))

    gradients = ms.grad(scaled, None, net.trainable_params())(*inputs)
    gradients = scaler.unscale(gradients)
    assert bool(amp.all_finite(gradients))
    assert report("gradient", numbers(gradients[0]), expected) <= 1e-5


def test_an_overflow_is_seen_by_loss_scaling(mode, inputs):
    net = Net().set_train()
    logits = numbers(inputs[0])
    logits[3, 2] = np.nan
    gradients = ms.grad(net, None, net.trainable_params())(Tensor(logits), *inputs[1:])
    assert not bool(amp.all_finite(gradients))


def test_deep_copy(mode, inputs):
    net = Net().set_train()
    assert _weight_gradient(copy.deepcopy(net), inputs)[0] == _weight_gradient(net, inputs)[0]


def test_export(mode, inputs, tmp_path):
    ms.export(RNNTLoss(), *inputs, file_name=str(tmp_path / "loss"), file_format="MINDIR")
    assert (tmp_path / "loss.mindir").stat().st_size > 0


def test_a_joint_network_learns(mode):
    """PackedJoiner + RNNTLoss, every size dynamic in graph mode: one compile, three batches."""

    class Transducer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.joiner = PackedJoiner(6, 5, 16, V, activation="relu")
            self.loss_fn = RNNTLoss(blank=0)

        def construct(
            self, encoder_out, predictor_out, frame_rows, step_rows, targets, frames, labels
        ):
            logits = self.joiner(encoder_out, predictor_out, frame_rows, step_rows)
            return self.loss_fn(logits, targets, frames, labels)

    net = Transducer()
    step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 0.02)).set_train()
    i32, f32 = ms.int32, ms.float32
    shapes = [((None, None, 6), f32), ((None, None, 5), f32), ((None,), i32), ((None,), i32)]
    shapes += [((None, None), i32), ((None,), i32), ((None,), i32)]
    if mode == ms.GRAPH_MODE:
        step.set_inputs(*(Tensor(shape=s, dtype=d) for s, d in shapes))
    rng = np.random.default_rng(0)
    batches = []
    for lengths in ([(5, 3), (4, 2)], [(6, 1)], [(3, 2), (2, 2), (7, 3)]):
        T, U = np.array(lengths, np.int32).T
        arrays = [
            rng.standard_normal((len(T), T.max(), 6)).astype(np.float32),
            rng.standard_normal((len(T), U.max() + 1, 5)).astype(np.float32),
            *packed_indices(T, U),
            rng.integers(1, V, (len(T), U.max())).astype(np.int32),
            T.copy(),
            U.copy(),
        ]
        batches.append([Tensor(a) for a in arrays])
    losses = [float(step(*batch)) for _ in range(25) for batch in batches]
    print(losses[:3], losses[-3:])
    assert sum(losses[-3:]) < 0.6 * sum(losses[:3])


def test_unused_outputs_of_a_shared_layer(inputs):
    """The loss beside another head that takes the same logits."""
    net = Net().set_train()

    def both(x, targets, logit_lengths, target_lengths):
        logits = net.layer(x)
        loss = net.loss_fn(logits, targets, logit_lengths, target_lengths)
        return loss + 0.5 * ops.mean(logits * logits)

    def head(x):
        logits = net.layer(x)
        return 0.5 * ops.mean(logits * logits)

    weights = net.trainable_params()
    _, of_loss = _weight_gradient(net, inputs)
    of_head = numbers(ms.grad(head, None, weights)(inputs[0])[0])
    of_both = numbers(ms.grad(both, None, weights)(*inputs)[0])
    assert report("gradient", of_both, of_loss + of_head) <= 1e-5
