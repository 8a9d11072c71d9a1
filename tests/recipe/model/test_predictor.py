# SPDX-License-Identifier: Apache-2.0
"""Predictors: a step at a time is the whole at once."""

import numpy as np
import pytest
from mindspore import Tensor
from recipe_networks import network, report
from tolerances import TOLERANCE

KINDS = [
    ["model.predictor_context=1"],
    ["model.predictor_context=2"],
    ["model.predictor_context=3"],
    ["model.predictor=lstm"],
]


@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_the_rows_of_the_whole(kind):
    _, model = network(*kind)
    targets = np.array([[3, 1, 6, 2], [5, 5, 2, 4]], np.int32)
    whole = model.predictor(Tensor(targets)).asnumpy()
    state = model.predictor.start(2)
    assert all(part.shape[0] == 2 for part in state), "a state has a row for each stream"
    tokens = np.concatenate([np.zeros((2, 1), np.int32), targets], axis=1)
    for u in range(5):
        output, *state = model.predictor.step(Tensor(tokens[:, u]), *state)
        error = report(f"step {u}", output.asnumpy(), whole[:, u])
        assert error < TOLERANCE["recipe_encoder"]


def test_stateless_is_the_sum_of_embeddings_of_the_last_tokens():
    _, model = network("model.predictor_context=2")
    tables = model.predictor.tables.asnumpy()
    whole = model.predictor(Tensor(np.array([[3, 1]], np.int32))).asnumpy()[0]
    last_two = [(0, 0), (0, 3), (3, 1)]
    expected = [tables[0, first] + tables[1, second] for first, second in last_two]
    assert report("sum", whole, expected) < TOLERANCE["recipe_encoder"]
