# SPDX-License-Identifier: Apache-2.0
"""What the losses with a joiner share: one graph for all batches, the same bits, bad values, mixed
precision, memory, double backward."""

import copy

import mindspore as ms
import numpy as np
import pytest
from joiner_calls import LENGTHS, PRUNED, RNNT, TDT, joiner_batch, peak_in_logits
from mindspore import Tensor, amp
from modes import NEEDS_BYTECODE, flat, gradients, one_graph, refuse_double_backward, step_of
from oracles import relative_errors
from tolerances import TOLERANCE

from mindspore_rnnt import native

both = pytest.mark.parametrize("kind", [RNNT, TDT], ids=str)
all_three = pytest.mark.parametrize("kind", [RNNT, TDT, PRUNED], ids=str)


@both
def test_one_graph_serves_all_batches(kind):
    joiner = kind.joiner(11)
    step = step_of(kind(joiner, 11, blank=0, reduction="sum"))
    with one_graph(step, joiner_batch(LENGTHS, 11)) as compiled:
        for lengths in (LENGTHS, [(1, 0)], [(2, 1), (7, 5)], [(3, 1)] * 5):
            batch = joiner_batch(lengths, 11, seed=len(lengths))
            got = flat(compiled(*map(Tensor, batch)))
            errors = relative_errors(got, kind.reference(joiner, batch, blank=0))
            assert max(errors) <= TOLERANCE["joiner_float64"]


@all_three
def test_the_same_bits_in_each_run_and_for_any_number_of_threads(kind):
    batch = kind.batch(LENGTHS, 300)
    loss_fn = kind(kind.joiner(300), 300, reduction="none")
    results = []
    try:
        for threads in (0, 1, 2, 1):
            native.set_num_threads(threads)
            results.append(gradients(loss_fn, batch))
    finally:
        native.set_num_threads(0)
    results.append(gradients(copy.deepcopy(loss_fn), batch))
    for result in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(result, results[0]))


@both
@pytest.mark.parametrize("mode", ["pynative", "graph"])
def test_nan_stays_in_its_sample(kind, mode):
    batch = joiner_batch(LENGTHS, 11)
    joiner = kind.joiner(11, "tanh")  # MindSpore's relu makes NaN 0
    loss_fn = kind(joiner, 11, rows=7, reduction="none")
    clean = gradients(loss_fn, batch, mode)
    batch[0][1, 2, 0] = np.nan
    _, encoder_out, predictor_out, *_ = gradients(loss_fn, batch, mode)
    for gradient, expected in ((encoder_out, clean[1]), (predictor_out, clean[2])):
        assert np.isnan(gradient[1]).any()
        for b in (0, 2):
            error = np.abs(gradient[b] - expected[b]).max()
            print(f"sample {b}: max error {error:.3g}")
            assert error <= TOLERANCE["joiner_float64"]


@all_three
@pytest.mark.parametrize(
    "mode, label", [("pynative", -1), ("pynative", 11), ("pynative", 99999), ("graph", -1)]
)
def test_an_unchecked_bad_label_costs_its_sample_only(kind, mode, label):
    """Loss NaN, gradient 0: no parameter is spoilt."""
    batch = kind.batch(LENGTHS, 11)
    loss_fn = kind(kind.joiner(11), 11, reduction="none", validate=False)
    expected = gradients(loss_fn, batch, mode, [1, 0, 1])
    batch[2][1, 0] = label
    losses = loss_fn(*(Tensor(x) for x in batch)).asnumpy()
    assert np.array_equal(np.isnan(losses), [False, True, False])
    loss, *rest = gradients(loss_fn, batch, mode, [1, 1, 1])
    assert np.isnan(loss) and max(relative_errors([0, *rest], [0, *expected[1:]])) <= 1e-6


@both
@pytest.mark.parametrize("place, value", [(5, 10**6), (6, -3), (3, 0), (4, 9)])
def test_unchecked_bad_rows_and_lengths_are_harmless(kind, place, value):
    batch = joiner_batch(LENGTHS, 11)
    batch[place][1] = value
    loss_fn = kind(kind.joiner(11, "tanh"), 11, reduction="none", validate=False)
    assert np.isnan(loss_fn(*(Tensor(x) for x in batch)).asnumpy()).all()
    _, *rest = gradients(loss_fn, batch)
    assert all(not x.any() for x in rest)


@all_three
@pytest.mark.parametrize("mode, level", [("pynative", "O2"), ("pynative", "O3"), ("graph", "O2")])
def test_mixed_precision(kind, mode, level):
    """A blank that float16 does not hold, and a loss that float16 would round."""
    batch = kind.batch(LENGTHS, 2100)
    options = {"sigma": 0.05} if kind is TDT else {}
    loss_fn = kind(kind.joiner(2100, "tanh"), 2100, blank=2051, reduction="sum", **options)
    expected = gradients(loss_fn, batch)
    half = amp.auto_mixed_precision(copy.deepcopy(loss_fn), level, ms.float16)
    errors = relative_errors(gradients(half, batch, mode), expected)
    assert errors[0] <= 1e-4 and max(errors) <= 5e-3


@pytest.mark.parametrize(
    "kind, mode",
    [(RNNT, "pynative"), (RNNT, "graph"), (TDT, "pynative"), (TDT, "graph_dynamic")],
    ids=str,
)
def test_peak_memory(kind, mode):
    assert peak_in_logits(kind.form, mode) <= TOLERANCE["joiner_peak_memory"]


@all_three
def test_double_backward_is_an_error_and_leaves_the_next_call_right(kind):
    loss_fn = kind(kind.joiner(11, "tanh"), 11)
    refuse_double_backward(loss_fn, kind.batch(LENGTHS, 11), kind.loss.__name__)


@both
@pytest.mark.parametrize("capture_mode", ["ast", pytest.param("bytecode", marks=NEEDS_BYTECODE)])
def test_gradient_in_pynative_of_a_compiled_function(kind, capture_mode):
    """MindSpore compiles the graph's gradient while it records the call: no double backward."""
    joiner, batch = kind.joiner(11), joiner_batch(LENGTHS, 11)
    loss_fn = kind(joiner, 11, reduction="sum")

    def call(a, b, c, d, e, f, g):
        return loss_fn(a, b, c, d, e, f, g)

    compiled = ms.jit(call, capture_mode=capture_mode)
    step = ms.value_and_grad(compiled, (0, 1), joiner.trainable_params())
    errors = relative_errors(flat(step(*map(Tensor, batch))), kind.reference(joiner, batch))
    assert max(errors) <= TOLERANCE["joiner"]
