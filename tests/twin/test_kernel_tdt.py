# SPDX-License-Identifier: Apache-2.0
"""RnntTdtLattice on the twin against the float64 recursion, which tests/test_tdt_reference.py
compares with the enumeration of all paths."""

import itertools

import numpy as np
import pytest
from tdt import DURATION_SETS, SMALL
from twin import kernel_on_twin as twin
from twin.rules import RULES, SOME_RULES
from twin.tdt_problem import OUTPUTS, TdtProblem, same

from mindspore_rnnt.native import pack_params, run_op

LENGTHS = [(13, 6), (2, 9), (7, 0), (21, 11)]
FIVE = (0, 1, 2, 3, 4)


@pytest.mark.parametrize("durations", DURATION_SETS, ids=str)
def test_small_lattices(durations):
    """Padding is not read, and its outputs are 0."""
    problem = TdtProblem(SMALL, durations)
    packed = problem.check(sigma=0.05, fastemit_lambda=0.5)
    padded = problem.check(padded=True, sigma=0.05, fastemit_lambda=0.5)
    assert not any(np.signbit(x).any() for x in padded[1:])
    assert same(packed[:1], padded[:1])


@pytest.mark.parametrize("D", range(1, 33))
def test_every_number_of_durations_in_any_order(D):
    durations = np.random.default_rng(D).permutation(D + 1)[:D]
    TdtProblem([(9, 4), (3, 5), (D + 2, 1)], durations, seed=D).check()


def test_an_utterance():
    TdtProblem([(250, 60)], FIVE).check()


# The longest duration leaves strips of 32 lanes; if T is less than U + 1, a strip has T.
@pytest.mark.parametrize("U1", [31, 32, 33, 63, 64, 65])
def test_strips(U1):
    assert twin.schedule().TdtStripLanes(100, 65, 3, 100) == 32
    TdtProblem([(100, U1 - 1)], (100, 1, 0)).check()


@pytest.mark.parametrize("T", [1, 2, 7, 8, 9, 17])
def test_more_labels_than_frames(T):
    assert twin.schedule().TdtStripLanes(T, 40, 3, 2) == T
    TdtProblem([(T, T - 1), (T, T), (T, T + 1), (T, 39)], (0, 1, 2)).check()


# Slabs of 16 diagonals: T diagonals of cells and one behind.
@pytest.mark.parametrize("T", [14, 15, 16, 17, 31, 32])
def test_slabs(T):
    TdtProblem([(T, 0), (T - 3, 3)], FIVE).check(cores=1)


# Tiles of 128 rows, of 64 for the durations' arcs, of 56 for the posteriors of 32 durations. (Most
# of those are too long for the sample, which spares the float64 recursion its time.)
@pytest.mark.parametrize("durations", [(1,), (1, 0, *range(100, 130))], ids=len)
@pytest.mark.parametrize("aside", [-1, 0, 1])
def test_tiles(durations, aside):
    for tile in (56, 64) if len(durations) == 32 else (64, 128):
        TdtProblem([(tile + aside, tile + aside - 1)], durations).check(cores=1)


def check_with_cpu(problem, padded=False, cores=7, **options):
    """Against the CPU's operator, which has tests of its own and is fast."""
    got = problem.run(padded, cores=cores, **options)
    durations, expected = np.int32(problem.durations), [np.empty_like(array) for array in got]
    inputs = [*problem.inputs(padded), problem.T, problem.U, durations, pack_params(**options)]
    run_op("RnntTdtLattice", inputs, expected)
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-6)
    for one, other in zip(got[1:], expected[1:]):
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-6)


def test_random_batches():
    rng = np.random.default_rng(1)
    for seed in range(40):
        lengths = [(rng.integers(1, 50), rng.integers(0, 35)) for _ in range(rng.integers(1, 6))]
        durations = rng.permutation(rng.integers(2, 60))[: rng.integers(1, 12)]
        problem = TdtProblem(lengths, durations, seed, scale=rng.choice([0.1, 1.0, 5.0]))
        check_with_cpu(problem, rng.integers(2), int(rng.integers(1, 49)), sigma=0.05)


def test_the_widest_strip_of_five_durations():
    assert twin.schedule().TdtStripLanes(285, 281, 5, 4) == 280
    check_with_cpu(TdtProblem([(285, 279), (285, 280)], FIVE))


@pytest.mark.parametrize("durations", [(0, 1, 255), (256, 0, 1), (0, 1, 257), (1, 2**31 - 1)])
def test_the_longest_durations(durations):
    """257 frames are too many for a sample that is as long, and nothing to a shorter one."""
    problem = TdtProblem([(256, 4), (260, 4), (5, 3)], durations)
    got, expected = problem.run(), problem.expected()
    if 257 in durations:
        assert np.isnan(got[0][1]) and not got[1][256 * 5 : 516 * 5].any()
        for x in expected[1:]:
            x[256 * 5 : 516 * 5] = 0
        expected[0][1] = np.nan
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-6)
    for one, other in zip(got[1:], expected[1:]):
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-6)


@pytest.mark.parametrize(
    "durations, T, U", [((2,), 3, 0), ((1,), 3, 3), ((0,), 2, 1), ((5, 0), 4, 1)], ids=str
)
def test_no_path(durations, T, U):
    problem = TdtProblem([(T, U), (10, 1)], durations)
    problem.check()
    assert problem.run(zero_infinity=True)[0][0] == 0


def mixed():
    """A sample of each kind: right ones between those that are NaN, impossible or have holes."""
    problem = TdtProblem([(6, 3)] * 9 + [(4, 0), (1, 4)], (1, 0, 3))
    problem.tokens[1][2, 1, 0] = np.nan
    problem.tokens[2][5, 0, 1] = np.inf
    problem.heads[3][0, 2, 1] = np.nan
    problem.heads[4][5, 3, 2] = np.inf  # no arc of this duration stays in the lattice
    problem.tokens[5][:, 1, 1] = -np.inf  # impossible
    problem.tokens[6][2:, 1:] = -np.inf
    problem.heads[7][:, 2, :2] = -np.inf
    problem.heads[8][1, 1] = -np.inf
    return problem


@RULES
def test_right_whatever_the_hardware_does(rules):
    with twin.options_of_the_twin(**rules):
        loss = mixed().check(sigma=0.1)[0]
    kinds = np.select([np.isnan(loss), np.isposinf(loss)], [1, 2])
    assert kinds.tolist() == [0, 1, 1, 1, 1, 2, *kinds[6:]]


@SOME_RULES
def test_an_utterance_whatever_the_hardware_does(rules):
    """Posteriors underflow in the corners of its lattice."""
    problem = TdtProblem([(120, 40)], (0, 1, 2), scale=4.0)
    with twin.options_of_the_twin(**rules):
        problem.check(tolerance=10 if rules["ulp_noise"] else 1)


def test_rows_that_are_no_cell():
    """A row of zeros, as RnntRowStats writes where no cell is: no arc leaves it."""
    problem = TdtProblem([(6, 3), (5, 2)], (0, 1, 2))
    problem.tokens[0][2:4, 1] = -np.inf
    stats, log_probs = problem.inputs()
    stats[np.isneginf(stats[:, 2])] = 0
    result = twin.tdt_lattice(stats, log_probs, problem.T, problem.U, problem.durations)
    for name, expected in zip(OUTPUTS, problem.expected()):
        np.testing.assert_allclose(result.outputs[name], expected, rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("T, U", [(0, 2), (23, 2), (7, 13), (7, -1), (2**31 - 1, 2)])
def test_wrong_lengths(T, U):
    problem = TdtProblem(LENGTHS, FIVE)
    expected = problem.run(padded=True)
    problem.T[2], problem.U[2] = T, U
    got = problem.run(padded=True)
    assert np.isnan(got[0][2]) and not got[1][2].any() and not got[2][2].any()
    for one, other in zip(got, expected):
        assert same(np.delete(one, 2, 0), np.delete(other, 2, 0))
    got = problem.run()  # the packed rows do not add up
    assert np.isnan(got[0]).all() and not got[1].any() and not got[2].any()


def test_wrong_durations():
    """One below 0 leaves no sample with a loss. One that is there twice counts twice."""
    loss, *rest = TdtProblem(LENGTHS, (0, -1, 1)).run()
    assert np.isnan(loss).all() and not any(x.any() for x in rest)
    TdtProblem(LENGTHS, (0, 1, 2, 1, 0)).check()


@pytest.mark.parametrize("cores", [1, 2, 40, 48])
def test_any_number_of_cores(cores):
    problem = TdtProblem([*LENGTHS, (9, 14)], FIVE)
    assert same(problem.run(cores=7), problem.run(cores=cores))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_legal_schedule(seed):
    """With several strips in the second and the last sample."""
    problem = TdtProblem([*LENGTHS, (9, 14)], FIVE)
    late = {"deferred": 1, "seed": seed, "core_order": seed % 3}
    expected = problem.run(padded=True, cores=5)
    assert same(expected, problem.run(padded=True, cores=5, twin=late))
    assert same(expected, problem.run(padded=True, cores=5, twin={"auto_sync": 1}))


def test_alone_as_in_a_batch():
    problem = TdtProblem(LENGTHS, FIVE)
    expected, rows = problem.run(), np.cumsum([0, *(problem.T * (problem.U + 1))])
    stats, log_probs = problem.inputs()
    for b, (begin, end) in enumerate(itertools.pairwise(rows)):
        sizes = problem.T[b : b + 1], problem.U[b : b + 1]
        alone = twin.tdt_lattice(stats[begin:end], log_probs[begin:end], *sizes, FIVE, cores=2)
        parts = [expected[0][b : b + 1], *(x[begin:end] for x in expected[1:])]
        assert same([alone.outputs[name] for name in OUTPUTS], parts)


def test_no_scalar_access_grows_with_the_lattice():
    small, large = (
        twin.tdt_lattice(*problem.inputs(), problem.T, problem.U, FIVE, cores=2).phases
        for problem in (TdtProblem([(T, 12)], FIVE) for T in (20, 400))
    )
    print([[(p["scalar_ub"], p["scalar_gm"]) for p in phases] for phases in (small, large)])
    assert [p["scalar_gm"] for p in large] == [p["scalar_gm"] for p in small]
    assert sum(p["scalar_gm"] for p in large) <= 8 * 2  # params, once a core
    for one, other in zip(small, large):
        assert one["scalar_ub"] == other["scalar_ub"]


def test_the_workspace_is_what_the_kernel_needs(monkeypatch):
    """Less by what samples are aligned to is too little."""
    problem = TdtProblem(LENGTHS, FIVE)
    sizes = twin.schedule(1024)  # the object that a launch asks
    needed = sum(sizes.TdtSampleFloats(T, U + 1, 5, min(T, 4)) for T, U in LENGTHS) * 4
    monkeypatch.setattr(sizes, "TdtWorkspaceBytes", lambda tiling: needed)
    problem.check()
    monkeypatch.setattr(sizes, "TdtWorkspaceBytes", lambda tiling: needed - 512)
    with pytest.raises(AssertionError, match="gm_out_of_range"):
        problem.run()


def test_unified_buffer():
    problem = TdtProblem([(256, 20)], (256, *range(31)))
    result = twin.tdt_lattice(*problem.inputs(), problem.T, problem.U, problem.durations)
    assert result.ub_peak <= 188160
