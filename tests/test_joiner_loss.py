# SPDX-License-Identifier: Apache-2.0
"""JoinerRNNTLoss and JoinerTDTLoss against float64 NumPy and against a joiner and its loss, which
they replace; what JoinerRNNTLoss refuses."""

import math
from functools import partial

import numpy as np
import pytest
from joiner_calls import (
    DE,
    DP,
    LENGTHS,
    RNNT,
    TDT,
    WEIGHTS,
    J,
    Kind,
    OneOutput,
    Plain,
    joiner_batch,
    joiner_of,
    reference,
)
from joiner_calls import refused as refused_by
from mindspore import Tensor, nn
from modes import MODES, gradients
from oracles import relative_errors
from tolerances import TOLERANCE

from mindspore_rnnt import JoinerRNNTLoss, JoinerTDTLoss, PackedJoiner, packed_indices

refused = partial(refused_by, JoinerRNNTLoss, {"joiner": joiner_of(11)})
WITH_PATHS = [(6, 3), (4, 2), (6, 2)]  # whatever the durations below
ROWS = 24 + 12 + 18


@pytest.mark.parametrize(
    "V, rows, durations",
    [
        *((2, 1, ()), (300, 7, ()), (11, 20, ())),
        *((2, ROWS - 1, ()), (300, ROWS, ()), (11, 2 * ROWS, ())),
        *((2, 1, (1, 0)), (300, 7, (0, 1, 2, 3, 4)), (11, 20, (2, 1))),
        *((11, ROWS - 1, (0, 1, 2)), (9, 2 * ROWS, (1, 2))),
    ],
    ids=str,
)
def test_equals_float64_whatever_the_chunks(V, rows, durations):
    """A row a chunk, less than a sample, across samples, an overlap of one row, one chunk."""
    kind = Kind(JoinerTDTLoss, durations) if durations else RNNT
    joiner, batch = kind.joiner(V), joiner_batch(WITH_PATHS, V)
    options = {"blank": 0, "reduction": "none"} | ({"sigma": 0.05} if durations else {})
    loss_fn = kind(joiner, V, rows, **options)
    assert loss_fn.phases.chunk_rows == rows
    expected = kind.reference(joiner, batch, WEIGHTS, **options)
    errors = relative_errors(gradients(loss_fn, batch, weights=WEIGHTS), expected)
    assert max(errors) <= TOLERANCE["joiner_float64"]


@pytest.mark.parametrize(
    "mode, kind, two_outputs",
    [
        *((mode, RNNT, False) for mode in MODES),
        *((mode, TDT, True) for mode in MODES),
        *((mode, TDT, False) for mode in ("pynative", "graph_dynamic")),
    ],
    ids=str,
)
def test_equals_float64_in_every_mode(mode, kind, two_outputs):
    joiner = OneOutput(14) if kind is TDT and not two_outputs else kind.joiner(11)
    options = {"blank": 3, "clamp": 0.05, "fastemit_lambda": 0.2, "reduction": "none"}
    options |= {"sigma": 0.1} if kind is TDT else {}
    batch = joiner_batch(LENGTHS, 11)
    expected = kind.reference(joiner, batch, WEIGHTS, **options)
    got = gradients(kind(joiner, 11, **options), batch, mode, WEIGHTS)
    assert max(relative_errors(got, expected)) <= TOLERANCE["joiner_float64"]


@pytest.mark.parametrize(
    "kind, activation, options",
    [
        *(
            (RNNT, activation, options)
            for activation in ("tanh", "relu")
            for options in (
                {},
                {"blank": 0, "reduction": "sum"},
                {"blank": -4, "reduction": "mean", "clamp": 0.02},
                {"fastemit_lambda": 0.3, "reduction": "none"},
                {"fused_log_softmax": False, "zero_infinity": True, "reduction": "none"},
            )
        ),
        (TDT, "tanh", {"blank": 0, "reduction": "sum", "sigma": 0.05}),
        (TDT, "tanh", {"blank": -4, "reduction": "mean", "clamp": 0.02}),
        (TDT, "tanh", {"fastemit_lambda": 0.3, "zero_infinity": True, "reduction": "none"}),
    ],
    ids=str,
)
def test_equals_the_unchunked_path(kind, activation, options):
    joiner, batch = kind.joiner(64, activation), joiner_batch(LENGTHS, 64)
    expected = gradients(Plain(joiner, kind.durations, **options), batch)
    got = gradients(kind(joiner, 64, **options), batch)
    assert max(relative_errors(got, expected)) <= TOLERANCE["joiner"]


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


@pytest.mark.parametrize("mode, blank", [("pynative", 0), ("pynative", -3), ("graph_dynamic", -3)])
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
    joiner, batch = joiner_of(5), joiner_batch([(3, 0), (1, 0)], 5, extra=0)
    batch = (*batch[:2], *(x.astype(np.int64) for x in batch[2:]))
    loss_fn = JoinerRNNTLoss(joiner, blank=0, reduction="none")
    errors = relative_errors(gradients(loss_fn, batch), reference(joiner, batch, [1, 1], blank=0))
    assert max(errors) <= TOLERANCE["joiner_float64"]


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
