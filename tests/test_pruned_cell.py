# SPDX-License-Identifier: Apache-2.0
"""PrunedRNNTLoss against its parts and against JoinerRNNTLoss, which it equals without pruning."""

import mindspore as ms
import numpy as np
import pytest
from joiner_calls import DE, DP, LENGTHS, WEIGHTS, J, budget, joiner_batch
from mindspore import Tensor, nn
from modes import MODES, gradients, step_of
from oracles import relative_errors, report

from mindspore_rnnt import (
    JoinerRNNTLoss,
    PackedJoiner,
    PrunedRNNTLoss,
    prune_ranges,
    rnnt_loss_pruned,
    rnnt_loss_simple,
    simple_posteriors,
)

V = 11
BUDGET = budget(13, V)


def joiner_of(activation="relu", **options):
    ms.set_seed(0)
    return PackedJoiner(DE, DP, J, V, activation, **options)


def pruned_loss(joiner=None, **options):
    options = {"prune_range": 3, "blank": 0, "reduction": "none"} | options
    return PrunedRNNTLoss(joiner or joiner_of(), V, memory_budget=BUDGET, **options)


def batch_of(lengths=LENGTHS, **options):
    return joiner_batch(lengths, V, **options)[:5]


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


@pytest.mark.parametrize("mode", MODES)
def test_equals_the_composition_of_its_parts(mode):
    loss_fn = pruned_loss()
    batch = batch_of()
    expected = gradients(Composed(loss_fn, 1.0, 0.1), batch, weights=WEIGHTS)
    assert max(relative_errors(gradients(loss_fn, batch, mode, WEIGHTS), expected)) <= 1e-5


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("output_bias", [True, False])
def test_equals_the_joiner_loss_without_pruning(activation, output_bias):
    joiner = joiner_of(activation, predictor_bias=True)
    if not output_bias:
        joiner.output = nn.Dense(J, V, has_bias=False)
    batch = joiner_batch(LENGTHS, V)
    options = {"blank": 0, "clamp": 0.1, "fastemit_lambda": 0.2, "reduction": "none"}
    whole = JoinerRNNTLoss(joiner, BUDGET, **options)
    expected = gradients(whole, batch, weights=WEIGHTS)
    loss_fn = pruned_loss(joiner, prune_range=9, simple_scale=0.0, warmup_steps=0, **options)
    got = gradients(loss_fn, batch[:5], weights=WEIGHTS)
    assert all((x == 0).all() for x in got[-4:])  # the simple joiner is left out
    assert max(relative_errors(got[:-4], expected)) <= 1e-5


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
        step = step_of(loss_fn, WEIGHTS).set_train()
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
