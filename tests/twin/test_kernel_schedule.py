# SPDX-License-Identifier: Apache-2.0
"""The arithmetic that host and kernel share (geometry, sizes, placement) against plain counting."""

import ctypes

import numpy as np
import pytest
from twin import kernel_on_twin as twin

SIZES = [(t, u1) for t in range(1, 9) for u1 in range(1, 9)] + [(50, 3), (3, 50), (1, 40), (40, 1)]


@pytest.mark.parametrize("T, U1", SIZES)
def test_ranks_of_cells(T, U1):
    """Cells in the order (diagonal, lane): a rank names one diagonal, and every cell has one."""
    arithmetic = twin.schedule()
    rank = 0
    for d in range(T + U1 - 1):
        lanes = [d - u if T < U1 else U1 - 1 - u for u in range(U1) if 0 <= d - u < T]
        assert max(lanes) < arithmetic.Lanes(T, U1) == (T + 1 if T < U1 else U1)
        assert arithmetic.FirstLane(T, U1, d) == min(lanes)
        assert arithmetic.LastLane(T, U1, d) == max(lanes)
        assert arithmetic.CellsBefore(T, U1, d) == rank
        for _ in lanes:
            assert arithmetic.DiagonalOfRank(T, U1, rank) == d
            rank += 1
    assert rank == T * U1


def tiling(lengths, padded, spare_u, spare_t=0):
    max_u = max(u for _, u in lengths) + spare_u
    max_t = max(t for t, _ in lengths) + spare_t
    rows = sum(t * (u + 1) for t, u in lengths)
    if padded:
        rows = len(lengths) * max_t * (max_u + 1)
    shape = (max_t, max_u + 1) if padded else (0, 0)
    return twin.Tiling(rows, len(lengths), 10, *shape, max_u, padded, 0, 0, 0.0, 0)


def needed_bytes(lengths):
    return 4 * sum(twin.schedule().SampleFloats(t, u + 1) for t, u in lengths)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("widest", [1, 3, 40, 1500])
def test_workspace_bound_covers_any_lengths(padded, widest):
    rng = np.random.default_rng(widest)
    for _ in range(200):
        count = int(rng.integers(1, 9))
        lengths = list(
            zip(rng.integers(1, 2 * widest + 1, count), rng.integers(0, widest + 1, count))
        )
        lengths = [(int(t), int(u)) for t, u in lengths]
        shapes = tiling(lengths, padded, int(rng.integers(0, 5)))
        bound = twin.schedule().WorkspaceBytes(ctypes.byref(shapes))
        assert bound >= needed_bytes(lengths)


@pytest.mark.parametrize("lengths", [[(1, 99)] * 5, [(1, 0)] * 50, [(99, 0), (1, 99)], [(1, 2047)]])
def test_workspace_bound_at_its_edges(lengths):
    shapes = tiling(lengths, False, 0)
    bound = twin.schedule().WorkspaceBytes(ctypes.byref(shapes))
    assert bound >= needed_bytes(lengths)


def test_workspace_is_near_what_is_needed():
    lengths = [(500, 100)] * 8
    shapes = tiling(lengths, False, 0)
    bound = twin.schedule().WorkspaceBytes(ctypes.byref(shapes))
    print(f"bound {bound}, needed {needed_bytes(lengths)}")
    assert bound <= 1.2 * needed_bytes(lengths)


LATTICES = [
    *([(1, 59)], [(60, 0)], [(3, 3), (6, 7)], [(10, 2)] * 4, [(1, 9999)], [(1024, 3000)] * 2),
    *([(1024, 1024)], [(1023, 2000)], [(3000, 1025)], [(20000, 1000)], [(5000, 4000)]),
    [(1, 0)] * 300,
]


@pytest.mark.parametrize("lengths", LATTICES, ids=str)
@pytest.mark.parametrize("max_u", ["known", "unknown"])
def test_workspace_is_linear_in_the_rows(lengths, max_u):
    """RnntLattice does not know max_U. 96 bytes a row, 8 for strips, 1 KB a sample."""
    rows = sum(t * (u + 1) for t, u in lengths)
    U = max(u for _, u in lengths) if max_u == "known" else twin.NO_TARGETS
    shapes = twin.Tiling(rows, len(lengths), 0, 0, 0, U, 0, 0, 0, 0.0, 0)
    bound = twin.schedule().WorkspaceBytes(ctypes.byref(shapes))
    print(f"bound {bound}, needed {needed_bytes(lengths)}, rows {rows}")
    assert needed_bytes(lengths) <= bound <= 104 * rows + 1024 * len(lengths)


@pytest.mark.parametrize("rows", [2**20 - 1, 2**20, 20_000_000, 2**40])
def test_workspace_does_not_jump(rows):
    shapes = twin.Tiling(rows, 16, 0, 0, 0, twin.NO_TARGETS, 0, 0, 0, 0.0, 0)
    bound = twin.schedule().WorkspaceBytes(ctypes.byref(shapes))
    assert bound <= 104 * rows + 1024 * 16


@pytest.mark.parametrize(
    "rows, vocab, batch, element, cores, expected",
    [
        (10, 8, 1, 4, 48, 2),  # alpha and beta
        (10, 8, 30, 4, 48, 48),
        (10, 8, 30, 4, 40, 40),
        (4096, 64, 1, 4, 48, 16),  # 1 MB in shares of 64 KB
        (4096, 64, 1, 2, 48, 8),
        (2**40, 131072, 1, 4, 48, 48),
    ],
)
def test_core_count(rows, vocab, batch, element, cores, expected):
    shapes = twin.Tiling(rows, batch, vocab, 0, 0, 5, 0, 0, 0, 0.0, 0)
    phases = twin.ROW_STATS | twin.LATTICE | twin.ROW_GRAD
    got = twin.schedule().CoreCount(ctypes.byref(shapes), phases, element, cores)
    assert got == expected
    assert (
        twin.schedule().CoreCount(ctypes.byref(shapes), twin.ROW_GRAD, element, cores) <= expected
    )


def place(costs, cores):
    loads = (ctypes.c_uint64 * cores)(*range(cores))
    owners = (ctypes.c_uint8 * (2 * len(costs)))()
    costs = (ctypes.c_int64 * len(costs))(*costs)
    twin.schedule().PlaceTasks(costs, len(costs), loads, cores, owners)
    return list(owners), [load >> 8 for load in loads]


@pytest.mark.parametrize("samples, cores", [(1, 2), (4, 48), (24, 48), (40, 7), (256, 48), (3, 1)])
def test_tasks_go_largest_first_to_the_least_loaded_core(samples, cores):
    rng = np.random.default_rng(samples)
    costs = [int(c) for c in rng.integers(1, 6, samples)]  # many ties
    loads, expected = [0] * cores, [0] * (2 * samples)
    for sample in sorted(range(samples), key=lambda i: (-costs[i], i)):
        for end in range(2):
            core = min(range(cores), key=lambda c: (loads[c], c))
            expected[2 * sample + end] = core
            loads[core] += costs[sample]
    got, got_loads = place(costs, cores)
    assert got == expected
    assert sorted(got_loads) == sorted(loads)


def test_few_tasks_have_a_core_each():
    owners, _ = place([5, 9, 2, 7], 8)
    assert sorted(owners) == list(range(8))


@pytest.mark.parametrize("D", [1, 5, 32])
@pytest.mark.parametrize("lengths", LATTICES, ids=str)
def test_workspace_with_durations(lengths, D):
    """16 D + 112 bytes a row, 768 bytes a sample, for any durations; padded or packed."""
    rows, U = sum(t * (u + 1) for t, u in lengths), max(u for _, u in lengths)
    needed = max(
        sum(twin.schedule().TdtSampleFloats(t, u + 1, D, min(reach, t)) for t, u in lengths)
        for reach in (0, 4, 50, 256)
    )
    for max_u in (U, twin.NO_TARGETS):
        shapes = twin.Tiling(rows, len(lengths), D, 0, 0, max_u, 0, 0, 0, 0.0, 0)
        bound = twin.schedule().TdtWorkspaceBytes(ctypes.byref(shapes))
        print(f"bound {bound}, needed {4 * needed}, rows {rows}")
        assert 4 * needed <= bound <= (16 * D + 112) * rows + 768 * len(lengths)
    shapes = tiling(lengths, True, 1, 1)
    shapes.V = D
    assert 4 * needed <= twin.schedule().TdtWorkspaceBytes(ctypes.byref(shapes))


def test_workspace_with_durations_of_small_samples():
    """Every small lattice, where rounding counts most: one of a kind, and many."""
    for T, U1 in SIZES:
        for D, reach in ((1, 1), (3, 2), (5, 4)):
            needed = 4 * twin.schedule().TdtSampleFloats(T, U1, D, min(reach, T))
            for B in (1, 7):
                shapes = twin.Tiling(B * T * U1, B, D, 0, 0, U1 - 1, 0, 0, 0, 0.0, 0)
                assert B * needed <= twin.schedule().TdtWorkspaceBytes(ctypes.byref(shapes))


def test_strips_of_a_lattice_with_durations():
    """Whole blocks, unless one strip holds the sample; never more lanes than frames."""
    for D in (1, 5, 32):
        for reach in (0, 1, 4, 100, 256):
            lanes = [twin.schedule().TdtStripLanes(T, 3000, D, reach) for T in (300, 3000)]
            assert lanes[1] % 8 == 0 and 8 <= lanes[0] <= lanes[1], (D, reach, lanes)
    assert twin.schedule().TdtStripLanes(500, 280, 5, 4) == 280
    assert twin.schedule().TdtStripLanes(5, 280, 5, 4) == 5
