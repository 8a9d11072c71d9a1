# SPDX-License-Identifier: Apache-2.0
"""RnntTdtLattice against path enumeration and the float64 reference."""

import numpy as np
import pytest
from kernel.launch import poisoned, row_grad, row_stats, same_bits
from oracles import LAYOUTS, TOLERANCE, labels_of, report
from tdt import DURATION_SETS, SMALL, TdtBatch, enumerate_tdt_paths, softmax

from mindspore_rnnt.native import pack_params, run_op

LENGTHS = [(5, 3), (1, 0), (7, 2)]


def tdt_lattice(stats, log_probs, logit_lengths, target_lengths, durations, **options):
    """Losses, coefficients and duration posteriors."""
    loss, coefficients = poisoned(len(logit_lengths)), poisoned((*stats.shape[:-1], 3))
    posteriors = poisoned(log_probs.shape)
    durations = np.array(durations, np.int32)
    params = pack_params(**options)
    inputs = [stats, log_probs, logit_lengths, target_lengths, durations, params]
    run_op("RnntTdtLattice", inputs, [loss, coefficients, posteriors])
    return loss, coefficients, posteriors


class Case(TdtBatch):
    """With what goes into the operator."""

    def __init__(self, lengths, durations, V=7):
        super().__init__(lengths, durations, V)
        self.sizes = self.batch.logit_lengths, self.batch.target_lengths

    def stats(self, padded):
        """Stats of the rows, and log-probs of their durations. What stands in padding is NaN."""
        stats = row_stats(self.batch.padded(2, 1), labels_of(self.batch, 2, 1))
        stats[~self.mask] = np.nan
        log_probs = np.log(softmax(self.inputs(padded=True)[1])).astype(np.float32)
        return (stats, log_probs) if padded else (stats[self.mask], log_probs[self.mask])

    def run(self, padded=False, **options):
        return tdt_lattice(*self.stats(padded), *self.sizes, self.durations, **options)

    def gradients(self, coefficients, posteriors):
        """Of token logits and duration logits, packed."""
        rows, labels = self.batch.packed(), labels_of(self.batch, 2, 1)[self.mask]
        stats, log_probs = self.stats(padded=False)
        tokens = row_grad(rows, labels, stats, coefficients)
        return tokens, np.exp(log_probs.astype(np.float64)) * coefficients[:, :1] - posteriors


def check(case, got, expected):
    loss, coefficients, posteriors = got
    scale = np.where(np.isfinite(expected[0]), np.maximum(expected[0], 1), 1)
    error = report("loss, relative", loss / scale, expected[0] / scale)
    assert error <= TOLERANCE["loss_relative"] * 2
    limit = TOLERANCE["gradient"]["float32"]
    for what, one, other in zip(
        ("tokens", "durations"), case.gradients(coefficients, posteriors), expected[1:]
    ):
        assert report(what, one, other) <= limit
    error = report("sum of posteriors", posteriors.sum(-1), coefficients[:, 0])
    assert error <= limit


@pytest.mark.parametrize("durations", DURATION_SETS, ids=str)
@LAYOUTS
def test_every_path(level, durations, padded):
    case = Case(SMALL, durations, V=5)
    loss, coefficients, posteriors = case.run(padded, sigma=0.05)
    if padded:
        coefficients, posteriors = coefficients[case.mask], posteriors[case.mask]
    expected = [
        enumerate_tdt_paths(*arrays, durations, sigma=0.05)
        for arrays in zip(case.batch.samples, case.heads, case.batch.labels)
    ]
    blanks = np.concatenate([blank.reshape(-1, len(durations)) for _, blank, _ in expected])
    labels = np.concatenate([label.reshape(-1, len(durations)) for _, _, label in expected])
    assert report("loss", loss, [e[0] for e in expected]) <= 2e-6
    limit = TOLERANCE["gradient"]["float32"]
    assert report("post_blank", coefficients[:, 1], blanks.sum(-1)) <= limit
    assert report("post_label", coefficients[:, 2], labels.sum(-1)) <= limit
    assert report("occupation", coefficients[:, 0], (blanks + labels).sum(-1)) <= limit
    assert report("durations", posteriors, blanks + labels) <= limit


@pytest.mark.parametrize("durations", DURATION_SETS, ids=str)
def test_against_the_reference(level, durations):
    case = Case([(40, 12), (1, 0), (23, 23), (9, 2), (3, 9), (70, 1)], durations, V=19)
    check(case, case.run(), case.reference())


@pytest.mark.parametrize("options", [{"sigma": 0.3}, {"fastemit_lambda": 0.5}], ids=str)
def test_options(level, options):
    case = Case([(12, 5), (3, 0), (6, 6)], (0, 1, 2, 3, 4))
    check(case, case.run(**options), case.reference(**options))


def test_packed_and_padded_have_the_same_bits(level):
    """Padding is not read, and its outputs are 0."""
    case = Case([(37, 11), (1, 0), (64, 20)], (0, 1, 2, 3, 4))
    packed, padded = case.run(padded=False), case.run(padded=True)
    assert same_bits(packed[0], padded[0])
    for one, other in zip(packed[1:], padded[1:]):
        assert same_bits(one, other[case.mask]) and (other[~case.mask] == 0).all()
        assert not np.signbit(other[~case.mask]).any()


def test_alone_as_in_a_batch_and_with_any_number_of_threads(level, same_with_any_threads):
    case = Case([(90, 30), (1, 0), (64, 20), (7, 9)], (0, 1, 2, 3, 4))
    expected = same_with_any_threads(case.run)
    rows = np.cumsum([0, *(T * (U + 1) for T, U in zip(*case.sizes))])
    stats, log_probs = case.stats(padded=False)
    for b in range(len(rows) - 1):
        begin, end = rows[b : b + 2]
        sizes = (size[b : b + 1] for size in case.sizes)
        alone = tdt_lattice(stats[begin:end], log_probs[begin:end], *sizes, case.durations)
        assert same_bits(alone[0], expected[0][b : b + 1])
        assert same_bits(alone[1], expected[1][begin:end])
        assert same_bits(alone[2], expected[2][begin:end])


@pytest.mark.parametrize(
    ("durations", "T", "U"), [((2,), 3, 0), ((1,), 3, 3), ((0,), 2, 1), ((5, 0), 4, 1)], ids=str
)
def test_no_path(level, durations, T, U):
    case = Case([(T, U), (10, 1)], durations)
    rows = T * (U + 1)
    for zero_infinity, impossible in ((False, np.inf), (True, 0)):
        loss, coefficients, posteriors = case.run(zero_infinity=zero_infinity)
        assert loss[0] == impossible
        assert (coefficients[:rows] == 0).all() and (posteriors[:rows] == 0).all()
    assert report("other", case.run()[0][1:], case.reference()[0][1:]) <= 1e-5


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("head", ["tokens", "durations"])
def test_a_nan_sample_touches_no_other(level, value, head):
    case = Case(LENGTHS, (0, 1, 2))
    expected = case.run()
    stats, log_probs = case.stats(padded=False)
    (stats if head == "tokens" else log_probs)[25, 2] = value  # a cell of the last sample
    loss, coefficients, posteriors = tdt_lattice(stats, log_probs, *case.sizes, case.durations)
    assert np.isnan(loss).tolist() == [False, False, True]
    assert np.isnan(coefficients[21:]).all() and np.isnan(posteriors[21:]).all()
    assert same_bits(coefficients[:21], expected[1][:21])
    assert same_bits(posteriors[:21], expected[2][:21])


@pytest.mark.parametrize(("T", "U"), [(0, 2), (10, 2), (7, 5), (7, -1), (2**31 - 1, 2)])
def test_wrong_lengths(level, T, U):
    case = Case(LENGTHS, (0, 1, 2))
    expected = case.run(padded=True)
    case.sizes[0][2], case.sizes[1][2] = T, U
    loss, coefficients, posteriors = case.run(padded=True)
    assert np.isnan(loss[2]) and (coefficients[2] == 0).all() and (posteriors[2] == 0).all()
    assert same_bits(loss[:2], expected[0][:2])
    assert same_bits(posteriors[:2], expected[2][:2])


@pytest.mark.parametrize("durations", [(0, -1, 1), (-(2**31), 1, 2), ()], ids=str)
def test_wrong_durations(level, durations):
    """A duration below 0 leaves no sample with a loss; without any duration there is no path."""
    loss, coefficients, posteriors = Case(LENGTHS, durations).run()
    assert np.isnan(loss).all() if durations else np.isposinf(loss).all()
    assert (coefficients == 0).all() and (posteriors == 0).all()


def test_durations_beyond_every_length(level):
    case = Case(LENGTHS, (0, 1, 2**31 - 1))
    check(case, case.run(), case.reference())
