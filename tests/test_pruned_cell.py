# SPDX-License-Identifier: Apache-2.0
"""PrunedRNNTLoss against its parts and against JoinerRNNTLoss, which it equals without pruning."""

import copy

import mindspore as ms
import numpy as np
import pytest
from joiner_calls import DE, DP, joiner_batch, set_dynamic
from mindspore import Tensor, amp, nn
from oracles import report

from mindspore_rnnt import (
    JoinerRNNTLoss,
    PackedJoiner,
    PrunedRNNTLoss,
    prune_ranges,
    rnnt_loss_pruned,
    rnnt_loss_simple,
    simple_posteriors,
)

LENGTHS = [(6, 3), (4, 2), (3, 4)]
WEIGHTS = [1.0, -3.0, 0.5]
V, J = 11, 8
BUDGET = 4 * (2 * V + 8 * J) * 13  # 13 rows in flight
MODES = ("pynative", "jit", "graph", "graph_dynamic")


def joiner_of(activation="relu", **options):
    ms.set_seed(0)
    return PackedJoiner(DE, DP, J, V, activation, **options)


def pruned_loss(joiner=None, **options):
    options = {"prune_range": 3, "blank": 0, "reduction": "none"} | options
    return PrunedRNNTLoss(joiner or joiner_of(), V, memory_budget=BUDGET, **options)


def batch_of(lengths=LENGTHS, **options):
    return joiner_batch(lengths, V, **options)[:5]


class Step(nn.Cell):
    """value_and_grad of the weighted sum: loss, gradients of both inputs and all parameters."""

    def __init__(self, net, weights):
        super().__init__()
        parameters = ms.ParameterTuple(net.trainable_params())
        weighted = Weighted(net, Tensor(weights, ms.float32))
        self.value_and_grad = ms.value_and_grad(weighted, (0, 1), parameters)

    def construct(self, *inputs):
        return self.value_and_grad(*inputs)


class Weighted(nn.Cell):
    def __init__(self, net, weights):
        super().__init__()
        self.net = net
        self.weights = weights

    def construct(self, *inputs):
        return (self.net(*inputs) * self.weights).sum()


def gradients(net, batch, mode="pynative", weights=WEIGHTS):
    inputs, step = [Tensor(x) for x in batch], Step(net, weights)
    if mode == "jit":

        def call(*inputs):
            return step(*inputs)

        result = ms.jit(call)(*inputs)
    elif mode == "pynative":
        result = step(*inputs)
    else:
        ms.set_context(mode=ms.GRAPH_MODE)
        try:
            if mode == "graph_dynamic":
                set_dynamic(step, inputs)
            result = step(*inputs)
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
    loss, (of_inputs, of_parameters) = result
    return [x.asnumpy() for x in (loss, *of_inputs, *of_parameters)]


class Composed(nn.Cell):
    """The same loss from the functions, with all logits of the windows at once."""

    def __init__(self, loss_fn, a, b):
        super().__init__()
        self.loss_fn = loss_fn
        self.a, self.b = a, b

    def construct(self, encoder_out, predictor_out, *ints):
        loss_fn = self.loss_fn
        am, lm = loss_fn.simple_am_proj(encoder_out), loss_fn.simple_lm_proj(predictor_out)
        options = {"blank": 0, "reduction": "none", "lm_only_scale": 0.25}
        posteriors = simple_posteriors(am, lm, *ints, **options)
        starts = prune_ranges(posteriors, *ints[1:], loss_fn.prune_range)
        joiner, S = loss_fn.joiner, loss_fn.prune_range
        frames = joiner.encoder_proj(encoder_out).expand_dims(2)
        steps = joiner.predictor_proj(predictor_out)
        index = ms.ops.minimum(starts.expand_dims(2) + ms.ops.range(0, S, 1), steps.shape[1] - 1)
        steps = ms.ops.gather(steps, index.reshape((index.shape[0], -1)), 1, 1)
        hidden = joiner.activation(frames + steps.reshape((*index.shape, -1)))
        pruned = rnnt_loss_pruned(joiner.output(hidden), starts, *ints, blank=0, reduction="none")
        return self.a * rnnt_loss_simple(am, lm, *ints, **options) + self.b * pruned


def errors_in_norm(got, expected):
    assert len(got) == len(expected)
    errors = [
        float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30)) for a, b in zip(got, expected)
    ]
    print([f"{error:.1e}" for error in errors])
    return max(errors)


@pytest.mark.parametrize("mode", MODES)
def test_equals_the_composition_of_its_parts(mode):
    loss_fn = pruned_loss()
    batch = batch_of()
    expected = gradients(Composed(loss_fn, 1.0, 0.1), batch)
    assert errors_in_norm(gradients(loss_fn, batch, mode), expected) <= 1e-5


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("output_bias", [True, False])
def test_equals_the_joiner_loss_without_pruning(activation, output_bias):
    joiner = joiner_of(activation, predictor_bias=True)
    if not output_bias:
        joiner.output = nn.Dense(J, V, has_bias=False)
    batch = joiner_batch(LENGTHS, V)
    options = {"blank": 0, "clamp": 0.1, "fastemit_lambda": 0.2, "reduction": "none"}
    whole = JoinerRNNTLoss(joiner, BUDGET, **options)
    expected = gradients(whole, batch)
    loss_fn = pruned_loss(joiner, prune_range=9, simple_scale=0.0, warmup_steps=0, **options)
    got = gradients(loss_fn, batch[:5])
    assert all((x == 0).all() for x in got[-4:])  # the simple joiner is left out
    assert errors_in_norm(got[:-4], expected) <= 1e-5


def test_schedule_counts_training_calls_only():
    loss_fn = pruned_loss(warmup_steps=4, simple_scale=0.5)
    batch = [Tensor(x) for x in batch_of()]
    parts = [Composed(loss_fn, a, b)(*batch).asnumpy() for a, b in ((1, 0), (0, 1))]
    for n in range(6):
        part = min(n / 4, 1)
        expected = (1 - part * 0.5) * parts[0] + (0.1 + 0.9 * part) * parts[1]
        loss_fn.set_train(False)
        assert report("evaluation", loss_fn(*batch).asnumpy(), expected) <= 1e-4
        loss_fn.set_train()
        assert report("training", loss_fn(*batch).asnumpy(), expected) <= 1e-4
        assert loss_fn.training_calls.asnumpy() == n + 1
    saved = {name.split(".")[-1]: x for name, x in loss_fn.parameters_dict().items()}
    assert saved["training_calls"].asnumpy() == 6 and not saved["training_calls"].requires_grad


def test_counts_in_graph_mode():
    loss_fn = pruned_loss(warmup_steps=4).set_train()
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        step = Step(loss_fn, WEIGHTS).set_train()
        losses = [float(step(*map(Tensor, batch_of()))[0].asnumpy()) for _ in range(3)]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert loss_fn.training_calls.asnumpy() == 3 and len(set(losses)) == 3


def test_an_impossible_simple_loss_is_left_out_with_factor_0():
    loss_fn = pruned_loss(warmup_steps=1, simple_scale=0.0, prune_range=9).set_train()
    batch = [Tensor(x) for x in batch_of()]
    loss_fn(*batch)
    bias = np.zeros(V, np.float32)
    bias[1:] = -np.inf  # no label has a probability
    loss_fn.simple_am_proj.bias.set_data(Tensor(bias))
    loss, *rest = gradients(loss_fn, batch_of())
    assert np.isfinite(loss) and all(np.isfinite(x).all() for x in rest)


@pytest.mark.parametrize("mode", ["pynative", "graph"])
def test_a_bad_label_costs_its_sample_only(mode):
    loss_fn, batch = pruned_loss(validate=False), batch_of()
    expected = gradients(loss_fn, batch, mode, [1, 0, 1])
    batch[2][1, 0] = 99
    loss = loss_fn(*map(Tensor, batch)).asnumpy()
    assert np.array_equal(np.isnan(loss), [False, True, False])
    _, *rest = gradients(loss_fn, batch, mode, [1, 1, 1])
    assert errors_in_norm(rest, expected[1:]) <= 1e-6


@pytest.mark.parametrize("columns", [0, 1])
def test_no_labels_at_all(columns):
    encoder_out, predictor_out, _, T, U = batch_of([(3, 0), (2, 0)], extra=0)
    targets = np.full((2, columns), 99, np.int32)
    loss = pruned_loss()(*map(Tensor, (encoder_out, predictor_out, targets, T, U)))
    assert np.isfinite(loss.asnumpy()).all()


def test_a_joiner_of_ones_own():
    class Own(nn.Cell):
        def __init__(self):
            super().__init__()
            self.encoder_proj, self.predictor_proj = nn.Dense(DE, J), nn.Dense(DP, J)
            self.activation, self.output = nn.Tanh(), nn.Dense(J, V)

    batch = joiner_batch(LENGTHS, V)
    losses = [
        JoinerRNNTLoss(Own(), BUDGET)(*map(Tensor, batch)),
        pruned_loss(Own(), reduction="mean")(*map(Tensor, batch[:5])),
    ]
    assert all(np.isfinite(loss.asnumpy()) for loss in losses)


def refused(error, match, joiner=None, **options):
    inputs = dict(zip(("encoder_out", "predictor_out", "targets", "T", "U"), batch_of()))
    inputs |= {name: options.pop(name) for name in list(options) if name in inputs}
    options = {"vocab_size": V} | options
    with pytest.raises(error, match=f"^For 'PrunedRNNTLoss', the {match}"):
        PrunedRNNTLoss(joiner or joiner_of(), **options)(*map(Tensor, inputs.values()))


def test_refusals():
    batch = batch_of()
    refused(ValueError, "'vocab_size' must be 11, the joiner's classes, but got 12", vocab_size=12)
    refused(ValueError, "'prune_range' must be at least 2, but got 1", prune_range=1)
    refused(ValueError, "'simple_scale' must be at least 0 and finite", simple_scale=-1.0)
    refused(TypeError, "'warmup_steps' must be an int", warmup_steps=1.5)
    refused(ValueError, "'warmup_steps' must be at least 0", warmup_steps=-1)
    refused(ValueError, "'memory_budget' must be at least", memory_budget=3)
    refused(ValueError, r"'blank' must be in \[-11, 11\), as the joiner", blank=11)
    refused(ValueError, "'lm_only_scale' must be at most 1 together", lm_only_scale=1.5)
    refused(TypeError, "'joiner' must be a Cell with Dense .* got ReLU without encoder", nn.ReLU())
    refused(ValueError, "'encoder_out' must be of .* De = 6", encoder_out=batch[0][..., 1:])
    refused(ValueError, "'logit_lengths' must be in .* 'encoder_out' allows", T=batch[3] + 9)
    refused(ValueError, "'targets' must be in", targets=batch[2] * 0 + 11)
    joiner = joiner_of()
    joiner.activation = nn.GELU()
    refused(TypeError, "'joiner' must be with an activation ReLU or Tanh, but got GELU", joiner)


def test_double_backward_is_an_error():
    loss_fn = pruned_loss(reduction="mean")

    def once(a, b, c, d, e):
        return ms.grad(loss_fn)(a, b, c, d, e)

    def squared(a, b, c, d, e):
        return (once(a, b, c, d, e) ** 2).sum()

    def twice(a, b, c, d, e):
        return ms.grad(squared)(a, b, c, d, e)

    inputs = [Tensor(x) for x in batch_of()]
    expected = once(*inputs).asnumpy()
    for wrap in (lambda f: f, ms.jit):
        with pytest.raises(RuntimeError, match="PrunedRNNTLoss does not support double backward"):
            wrap(twice)(*inputs).asnumpy()
        assert report("gradient", wrap(once)(*inputs).asnumpy(), expected) <= 1e-6


def test_a_copy_gives_the_same_bits():
    loss_fn, batch = pruned_loss(), batch_of()
    for a, b in zip(gradients(copy.deepcopy(loss_fn), batch), gradients(loss_fn, batch)):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("mode, level", [("pynative", "O2"), ("pynative", "O3"), ("graph", "O2")])
def test_mixed_precision(mode, level):
    loss_fn, batch = pruned_loss(reduction="sum"), batch_of()
    expected = gradients(loss_fn, batch, weights=1.0)
    half = amp.auto_mixed_precision(copy.deepcopy(loss_fn), level, ms.float16)
    got = gradients(half, batch, mode, weights=1.0)
    assert abs(got[0] / expected[0] - 1) <= 1e-4
    assert errors_in_norm(got, expected) <= 5e-3
