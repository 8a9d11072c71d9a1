# SPDX-License-Identifier: Apache-2.0
"""Peak memory beside the logits, S, measured by the bench in a child process."""

import pytest
from tolerances import TOLERANCE

from mindspore_rnnt.bench.contenders import FORMS
from mindspore_rnnt.bench.memory import peak_bytes
from mindspore_rnnt.bench.problems import uniform

CASES = [(form, mode) for form in FORMS for mode in ("pynative", "jit")]


@pytest.mark.parametrize("form, mode", [*CASES, ("fused", "graph")])
def test_peak(form, mode):
    problem = uniform(4, 200, 60, 1100)
    assert problem.bytes > 200e6
    peak = peak_bytes(problem, form, mode) - 32 * problem.rows
    print(f"{form} {mode}: {peak / problem.bytes:.3f} S")
    assert peak <= TOLERANCE["peak_memory"][form] * problem.bytes


@pytest.mark.parametrize("mode", ["pynative", "jit"])
def test_the_pruned_loss_takes_less_than_that_of_the_whole_joiner(mode):
    problem = uniform(2, 100, 60, 2048)
    pruned, whole = (
        peak_bytes(problem, form, mode) for form in ("PrunedRNNTLoss", "JoinerRNNTLoss")
    )
    print(f"{mode}: {pruned / 1e6:.0f} and {whole / 1e6:.0f} MB")
    assert pruned < whole
