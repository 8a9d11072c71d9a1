# SPDX-License-Identifier: Apache-2.0
"""Warm-up and cosine at points that are known."""

import math

import pytest
from mindspore import Tensor, int32

from mindspore_rnnt.recipe.settings import OptimConfig
from mindspore_rnnt.recipe.training.schedule import WarmupCosine


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (0, 0.2 * 1 / 10),
        (4, 0.2 * 5 / 10),
        (9, 0.2),
        (29, 0.02 + 0.18 * 0.5 * (1 + math.cos(math.pi * 20 / 40))),
        (49, 0.02),
        (80, 0.02),
    ],
)
def test_values(step, expected):
    schedule = WarmupCosine(OptimConfig(lr=0.2, warmup_steps=10, final_ratio=0.1), 50)
    assert float(schedule(Tensor(step, int32))) == pytest.approx(expected, rel=1e-5)


def test_no_warm_up_and_one_step():
    schedule = WarmupCosine(OptimConfig(lr=0.2, warmup_steps=0, final_ratio=0.5), 1)
    assert float(schedule(Tensor(0, int32))) == pytest.approx(0.2)


def test_the_value_is_that_of_the_cell():
    schedule = WarmupCosine(OptimConfig(lr=0.01, warmup_steps=10, final_ratio=0.1), 100)
    for update in (0, 5, 9, 10, 50, 99, 150):
        cell = float(schedule(Tensor(update, int32)).asnumpy())
        assert schedule.value(update) == pytest.approx(cell, rel=1e-5)
