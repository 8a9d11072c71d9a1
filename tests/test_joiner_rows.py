# SPDX-License-Identifier: Apache-2.0
"""Rows that are not of the joiner's padded inputs: an error in PyNative, NaN in a graph, and never
another sample's numbers."""

import mindspore as ms
import numpy as np
import pytest
from calls import numbers
from mindspore import Tensor, nn

from mindspore_rnnt import JoinerRNNTLoss, PackedJoiner, RNNTLoss, packed_indices
from mindspore_rnnt.reference import rnnt_loss_reference

T, U, V = np.int32([7, 5, 6]), np.int32([4, 2, 0]), 5
MAX_T, MAX_U = 9, 4  # the encoder is padded beyond the longest sample, as by buckets
TARGETS = np.int32([[1, 2, 3, 4], [4, 1, 0, 0], [0, 0, 0, 0]])
SAMPLE_ENDS = np.cumsum(T * (U + 1))

# What the rows may have been made for: max_t and max_u of packed_indices.
OTHER_SIZES = {
    "frames of the longest sample": (None, MAX_U),
    "too many frames": (MAX_T + 2, MAX_U),
    "one frame too many": (MAX_T + 1, MAX_U),
    "too many steps": (MAX_T, MAX_U + 1),
    "both doubled": (2 * MAX_T, 2 * (MAX_U + 1) - 1),
}
HALVES = (7, MAX_U)  # for inputs of 14 frames and 10 steps: samples 0 and 1 both fall into sample 0


def inputs(max_t=MAX_T, max_u=MAX_U):
    rng = np.random.default_rng(0)
    encoder_out = rng.standard_normal((3, max_t, 16)).astype(np.float32)
    return encoder_out, rng.standard_normal((3, max_u + 1, 8)).astype(np.float32)


class Compiled(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net

    @ms.jit
    def construct(self, *batch):
        return self.net(*batch)


def expected_losses(joiner):
    """float64, on the logits that right rows give."""
    rows = (Tensor(x) for x in packed_indices(T, U, MAX_T, MAX_U))
    logits = numbers(joiner(*(Tensor(x) for x in inputs()), *rows))
    starts, losses = [0, *SAMPLE_ENDS[:-1]], []
    for b, (start, end) in enumerate(zip(starts, SAMPLE_ENDS)):
        sample = logits[start:end], TARGETS[b : b + 1], T[b : b + 1], U[b : b + 1]
        losses.append(rnnt_loss_reference(*sample, blank=0, reduction="none")[0][0])
    return np.array(losses)


@pytest.mark.parametrize("sizes", OTHER_SIZES.values(), ids=OTHER_SIZES)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_rows_for_other_sizes(sizes, activation):
    joiner = PackedJoiner(16, 8, 32, V, activation)
    rows = [Tensor(x) for x in packed_indices(T, U, *sizes)]
    encoder_out, predictor_out = (Tensor(x) for x in inputs())
    message = (
        "^For 'PackedJoiner', the 'frame_rows' must be with 'step_rows' what packed_indices"
        r"\(logit_lengths, target_lengths, max_t=9, max_u=4\) returns .* in row \d+\.$"
    )
    with pytest.raises(ValueError, match=message):
        joiner(encoder_out, predictor_out, *rows)
    assert np.isnan(numbers(Compiled(joiner)(encoder_out, predictor_out, *rows))).all()


@pytest.mark.parametrize("sizes", OTHER_SIZES.values(), ids=OTHER_SIZES)
def test_rows_for_other_sizes_in_the_chunked_loss(sizes):
    joiner = PackedJoiner(16, 8, 32, V)
    net = JoinerRNNTLoss(joiner, blank=0, reduction="none")
    batch = [Tensor(x) for x in (*inputs(), TARGETS, T, U, *packed_indices(T, U, *sizes))]
    with pytest.raises(ValueError, match=r"^For 'JoinerRNNTLoss', the '(frame|step)_rows' must be"):
        net(*batch)
    assert np.isnan(numbers(Compiled(net)(*batch))).all()


def test_rows_for_half_the_sizes():
    joiner = PackedJoiner(16, 8, 32, V)
    batch = [Tensor(x) for x in (*inputs(14, 9), *packed_indices(T, U, *HALVES))]
    with pytest.raises(ValueError, match="max_t=14, max_u=9"):
        joiner(*batch)
    assert np.isnan(numbers(Compiled(joiner)(*batch))).all()


def test_any_rows_of_one_sample():
    """As a search joins them: frame i with step i, or one frame with several steps."""
    joiner = PackedJoiner(16, 8, 32, V)
    encoder_out, predictor_out = (Tensor(x[:1]) for x in inputs())
    for rows in (([0, 1, 2], [0, 1, 2]), ([3, 3, 1], [4, 0, 2])):
        rows = [Tensor(np.int32(x)) for x in rows]
        for net in (joiner, Compiled(joiner)):
            logits = net(encoder_out, predictor_out, *rows).asnumpy()
            frames, steps = joiner.project(encoder_out, predictor_out)
            summed = frames[rows[0]] + steps[rows[1]]
            right = joiner.output(joiner.activation(summed)).asnumpy()
            assert np.allclose(logits, right, atol=1e-6)


@pytest.mark.parametrize("ints", [np.int32, np.int64])
def test_right_rows_in_a_graph(ints):
    joiner = PackedJoiner(16, 8, 32, V)
    rows = [Tensor(x.astype(ints)) for x in packed_indices(T, U, MAX_T, MAX_U)]
    encoder_out, predictor_out = (Tensor(x) for x in inputs())
    logits = Compiled(joiner)(encoder_out, predictor_out, *rows)
    losses = RNNTLoss(blank=0, reduction="none")(logits, Tensor(TARGETS), Tensor(T), Tensor(U))
    assert np.allclose(losses.asnumpy(), expected_losses(joiner), atol=1e-4)


def test_a_sample_that_fits_by_chance():
    """Sample 1 lies where these sizes put it, but before the first row that tells."""
    T, U = np.int32([7, 2, 6]), np.int32([4, 0, 2])
    joiner = PackedJoiner(16, 8, 32, V)
    rng = np.random.default_rng(1)
    encoder_out = Tensor(rng.standard_normal((3, 9, 16)).astype(np.float32))
    predictor_out = Tensor(rng.standard_normal((3, 6, 8)).astype(np.float32))
    rows = [Tensor(x) for x in packed_indices(T, U)]
    with pytest.raises(ValueError, match="max_t=9, max_u=5"):
        joiner(encoder_out, predictor_out, *rows)
    assert np.isnan(numbers(Compiled(joiner)(encoder_out, predictor_out, *rows))).all()


def test_rows_out_of_range():
    joiner = PackedJoiner(16, 8, 32, V)
    encoder_out, predictor_out = (Tensor(x) for x in inputs())
    right = packed_indices(T, U, MAX_T, MAX_U)
    for places, row, value in (
        ([0], 5, -1),
        ([0], 50, 3 * MAX_T),
        ([1], 3, 10**6),
        ([0], 0, MAX_T),
        ([0, 1], 0, -1),
    ):
        rows = [x.copy() for x in right]
        for place in places:
            rows[place][row] = value
        with pytest.raises(ValueError, match=rf"in row {row}\.$"):
            joiner(encoder_out, predictor_out, *map(Tensor, rows))
        logits = numbers(Compiled(joiner)(encoder_out, predictor_out, *map(Tensor, rows)))
        assert np.isnan(logits).all()


@pytest.mark.parametrize(
    "place, tensor, error, message",
    [
        (0, np.zeros((3, 9, 15), np.float32), ValueError, "'encoder_out' must be .* De = 16"),
        (0, np.zeros((9, 16), np.float32), ValueError, "'encoder_out' must be of shape"),
        (1, np.zeros((2, 5, 8), np.float32), ValueError, "'predictor_out' must be .* B = 3"),
        (1, np.zeros((3, 5, 8), np.int32), TypeError, "'predictor_out' must be a Tensor of one"),
        (2, np.zeros(3, np.float32), TypeError, "'frame_rows' must be a Tensor of one"),
        (3, np.zeros(3, np.int32), ValueError, "'step_rows' must be .* N = "),
    ],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_bad_inputs_are_named(place, tensor, error, message, compiled):
    joiner = PackedJoiner(16, 8, 32, V)
    batch = [Tensor(x) for x in (*inputs(), *packed_indices(T, U, MAX_T, MAX_U))]
    batch[place] = Tensor(tensor)
    with pytest.raises(error, match=f"For 'PackedJoiner', the {message}"):
        (Compiled(joiner) if compiled else joiner)(*batch)
