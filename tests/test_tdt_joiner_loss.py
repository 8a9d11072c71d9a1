# SPDX-License-Identifier: Apache-2.0
"""What JoinerTDTLoss has beside what test_joiner_loss.py says: layers without a bias, samples that
no path crosses, refusals."""

import copy
from functools import partial

import numpy as np
import pytest
from joiner_calls import LENGTHS, J, OneOutput, Plain, budget, joiner_batch, reference
from joiner_calls import joiner_of as joiner_with
from joiner_calls import refused as refused_by
from mindspore import Tensor, nn
from modes import gradients
from oracles import relative_errors
from tolerances import TOLERANCE

from mindspore_rnnt import JoinerTDTLoss

DURATIONS = (0, 1, 2)
joiner_of = partial(joiner_with, durations=DURATIONS)
refused = partial(refused_by, JoinerTDTLoss, {"joiner": joiner_of(11), "durations": DURATIONS})


def test_biases_are_optional():
    """Of either output layer. What is missing counts as 0."""
    joiner, batch = joiner_of(11), joiner_batch(LENGTHS, 11)
    expected = gradients(Plain(joiner, DURATIONS, reduction="sum"), batch)
    for name, left_out in (("output", 7), ("duration_output", 9)):
        layer = getattr(joiner, name)
        layer.bias.set_data(Tensor(np.zeros(layer.bias.shape, np.float32)))
        whole = gradients(Plain(joiner, DURATIONS, reduction="sum"), batch)
        without = copy.deepcopy(joiner)
        smaller = nn.Dense(J, layer.out_channels, has_bias=False)
        smaller.weight.set_data(layer.weight)
        setattr(without, name, smaller)
        got = gradients(JoinerTDTLoss(without, DURATIONS, reduction="sum"), batch)
        del whole[left_out]
        assert max(relative_errors(got, whole)) <= TOLERANCE["joiner"]
    assert not np.allclose(expected[0], whole[0])


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_a_sample_without_a_path(zero_infinity):
    """T = 3 cannot be reached in steps of 2: gradient 0, also in all parameters."""
    joiner, batch = joiner_of(11, durations=(2,)), joiner_batch([(4, 0), (3, 0), (6, 1)], 11)
    options = {"reduction": "none", "zero_infinity": zero_infinity}
    loss_fn = JoinerTDTLoss(joiner, (2,), budget(5, 12), **options)
    losses = loss_fn(*map(Tensor, batch)).asnumpy()
    assert losses[1] == (0 if zero_infinity else np.inf) and np.isfinite(losses[[0, 2]]).all()
    expected = reference(joiner, batch, [1, 0, 1], (2,), reduction="none", zero_infinity=True)
    got = gradients(loss_fn, batch, weights=[1, 1, 1])
    assert max(relative_errors(got[1:], expected[1:])) <= TOLERANCE["joiner_float64"]


def test_refusals():
    durations = "'joiner' must be with 3 durations, as many as 'durations' has, but got one with"
    refused(ValueError, f"{durations} 2", joiner=joiner_of(11, durations=(0, 1)))
    refused(ValueError, f"{durations} 0", joiner=joiner_of(11, durations=()))
    entries = "'joiner' must be with an output of more than 3 rows.* but got 3 rows"
    refused(ValueError, entries, joiner=OneOutput(3))
    refused(ValueError, "'durations' must be distinct", durations=(1, 1))
    refused(ValueError, "'sigma' must be", sigma=-1.0)
    refused(TypeError, "'clamp' must be a float", clamp="1")
    refused(ValueError, r"'blank' must be in \[-11, 11\), as the joiner has 11 classes", blank=11)
    refused(ValueError, "'memory_budget' must be at least 368 bytes.* got 367", memory_budget=367)
    batch = joiner_batch(LENGTHS, 11)
    refused(ValueError, "'step_rows' must be what .* 51 rows", step_rows=batch[6] + 1)
    refused(ValueError, r"'encoder_out' .* with De = 6", encoder_out=batch[0][..., 1:])
    batch[2][2, 3] = 11
    refused(ValueError, r"'targets' must be in \[0, 11\), as the joiner has 11", targets=batch[2])


def test_repr():
    shown = repr(JoinerTDTLoss(joiner_of(11), DURATIONS, "1MB", blank=0, sigma=0.05))
    for part in ("durations=(0, 1, 2), blank=0", "sigma=0.05", "memory_budget='1MB'"):
        assert part in shown
