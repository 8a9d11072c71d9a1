# SPDX-License-Identifier: Apache-2.0
"""The same bits for any number of cores, any legal schedule of the pipes, alone or in a batch."""

import numpy as np
import pytest
from oracles import random_batch, report
from twin import kernel_on_twin as twin

LENGTHS = [(13, 6), (2, 9), (7, 0), (21, 11)]
CASES = pytest.mark.parametrize("V, fused", [(9, True), (520, True), (16000, True), (77, False)])


def same(one, other):
    return one[0].tobytes() == other[0].tobytes() and one[1].tobytes() == other[1].tobytes()


def lengths_for(V):
    return LENGTHS if V < 1000 else [(3, 2), (2, 1)]


@CASES
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_any_number_of_cores(V, fused, dtype):
    layout = random_batch(lengths_for(V), V, dtype=dtype).layout(False)
    expected = twin.fused(layout, dtype, cores=1, fused_log_softmax=fused)
    for cores in (2, 7, 40, 48):
        assert same(expected, twin.fused(layout, dtype, cores=cores, fused_log_softmax=fused))


@CASES
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_legal_schedule(V, fused, seed):
    layout = random_batch(lengths_for(V), V, dtype="float16").layout(True)
    expected = twin.fused(layout, "float16", cores=5, fused_log_softmax=fused)
    late = {"deferred": 1, "seed": seed, "core_order": seed % 3}
    assert same(expected, twin.fused(layout, "float16", 5, twin=late, fused_log_softmax=fused))


@pytest.mark.parametrize("seed", [1, 2])
def test_any_legal_schedule_of_several_strips(seed):
    layout = random_batch([(80, 150)], 3).layout(False)
    expected = twin.fused(layout, cores=4, twin={"strip_lanes": 64})
    late = {"deferred": 1, "seed": seed, "strip_lanes": 64}
    assert same(expected, twin.fused(layout, cores=4, twin=late))


def test_compiler_synchronisation_on_or_off():
    layout = random_batch(LENGTHS, 33).layout(False)
    assert same(twin.fused(layout), twin.fused(layout, twin={"auto_sync": 1}))


@pytest.mark.parametrize("unknown", [{"ulp_noise": 2}, {"reduce_order": 1}], ids=str)
def test_what_is_not_known_of_the_hardware_changes_little(unknown):
    """The accuracy of Exp and Ln, the order in which WholeReduceSum adds."""
    layout = random_batch(LENGTHS, 700, seed=2).layout(False)
    expected = twin.fused(layout)
    got = twin.fused(layout, twin=unknown)
    assert report("loss", got[0], expected[0]) <= 1e-4
    assert report("gradient", got[1], expected[1]) <= 1e-4
    assert not np.array_equal(got[1], expected[1])
