# SPDX-License-Identifier: Apache-2.0
"""PackedJoiner with a second output, of durations."""

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, ops
from modes import run

from mindspore_rnnt import PackedJoiner, packed_indices, tdt_loss

T, U = np.array([5, 3], np.int32), np.array([2, 4], np.int32)


def _inputs():
    rng = np.random.default_rng(0)
    encoder_out = rng.standard_normal((2, 5, 6)).astype(np.float32)
    predictor_out = rng.standard_normal((2, 5, 4)).astype(np.float32)
    return encoder_out, predictor_out, *packed_indices(T, U)


@pytest.mark.parametrize("mode", ["pynative", "graph_dynamic"])
def test_both_outputs_come_from_the_same_hidden_rows(mode):
    """A copy of the first output layer's weights in the second gives the same logits."""
    joiner = PackedJoiner(6, 4, 8, 7, activation="relu", num_durations=3)
    joiner.duration_output.weight.set_data(joiner.output.weight[2:5])
    joiner.duration_output.bias.set_data(joiner.output.bias[2:5])
    plain = PackedJoiner(6, 4, 8, 7, activation="relu")
    ms.load_param_into_net(plain, joiner.parameters_dict())
    tokens, durations = run(joiner, _inputs(), mode)
    assert tokens.shape == (30, 7) and durations.shape == (30, 3)
    assert np.abs(durations - tokens[:, 2:5]).max() <= 1e-6
    assert np.abs(run(plain, _inputs(), mode)[0] - tokens).max() <= 1e-6


def test_all_parameters_have_a_gradient_under_tdt_loss():
    joiner = PackedJoiner(6, 4, 8, 7, num_durations=3)
    rng = np.random.default_rng(1)
    batch = Tensor(rng.integers(0, 6, (2, 4)).astype(np.int32)), Tensor(T), Tensor(U)

    def loss_of(*inputs):
        return tdt_loss(*joiner(*inputs), *batch, durations=(0, 1, 2))

    weights = joiner.trainable_params()
    assert len(weights) == 7
    gradients = ms.grad(loss_of, None, weights)(*map(Tensor, _inputs()))
    assert all(float(ops.abs(gradient).max()) > 0 for gradient in gradients)


def test_num_durations():
    for error, value, message in ((TypeError, 1.0, "an int"), (ValueError, -1, "at least 0")):
        message = f"^For 'PackedJoiner', the 'num_durations' must be {message}, but got"
        with pytest.raises(error, match=message):
            PackedJoiner(6, 4, 8, 7, num_durations=value)
    assert "num_durations=3" in repr(PackedJoiner(6, 4, 8, 7, num_durations=3))
