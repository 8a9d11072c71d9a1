# SPDX-License-Identifier: Apache-2.0
"""JoinerRNNTLoss against float64 NumPy and against PackedJoiner + RNNTLoss, which it replaces."""

import copy
import math

import mindspore as ms
import numpy as np
import pytest
from joiner_calls import (
    DE,
    DP,
    Plain,
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

from mindspore_rnnt import JoinerRNNTLoss, PackedJoiner, native, packed_indices

J = 8
LENGTHS = [(6, 3), (4, 2), (3, 4)]  # 51 rows
ROWS = 51
WEIGHTS = [1.0, -3.0, 0.5]
MODES = ("pynative", "jit", "graph", "graph_dynamic")


def budget(rows, V):
    """Bytes for this many rows in flight."""
    return 4 * (2 * V + 8 * J) * rows


def joiner_of(V, activation="tanh", seed=0):
    ms.set_seed(seed)
    return PackedJoiner(DE, DP, J, V, activation)


@pytest.mark.parametrize(
    "V, rows", [(2, 1), (300, 7), (11, 20), (2, ROWS - 1), (300, ROWS), (11, 2 * ROWS)]
)
def test_equals_float64_whatever_the_chunks(V, rows):
    """A row a chunk, less than a sample, across samples, an overlap of one row, one chunk."""
    joiner, batch = joiner_of(V, "relu"), joiner_batch(LENGTHS, V)
    loss_fn = JoinerRNNTLoss(joiner, budget(rows, V), blank=0, reduction="none")
    assert loss_fn.phases.chunk_rows == rows
    expected = reference(joiner, batch, WEIGHTS, blank=0)
    errors = relative_errors(gradients(loss_fn, batch, weights=WEIGHTS), expected)
    assert max(errors) <= TOLERANCE["joiner_float64"]


@pytest.mark.parametrize("mode", MODES)
def test_equals_float64_in_every_mode(mode):
    joiner, batch = joiner_of(11, "relu"), joiner_batch(LENGTHS, 11)
    options = {"blank": 3, "clamp": 0.05, "fastemit_lambda": 0.2}
    loss_fn = JoinerRNNTLoss(joiner, budget(20, 11), **options, reduction="none")
    expected = reference(joiner, batch, WEIGHTS, **options)
    errors = relative_errors(gradients(loss_fn, batch, mode, WEIGHTS), expected)
    assert max(errors) <= TOLERANCE["joiner_float64"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"blank": 0, "reduction": "sum"},
        {"blank": -4, "reduction": "mean", "clamp": 0.02},
        {"fastemit_lambda": 0.3, "reduction": "none"},
        {"fused_log_softmax": False, "zero_infinity": True, "reduction": "none"},
    ],
    ids=str,
)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_equals_the_unchunked_path(activation, options):
    joiner, batch = joiner_of(64, activation), joiner_batch(LENGTHS, 64)
    loss_fn = JoinerRNNTLoss(joiner, budget(20, 64), **options)
    expected = gradients(Plain(joiner, **options), batch)
    assert max(relative_errors(gradients(loss_fn, batch), expected)) <= TOLERANCE["joiner"]


def test_one_graph_serves_all_batches():
    joiner = joiner_of(11, "relu")
    loss_fn = JoinerRNNTLoss(joiner, budget(20, 11), blank=0, reduction="sum")
    compiles = []

    @ms.constexpr(check=False)
    def count_compiles():
        compiles.append(1)

    class Step(nn.Cell):
        def __init__(self):
            super().__init__()
            parameters = ms.ParameterTuple(loss_fn.trainable_params())
            self.value_and_grad = ms.value_and_grad(loss_fn, (0, 1), parameters)

        def construct(self, a, b, c, d, e, f, g):
            count_compiles()
            return self.value_and_grad(a, b, c, d, e, f, g)

    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        step = Step()
        for lengths in (LENGTHS, [(1, 0)], [(2, 1), (7, 5)], [(3, 1)] * 5):
            batch = joiner_batch(lengths, 11, seed=len(lengths))
            inputs = [Tensor(x) for x in batch]
            if not compiles:
                set_dynamic(step, inputs)
            expected = reference(joiner, batch, np.ones(len(lengths)), blank=0)
            errors = relative_errors(flat(step(*inputs)), expected)
            assert max(errors) <= TOLERANCE["joiner_float64"]
        assert len(compiles) == 1
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def certain_batch(logit):
    """A joiner and two samples of T = 2 and U = 1, with blank 0. In the first, the blank has this
    logit at (0, 0) and label 1 has 60; everywhere else one of them is certain, so that its two
    paths exclude each other and have probability 1 together. In the second, every blank is certain,
    and it is the label: two paths of probability 1 each."""
    joiner = PackedJoiner(DE, DP, 3, 3, "relu")
    weights = [np.zeros(p.shape, np.float32) for p in joiner.trainable_params()]
    encoder, _, predictor, output, _ = weights
    encoder[[0, 1, 2], [0, 1, 2]] = 1
    predictor[:, 1] = -9, -9, 1  # after a label, only the third unit is on
    output[0], output[1] = (logit, 0, 60), (60, 60, 0)
    for parameter, weight in zip(joiner.trainable_params(), weights):
        parameter.set_data(Tensor(weight))
    encoder_out, predictor_out = np.zeros((2, 2, DE), np.float32), np.zeros((2, 2, DP), np.float32)
    encoder_out[0, [0, 1], [0, 1]] = encoder_out[1, :, 2] = 1
    predictor_out[:, [0, 1], [0, 1]] = 1
    T, U = np.array([2, 2], np.int32), np.array([1, 1], np.int32)
    targets = np.array([[1], [0]], np.int32)
    return joiner, (encoder_out, predictor_out, targets, T, U, *packed_indices(T, U))


# Of these certain logits some give a loss of about -3e-8 without the bound, at each SIMD level.
CERTAIN_LOGITS = (60.3, 61.0, 61.2, 61.5, 62.7, 63.0, 66.0)


@pytest.mark.parametrize("logit", CERTAIN_LOGITS)
def test_rounding_gives_no_loss_below_zero(logit):
    joiner, batch = certain_batch(logit)
    loss = JoinerRNNTLoss(joiner, blank=0, reduction="none")(*map(Tensor, batch)).asnumpy()
    assert 0 <= loss[0] <= TOLERANCE["loss_absolute"]
    assert abs(loss[1] + math.log(2)) <= TOLERANCE["loss_absolute"]


@pytest.mark.parametrize("mode, blank", [("pynative", 0), *((mode, -3) for mode in MODES)])
def test_no_loss_below_zero_unless_the_blank_is_a_label(mode, blank):
    joiner, batch = certain_batch(61.5)
    loss_fn = JoinerRNNTLoss(joiner, blank=blank, reduction="none", fastemit_lambda=0.5)
    loss, _ = gradients(loss_fn, batch, mode, [1, 0])[:2]
    assert 0 <= loss <= TOLERANCE["loss_absolute"]
    loss = loss_fn(*map(Tensor, batch)).asnumpy()
    assert 0 <= loss[0] <= TOLERANCE["loss_absolute"]
    assert abs(loss[1] + math.log(2)) <= TOLERANCE["loss_absolute"]
    # The bound stops no gradient: FastEmit has one also where the loss is at its least.
    got = gradients(loss_fn, batch, mode, [1, 1])
    expected = reference(joiner, batch, [1, 1], blank=0, fastemit_lambda=0.5)
    # Weights of 60 multiply the rounding of the logits' gradients.
    largest = np.abs(expected[1][0, 0]).max()
    assert largest > 0.1
    limit = 60 * TOLERANCE["gradient"]["float32"] / largest
    assert max(relative_errors(got, expected)) <= limit


def test_a_loss_below_zero_of_given_log_probabilities():
    """They may be no probabilities at all: (1, 1) has one path, of 60 + 60."""
    joiner, batch = certain_batch(60.0)
    loss_fn = JoinerRNNTLoss(joiner, blank=0, reduction="none", fused_log_softmax=False)
    assert (loss_fn(*map(Tensor, batch)).asnumpy() < -100).all()


def test_no_labels_and_int64():
    joiner, batch = joiner_of(5, "relu"), joiner_batch([(3, 0), (1, 0)], 5, extra=0)
    batch = (*batch[:2], *(x.astype(np.int64) for x in batch[2:]))
    loss_fn = JoinerRNNTLoss(joiner, blank=0, reduction="none")
    errors = relative_errors(gradients(loss_fn, batch), reference(joiner, batch, [1, 1], blank=0))
    assert max(errors) <= TOLERANCE["joiner_float64"]


def test_the_same_bits_in_each_run_and_for_any_number_of_threads():
    joiner, batch = joiner_of(300), joiner_batch(LENGTHS, 300)
    loss_fn = JoinerRNNTLoss(joiner, budget(20, 300), reduction="none")
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
    joiner, batch = joiner_of(11), joiner_batch(LENGTHS, 11)  # MindSpore's relu makes NaN 0
    loss_fn = JoinerRNNTLoss(joiner, budget(7, 11), reduction="none")
    clean = gradients(loss_fn, batch, mode)
    batch[0][1, 2, 0] = np.nan
    _, encoder_out, predictor_out, *_ = gradients(loss_fn, batch, mode)
    for gradient, expected in ((encoder_out, clean[1]), (predictor_out, clean[2])):
        assert np.isnan(gradient[1]).any()
        for b in (0, 2):
            error = np.abs(gradient[b] - expected[b]).max()
            print(f"sample {b}: max error {error:.3g}")
            assert error <= TOLERANCE["joiner_float64"]


@pytest.mark.parametrize(
    "mode, label", [("pynative", -1), ("pynative", 11), ("pynative", 99999), ("graph", -1)]
)
def test_an_unchecked_bad_label_costs_its_sample_only(mode, label):
    """Loss NaN, gradient 0: no parameter is spoilt."""
    joiner, batch = joiner_of(11, "relu"), joiner_batch(LENGTHS, 11)
    loss_fn = JoinerRNNTLoss(joiner, budget(20, 11), reduction="none", validate=False)
    expected = gradients(loss_fn, batch, mode, [1, 0, 1])
    batch[2][1, 0] = label
    losses = loss_fn(*(Tensor(x) for x in batch)).asnumpy()
    assert np.array_equal(np.isnan(losses), [False, True, False])
    loss, *rest = gradients(loss_fn, batch, mode, [1, 1, 1])
    assert np.isnan(loss) and max(relative_errors([0, *rest], [0, *expected[1:]])) <= 1e-6


@pytest.mark.parametrize("place, value", [(5, 10**6), (6, -3), (3, 0), (4, 9)])
def test_unchecked_bad_rows_and_lengths_are_harmless(place, value):
    joiner, batch = joiner_of(11), joiner_batch(LENGTHS, 11)
    batch[place][1] = value
    loss_fn = JoinerRNNTLoss(joiner, budget(20, 11), reduction="none", validate=False)
    assert np.isnan(loss_fn(*(Tensor(x) for x in batch)).asnumpy()).all()
    _, *rest = gradients(loss_fn, batch)
    assert all(not x.any() for x in rest)


@pytest.mark.parametrize("mode, level", [("pynative", "O2"), ("pynative", "O3"), ("graph", "O2")])
def test_mixed_precision(mode, level):
    """A blank that float16 does not hold, and a loss that float16 would round."""
    joiner, batch = joiner_of(2100), joiner_batch(LENGTHS, 2100)
    loss_fn = JoinerRNNTLoss(joiner, budget(20, 2100), blank=2051, reduction="sum")
    expected = gradients(loss_fn, batch)
    half = amp.auto_mixed_precision(copy.deepcopy(loss_fn), level, ms.float16)
    errors = relative_errors(gradients(half, batch, mode), expected)
    assert errors[0] <= 1e-4 and max(errors) <= 5e-3


@pytest.mark.parametrize("mode", ["pynative", "graph", "graph_dynamic"])
def test_peak_memory(mode):
    assert peak_in_logits("chunked", mode) <= TOLERANCE["joiner_peak_memory"]


def refused(error, match, **changes):
    """JoinerRNNTLoss on a good batch but for `changes` of inputs or options raises `error`, in its
    own name."""
    names = ("encoder_out", "predictor_out", "targets", "logit_lengths", "target_lengths")
    names += ("frame_rows", "step_rows")
    inputs = dict(zip(names, joiner_batch(LENGTHS, 11)))
    inputs |= {n: x for n, x in changes.items() if n in names}
    options = {"joiner": joiner_of(11)} | {n: x for n, x in changes.items() if n not in names}
    with pytest.raises(error, match=f"^For 'JoinerRNNTLoss', the {match}"):
        JoinerRNNTLoss(**options)(*(Tensor(x) for x in inputs.values()))


@pytest.mark.parametrize(
    "budget, bytes_",
    [(10**9, 10**9), ("1GB", 10**9), ("1.5 MiB", 1.5 * 2**20), ("64kB", 64000), ("2GiB", 2**31)],
)
def test_memory_budget(budget, bytes_):
    chunk_rows = JoinerRNNTLoss(joiner_of(11), budget).phases.chunk_rows
    assert chunk_rows == bytes_ // (4 * (2 * 11 + 8 * J))


@pytest.mark.parametrize("budget", ["256", "MB", "-1MB", "1mb", "1 TB", "", "1e3MB"])
def test_unknown_memory_budget(budget):
    refused(ValueError, "'memory_budget' must be a number followed by one of", memory_budget=budget)


_LENGTH = r"'{}' must be in \[{}, {}\], as the shape of '{}' allows, but got {} in sample 1"


def _lengths(first, second):
    return {"logit_lengths": np.array([first, second, 3], np.int32)}


def test_refusals():
    wrong = joiner_batch(LENGTHS, 11)
    needed = "'joiner' must be a Cell with Dense encoder_proj.* but got Dense without encoder_proj"
    refused(TypeError, needed, joiner=nn.Dense(2, 2))
    refused(TypeError, "'memory_budget' must be a str or an int, but got float", memory_budget=1e9)
    refused(ValueError, "'memory_budget' must be at least 344 bytes.* got 343", memory_budget=343)
    refused(ValueError, r"'blank' must be in \[-11, 11\).* got 11", blank=11)
    refused(ValueError, "'reduction' must be one of", reduction="max")
    refused(TypeError, "'encoder_out' must be a Tensor of one of", encoder_out=wrong[2])
    refused(TypeError, "'targets' must be a Tensor of one of", targets=wrong[1])
    refused(
        ValueError,
        r"'targets' must be of shape \(B, max_U\) with max_U = 5",
        targets=wrong[2][:, 1:],
    )
    refused(ValueError, r"'predictor_out' .* with B = 3", predictor_out=wrong[1][1:])
    refused(ValueError, r"'encoder_out' .* with De = 6", encoder_out=wrong[0][..., 1:])
    refused(ValueError, r"'frame_rows' must be of shape \(N\)", frame_rows=wrong[5][None])
    refused(ValueError, "'step_rows' must be what .* 51 rows", step_rows=wrong[6] + 1)
    refused(ValueError, _LENGTH.format("logit_lengths", 1, 7, "encoder_out", 99), **_lengths(6, 99))
    refused(ValueError, _LENGTH.format("logit_lengths", 1, 7, "encoder_out", 0), **_lengths(6, 0))
    refused(
        ValueError,
        _LENGTH.format("target_lengths", 0, 5, "targets", 6),
        target_lengths=np.array([3, 6, 4], np.int32),
    )
    labels = wrong[2].copy()
    labels[2, 3] = 11
    refused(
        ValueError,
        r"'targets' must be in \[0, 11\), as the joiner has 11 classes, "
        "but got 11 at position 3 of sample 2",
        targets=labels,
    )
    refused(TypeError, "'clamp' must be a float, but got str", clamp="1")
    refused(TypeError, "'zero_infinity' must be a bool, but got int", zero_infinity=1)
    refused(TypeError, "'validate' must be a bool, but got int", validate=1)


def test_double_backward_is_an_error_and_leaves_the_next_call_right():
    loss_fn = JoinerRNNTLoss(joiner_of(11), budget(20, 11))
    inputs = [Tensor(x) for x in joiner_batch(LENGTHS, 11)]

    def once(a, b, c, d, e, f, g):
        return ms.grad(loss_fn)(a, b, c, d, e, f, g)

    def squared(a, b, c, d, e, f, g):
        return (once(a, b, c, d, e, f, g) ** 2).sum()

    def twice(a, b, c, d, e, f, g):
        return ms.grad(squared)(a, b, c, d, e, f, g)

    expected = once(*inputs).asnumpy()
    for second in (twice, ms.jit(twice)):
        with pytest.raises(RuntimeError, match="JoinerRNNTLoss does not support double backward"):
            second(*inputs).asnumpy()
        for first in (once, ms.jit(once)):
            error = np.abs(first(*inputs).asnumpy() - expected).max()
            print(f"max error {error:.3g}")
            assert error <= 1e-6


@pytest.mark.parametrize("capture_mode", ["ast", "bytecode"])
def test_gradient_in_pynative_of_a_compiled_function(capture_mode):
    """MindSpore compiles the graph's gradient while it records the call: no double backward."""
    joiner, batch = joiner_of(11, "relu"), joiner_batch(LENGTHS, 11)
    loss_fn = JoinerRNNTLoss(joiner, budget(20, 11), reduction="sum")

    def call(a, b, c, d, e, f, g):
        return loss_fn(a, b, c, d, e, f, g)

    compiled = ms.jit(call, capture_mode=capture_mode)
    step = ms.value_and_grad(compiled, (0, 1), joiner.trainable_params())
    got = flat(step(*map(Tensor, batch)))
    errors = relative_errors(got, reference(joiner, batch, np.ones(len(LENGTHS))))
    assert max(errors) <= TOLERANCE["joiner"]
