# SPDX-License-Identifier: Apache-2.0
"""JoinerTDTLoss against float64 NumPy and against a joiner + tdt_loss, which it replaces."""

import copy

import mindspore as ms
import numpy as np
import pytest
from joiner_calls import (
    DE,
    DP,
    PlainTDT,
    flat,
    gradients,
    joiner_batch,
    peak_in_logits,
    reference,
    relative_errors,
    set_dynamic,
)
from mindspore import Tensor, amp, nn
from tolerances import TOLERANCE

from mindspore_rnnt import JoinerTDTLoss, PackedJoiner, native

J = 8
LENGTHS = [(6, 3), (4, 2), (3, 4)]  # 51 rows
WEIGHTS = [1.0, -3.0, 0.5]
DURATIONS = (0, 1, 2)
MODES = ("pynative", "jit", "graph", "graph_dynamic")


def budget(rows, entries):
    """Bytes for this many rows in flight; entries are classes and durations."""
    return 4 * (2 * entries + 8 * J) * rows


def joiner_of(V, durations=DURATIONS, activation="relu"):
    ms.set_seed(0)
    return PackedJoiner(DE, DP, J, V, activation, len(durations))


class OneOutput(nn.Cell):
    """A joiner whose output holds both heads, the durations last."""

    def __init__(self, entries):
        super().__init__()
        ms.set_seed(0)
        self.encoder_proj = nn.Dense(DE, J)
        self.predictor_proj = nn.Dense(DP, J, has_bias=False)
        self.activation = nn.ReLU()
        self.output = nn.Dense(J, entries)


@pytest.mark.parametrize(
    "V, rows, durations",
    [
        (2, 1, (1, 0)),
        (300, 7, (0, 1, 2, 3, 4)),
        (11, 53, (0, 1, 2)),
        (11, 20, (2, 1)),
        (9, 99, (1, 2)),
    ],
    ids=str,
)
def test_equals_float64_whatever_the_chunks(V, rows, durations):
    """A row a chunk, less than a sample with an overlap, across samples, one chunk."""
    joiner, batch = joiner_of(V, durations), joiner_batch([*LENGTHS[:2], (6, 2)], V)
    memory_budget = budget(rows, V + len(durations))
    options = {"blank": 0, "reduction": "none", "sigma": 0.05}
    loss_fn = JoinerTDTLoss(joiner, durations, memory_budget, **options)
    assert loss_fn.phases.chunk_rows == rows
    expected = reference(joiner, batch, WEIGHTS, durations, **options)
    errors = relative_errors(gradients(loss_fn, batch, weights=WEIGHTS), expected)
    assert max(errors) <= TOLERANCE["joiner_float64"]


@pytest.mark.parametrize("two_outputs", [True, False], ids=["two outputs", "one output"])
@pytest.mark.parametrize("mode", MODES)
def test_equals_float64_in_every_mode(mode, two_outputs):
    joiner, batch = joiner_of(11) if two_outputs else OneOutput(14), joiner_batch(LENGTHS, 11)
    options = {"blank": 3, "clamp": 0.05, "fastemit_lambda": 0.2, "sigma": 0.1}
    options |= {"reduction": "none"}
    loss_fn = JoinerTDTLoss(joiner, DURATIONS, budget(20, 14), **options)
    expected = reference(joiner, batch, WEIGHTS, DURATIONS, **options)
    errors = relative_errors(gradients(loss_fn, batch, mode, WEIGHTS), expected)
    assert max(errors) <= TOLERANCE["joiner_float64"]


@pytest.mark.parametrize(
    "options",
    [
        {"blank": 0, "reduction": "sum", "sigma": 0.05},
        {"blank": -4, "reduction": "mean", "clamp": 0.02},
        {"fastemit_lambda": 0.3, "zero_infinity": True, "reduction": "none"},
    ],
    ids=str,
)
def test_equals_the_unchunked_path(options):
    joiner, batch = joiner_of(64, activation="tanh"), joiner_batch(LENGTHS, 64)
    loss_fn = JoinerTDTLoss(joiner, DURATIONS, budget(20, 67), **options)
    expected = gradients(PlainTDT(joiner, DURATIONS, **options), batch)
    assert max(relative_errors(gradients(loss_fn, batch), expected)) <= TOLERANCE["joiner"]


def test_biases_are_optional():
    """Of either output layer. What is missing counts as 0."""
    joiner, batch = joiner_of(11), joiner_batch(LENGTHS, 11)
    expected = gradients(PlainTDT(joiner, DURATIONS, reduction="sum"), batch)
    for name, left_out in (("output", 7), ("duration_output", 9)):
        layer = getattr(joiner, name)
        layer.bias.set_data(Tensor(np.zeros(layer.bias.shape, np.float32)))
        whole = gradients(PlainTDT(joiner, DURATIONS, reduction="sum"), batch)
        without = copy.deepcopy(joiner)
        smaller = nn.Dense(J, layer.out_channels, has_bias=False)
        smaller.weight.set_data(layer.weight)
        setattr(without, name, smaller)
        got = gradients(JoinerTDTLoss(without, DURATIONS, reduction="sum"), batch)
        del whole[left_out]
        assert max(relative_errors(got, whole)) <= TOLERANCE["joiner"]
    assert not np.allclose(expected[0], whole[0])


def test_one_graph_serves_all_batches():
    joiner = joiner_of(11)
    loss_fn = JoinerTDTLoss(joiner, DURATIONS, budget(20, 14), blank=0, reduction="sum")
    parameters = ms.ParameterTuple(loss_fn.trainable_params())

    class Step(nn.Cell):
        def __init__(self):
            super().__init__()
            self.value_and_grad = ms.value_and_grad(loss_fn, (0, 1), parameters)

        def construct(self, a, b, c, d, e, f, g):
            return self.value_and_grad(a, b, c, d, e, f, g)

    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        step = Step()
        for lengths in (LENGTHS, [(1, 0)], [(2, 1), (7, 5)], [(3, 1)] * 5):
            batch = joiner_batch(lengths, 11, seed=len(lengths))
            inputs = [Tensor(x) for x in batch]
            if lengths is LENGTHS:
                set_dynamic(step, inputs)
            options = {"blank": 0, "reduction": "none"}
            expected = reference(joiner, batch, np.ones(len(lengths)), DURATIONS, **options)
            errors = relative_errors(flat(step(*inputs)), expected)
            assert max(errors) <= TOLERANCE["joiner_float64"]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_the_same_bits_in_each_run_and_for_any_number_of_threads():
    joiner, batch = joiner_of(300), joiner_batch(LENGTHS, 300)
    loss_fn = JoinerTDTLoss(joiner, DURATIONS, budget(20, 303), reduction="none")
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


@pytest.mark.parametrize("mode", ["pynative", "graph"])
def test_nan_stays_in_its_sample(mode):
    joiner, batch = joiner_of(11, activation="tanh"), joiner_batch(LENGTHS, 11)
    loss_fn = JoinerTDTLoss(joiner, DURATIONS, budget(7, 14), reduction="none")
    clean = gradients(loss_fn, batch, mode)
    batch[0][1, 2, 0] = np.nan
    _, encoder_out, predictor_out, *_ = gradients(loss_fn, batch, mode)
    for gradient, expected in ((encoder_out, clean[1]), (predictor_out, clean[2])):
        assert np.isnan(gradient[1]).any()
        error = np.abs(gradient[[0, 2]] - expected[[0, 2]]).max()
        print(f"other samples: max error {error:.3g}")
        assert error <= TOLERANCE["joiner_float64"]


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_a_sample_without_a_path(zero_infinity):
    """T = 3 cannot be reached in steps of 2: gradient 0, also in all parameters."""
    joiner, batch = joiner_of(11, (2,)), joiner_batch([(4, 0), (3, 0), (6, 1)], 11)
    options = {"reduction": "none", "zero_infinity": zero_infinity}
    loss_fn = JoinerTDTLoss(joiner, (2,), budget(5, 12), **options)
    losses = loss_fn(*map(Tensor, batch)).asnumpy()
    assert losses[1] == (0 if zero_infinity else np.inf) and np.isfinite(losses[[0, 2]]).all()
    expected = reference(joiner, batch, [1, 0, 1], (2,), reduction="none", zero_infinity=True)
    got = gradients(loss_fn, batch, weights=[1, 1, 1])
    assert max(relative_errors(got[1:], expected[1:])) <= TOLERANCE["joiner_float64"]


@pytest.mark.parametrize("mode, label", [("pynative", 11), ("pynative", 99999), ("graph", -1)])
def test_an_unchecked_bad_label_costs_its_sample_only(mode, label):
    """Loss NaN, gradient 0: no parameter is spoilt."""
    joiner, batch = joiner_of(11), joiner_batch(LENGTHS, 11)
    options = {"reduction": "none", "validate": False}
    loss_fn = JoinerTDTLoss(joiner, DURATIONS, budget(20, 14), **options)
    expected = gradients(loss_fn, batch, mode, [1, 0, 1])
    batch[2][1, 0] = label
    losses = loss_fn(*(Tensor(x) for x in batch)).asnumpy()
    assert np.array_equal(np.isnan(losses), [False, True, False])
    loss, *rest = gradients(loss_fn, batch, mode, [1, 1, 1])
    assert np.isnan(loss) and max(relative_errors([0, *rest], [0, *expected[1:]])) <= 1e-6


@pytest.mark.parametrize("place, value", [(5, 10**6), (6, -3), (3, 0), (4, 9)])
def test_unchecked_bad_rows_and_lengths_are_harmless(place, value):
    batch = joiner_batch(LENGTHS, 11)
    batch[place][1] = value
    options = {"reduction": "none", "validate": False}
    loss_fn = JoinerTDTLoss(joiner_of(11), DURATIONS, budget(20, 14), **options)
    assert np.isnan(loss_fn(*(Tensor(x) for x in batch)).asnumpy()).all()
    _, *rest = gradients(loss_fn, batch)
    assert all(not x.any() for x in rest)


@pytest.mark.parametrize("mode, level", [("pynative", "O2"), ("pynative", "O3"), ("graph", "O2")])
def test_mixed_precision(mode, level):
    """A blank that float16 does not hold, and a loss that float16 would round."""
    joiner, batch = joiner_of(2100), joiner_batch(LENGTHS, 2100)
    options = {"blank": 2051, "reduction": "sum", "sigma": 0.05}
    loss_fn = JoinerTDTLoss(joiner, DURATIONS, budget(20, 2103), **options)
    expected = gradients(loss_fn, batch)
    half = amp.auto_mixed_precision(copy.deepcopy(loss_fn), level, ms.float16)
    errors = relative_errors(gradients(half, batch, mode), expected)
    assert errors[0] <= 1e-4 and max(errors) <= 5e-3


@pytest.mark.parametrize("mode", ["pynative", "graph_dynamic"])
def test_peak_memory(mode):
    assert peak_in_logits("chunked_tdt", mode) <= TOLERANCE["joiner_peak_memory"]


def refused(error, message, **changes):
    """A good call but for `changes` raises `error`, in the name of the class."""
    names = ("encoder_out", "predictor_out", "targets", "logit_lengths", "target_lengths")
    names += ("frame_rows", "step_rows")
    inputs = dict(zip(names, joiner_batch(LENGTHS, 11)))
    inputs |= {n: x for n, x in changes.items() if n in names}
    options = {"joiner": joiner_of(11), "durations": DURATIONS}
    options |= {n: x for n, x in changes.items() if n not in names}
    with pytest.raises(error, match=f"^For 'JoinerTDTLoss', the {message}"):
        JoinerTDTLoss(**options)(*(Tensor(x) for x in inputs.values()))


def test_refusals():
    durations = "'joiner' must be with 3 durations, as many as 'durations' has, but got one with"
    refused(ValueError, f"{durations} 2", joiner=joiner_of(11, (0, 1)))
    refused(ValueError, f"{durations} 0", joiner=joiner_of(11, ()))
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


def test_double_backward_is_an_error_and_leaves_the_next_call_right():
    loss_fn = JoinerTDTLoss(joiner_of(11), DURATIONS, budget(20, 14))
    inputs = [Tensor(x) for x in joiner_batch(LENGTHS, 11)]

    def once(a, b, c, d, e, f, g):
        return ms.grad(loss_fn)(a, b, c, d, e, f, g)

    def squared(a, b, c, d, e, f, g):
        return (once(a, b, c, d, e, f, g) ** 2).sum()

    def twice(a, b, c, d, e, f, g):
        return ms.grad(squared)(a, b, c, d, e, f, g)

    expected = once(*inputs).asnumpy()
    for second in (twice, ms.jit(twice)):
        with pytest.raises(RuntimeError, match="JoinerTDTLoss does not support double backward"):
            second(*inputs).asnumpy()
        for first in (once, ms.jit(once)):
            assert np.abs(first(*inputs).asnumpy() - expected).max() <= 1e-6
