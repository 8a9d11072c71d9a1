# SPDX-License-Identifier: Apache-2.0
"""PackedJoiner against NumPy, and against the padded joint network that it replaces."""

import mindspore as ms
import numpy as np
import pytest
from calls import numbers
from mindspore import Tensor, ops
from oracles import report

from mindspore_rnnt import JoinerRNNTLoss, PackedJoiner, RNNTLoss, packed_indices

T, U = np.array([5, 3], np.int32), np.array([2, 4], np.int32)
ACTIVATION = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0)}


def _inputs():
    rng = np.random.default_rng(0)
    encoder_out = rng.standard_normal((2, 5, 6)).astype(np.float32)
    predictor_out = rng.standard_normal((2, 5, 4)).astype(np.float32)
    return encoder_out, predictor_out


@pytest.mark.parametrize("activation", ACTIVATION)
def test_equals_numpy(activation):
    joiner = PackedJoiner(6, 4, 8, 7, activation=activation)
    encoder_out, predictor_out = _inputs()
    rows = packed_indices(T, U)
    logits = joiner(*(Tensor(x) for x in (encoder_out, predictor_out, *rows)))
    weights = {p.name: p.asnumpy().astype(np.float64) for p in joiner.get_parameters()}
    print(sorted(weights))
    frames = encoder_out @ weights["encoder_proj.weight"].T + weights["encoder_proj.bias"]
    steps = predictor_out @ weights["predictor_proj.weight"].T
    summed = frames.reshape(-1, 8)[rows[0]] + steps.reshape(-1, 8)[rows[1]]
    expected = ACTIVATION[activation](summed) @ weights["output.weight"].T + weights["output.bias"]
    assert report("logits", numbers(logits), expected) <= 1e-3  # MindSpore's tanh is good to 1e-4


def test_gradients_equal_the_padded_joint_network():
    joiner, loss_fn = PackedJoiner(6, 4, 8, 7), RNNTLoss(blank=0, reduction="sum").set_train()
    encoder_out, predictor_out = (Tensor(x) for x in _inputs())
    targets = Tensor(np.random.default_rng(1).integers(1, 7, (2, 4)), ms.int32)
    frame_rows, step_rows = (Tensor(x) for x in packed_indices(T, U))
    lengths = Tensor(T), Tensor(U)

    def packed(encoder_out, predictor_out):
        logits = joiner(encoder_out, predictor_out, frame_rows, step_rows)
        return loss_fn(logits, targets, *lengths)

    def padded(encoder_out, predictor_out):
        frames, steps = joiner.project(encoder_out, predictor_out)
        frames, steps = frames.reshape((2, 5, 1, 8)), steps.reshape((2, 1, 5, 8))
        return loss_fn(joiner.output(joiner.activation(frames + steps)), targets, *lengths)

    weights = joiner.trainable_params()
    inputs = encoder_out, predictor_out
    of_packed = ms.value_and_grad(packed, (0, 1), weights)(*inputs)
    of_padded = ms.value_and_grad(padded, (0, 1), weights)(*inputs)
    assert report("loss", numbers(of_packed[0]), numbers(of_padded[0])) <= 1e-4
    for a, b in zip((*of_packed[1][0], *of_packed[1][1]), (*of_padded[1][0], *of_padded[1][1])):
        assert report("gradient", numbers(a), numbers(b)) <= 1e-4
    assert np.any(numbers(of_packed[1][0][0])) and ops.is_tensor(of_packed[0])


def test_unknown_activation():
    with pytest.raises(ValueError, match=r"'activation' must be one of \['relu', 'tanh'\].*'gelu'"):
        PackedJoiner(6, 4, 8, 7, activation="gelu")


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["pynative", "graph"])
@pytest.mark.parametrize("caller", ["PackedJoiner", "JoinerRNNTLoss"])
def test_the_earlier_name_of_step_rows(caller, mode):
    joiner = PackedJoiner(6, 4, 8, 7)
    net = joiner if caller == "PackedJoiner" else JoinerRNNTLoss(joiner)
    targets = Tensor(np.random.default_rng(1).integers(1, 7, (2, 4)), ms.int32)
    frame_rows, step_rows = (Tensor(x) for x in packed_indices(T, U))
    batch = [Tensor(x) for x in _inputs()]
    batch += [] if net is joiner else [targets, Tensor(T), Tensor(U)]
    ms.set_context(mode=mode)
    try:
        expected = numbers(net(*batch, frame_rows, step_rows))
        assert np.array_equal(numbers(net(*batch, frame_rows, label_rows=step_rows)), expected)
        assert np.array_equal(numbers(net(*batch, frame_rows, step_rows=step_rows)), expected)
        for rows, got in (
            ({}, "none"),
            ({"step_rows": step_rows, "label_rows": step_rows}, "both"),
        ):
            message = f"^For '{caller}', the 'step_rows' must be a Tensor, but got {got}"
            with pytest.raises(TypeError, match=message):
                net(*batch, frame_rows, **rows)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
