# SPDX-License-Identifier: Apache-2.0
"""The bench's compositions are the losses that they stand for, and its sections run."""

import numpy as np
import pytest
from modes import run_gradient

from mindspore_rnnt.bench.compositions import composed_distillation, composed_tdt
from mindspore_rnnt.bench.config import BenchConfig
from mindspore_rnnt.bench.problems import uniform
from mindspore_rnnt.bench.run import run
from mindspore_rnnt.reference import rnnt_distillation_loss_reference, tdt_loss_reference

PROBLEM = uniform(2, 7, 3, 6)
BATCH = PROBLEM.targets, PROBLEM.logit_lengths, PROBLEM.target_lengths


def more_logits(V):
    return np.random.default_rng(1).standard_normal((PROBLEM.rows, V), np.float32)


@pytest.mark.parametrize("durations", [(0, 1, 2, 3, 4), (1, 2), (2, 0, 1)])
def test_tdt(durations):
    inputs = PROBLEM.packed(), more_logits(len(durations)), *BATCH
    loss, _, *gradients = run_gradient(composed_tdt(durations), inputs, (0, 1))
    right_loss, *expected = tdt_loss_reference(*inputs, durations, reduction="sum")
    assert abs(loss / right_loss - 1) <= 1e-5
    for gradient, right in zip(gradients, expected):
        assert np.abs(gradient - right).max() <= 1e-4


def test_distillation():
    inputs = PROBLEM.packed(), more_logits(6), *BATCH
    loss, _, gradient = run_gradient(composed_distillation, inputs, (0,))
    losses, expected = rnnt_distillation_loss_reference(*inputs)
    assert abs(loss / losses.sum() - 1) <= 1e-5 and np.abs(gradient - expected).max() <= 1e-4


def test_sections(tmp_path, capsys):
    config = BenchConfig(peers=[], sizes=[], modes=["pynative"], seconds=0.01)
    config.family, config.compositions = [[1, 5, 2, 8]], [[2, 5, 2, 8]]
    config.pruned = [[1, 6, 3, 9]]
    config.check()
    run(config, tmp_path)
    text = (tmp_path / "results.md").read_text()
    for part in ("x evaluation |", "x two-op + evaluation |", "x TDT |", "x PrunedRNNTLoss |"):
        assert part in text
    assert "| JoinerRNNTLoss | pynative |" in text
