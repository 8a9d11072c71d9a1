# SPDX-License-Identifier: Apache-2.0
"""The losses with compositions in place of the operators that Ascend does not have: in graphs, too,
which reach the operators of a device in another way than a function that is imported."""

import mindspore as ms
import numpy as np
import pytest
from modes import run, run_gradient
from oracles import LAYOUTS, random_batch, report
from simple_oracle import peaked_batch, simple_batch, simple_gradients
from tdt import duration_logits

from mindspore_rnnt import (
    kernels,
    rnnt_align,
    rnnt_distillation_loss,
    rnnt_loss_simple,
    rnnt_posteriors,
    tdt_loss,
)
from mindspore_rnnt.kernels.signatures import SIGNATURES
from mindspore_rnnt.reference import (
    rnnt_align_reference,
    rnnt_distillation_loss_reference,
    rnnt_posteriors_reference,
    tdt_loss_reference,
)

LENGTHS = [(6, 3), (4, 2), (3, 0)]
DURATIONS = (0, 1, 2)
EACH_MODE = pytest.mark.parametrize("mode", ["pynative", "jit", "graph_dynamic"])


@pytest.fixture(autouse=True)
def compositions(monkeypatch):
    """The CPU has the operators of Ascend only."""
    composed = [name for name, s in SIGNATURES.items() if "Ascend" not in s.devices]
    for name in composed:
        monkeypatch.setitem(SIGNATURES, name, SIGNATURES[name]._replace(devices=()))
    monkeypatch.setattr(kernels, "_PREPARED", {})
    kernels.get_ops.cache_clear()
    made = vars(kernels.get_ops()).values()
    assert sum(not isinstance(op, ms.ops.Primitive) for op in made) == len(composed) >= 7
    yield
    kernels.get_ops.cache_clear()


@LAYOUTS
@EACH_MODE
def test_tdt(mode, padded):
    logits, *rest = random_batch(LENGTHS, V=9).layout(padded, 2, 1)
    inputs = [logits, duration_logits(logits.shape[:-1], len(DURATIONS)), *rest]
    options = {"durations": DURATIONS, "sigma": 0.05, "reduction": "none"}
    loss, _, *gradients = run_gradient(tdt_loss, inputs, (0, 1), mode, **options)
    expected = tdt_loss_reference(*inputs, **options)
    assert report("loss", loss / expected[0], np.ones(3)) <= 1e-6
    for got, right in zip(gradients, expected[1:]):
        assert report("gradient", got, right) <= 3e-6


@LAYOUTS
@EACH_MODE
def test_distillation(mode, padded):
    logits, *rest = random_batch(LENGTHS, V=9, blank=0).layout(padded, 1, 1)
    teacher = random_batch(LENGTHS, V=9, seed=1).layout(padded, 1, 1)[0]
    options = {"blank": 0, "temperature": 1.7}
    inputs = logits, teacher, *rest
    got = run_gradient(rnnt_distillation_loss, inputs, (0,), mode, reduction="none", **options)
    loss, gradient = rnnt_distillation_loss_reference(*inputs, **options)
    assert report("loss", got[0] / loss, np.ones(3)) <= 1e-6
    assert report("gradient", got[2], gradient) <= 3e-6


@EACH_MODE
@pytest.mark.parametrize("make", [simple_batch, peaked_batch])
def test_the_simple_joiner(mode, make):
    """Padding that is NaN; cells in which the product underflows."""
    batch, weights = make(), [1.0, -2.0, 0.5]
    options = {"lm_only_scale": 0.25, "blank": 2}
    got = run_gradient(rnnt_loss_simple, batch, (0, 1), mode, weights, reduction="none", **options)
    losses, *gradients = simple_gradients(*batch, weights, **options)
    assert report("loss", got[0] / losses, np.ones(3)) <= 1e-6
    for gradient, right in zip(got[2:], gradients):
        right = np.where(np.isnan(right), 0, right)
        assert report("gradient", gradient, right) <= 1e-5 * max(1, np.abs(right).max())


@LAYOUTS
@EACH_MODE
def test_posteriors(mode, padded):
    inputs = random_batch(LENGTHS, V=9).layout(padded, 2, 1)
    for got, right in zip(run(rnnt_posteriors, inputs, mode), rnnt_posteriors_reference(*inputs)):
        assert report("posteriors", got, right) <= 3e-6


@LAYOUTS
def test_the_best_path_is_found_on_the_host_and_not_in_a_graph(padded):
    inputs = random_batch(LENGTHS, V=9).layout(padded, 2, 1)
    for got, right in zip(run(rnnt_align, inputs), rnnt_align_reference(*inputs)):
        assert report("alignment", got, right) <= 1e-5
    with pytest.raises(RuntimeError, match="a graph cannot be compiled on this device"):
        run(rnnt_align, inputs, "jit")
