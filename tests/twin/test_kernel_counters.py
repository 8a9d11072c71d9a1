# SPDX-License-Identifier: Apache-2.0
"""What a launch moves and what it does by scalar, counted by the twin."""

import numpy as np
import pytest
from oracles import LAYOUTS, random_batch
from twin import kernel_on_twin as twin

from mindspore_rnnt.native import pack_params

LENGTHS = [(20, 7), (13, 11), (30, 0)]
CORES = 7
UB_BYTES = 188160
LONGEST_WHOLE_ROW = 15360
PER_SAMPLE = 20  # scalar reads of lengths and of what the lattice's ends found, by each core
VOCABULARIES = pytest.mark.parametrize("V", [64, 65, 500, 1024, 2500, 5000, 16000])


def traffic(result, tensor, direction):
    return result.tensors[tensor][direction]["bytes"]


@VOCABULARIES
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@LAYOUTS
def test_logits_are_read_twice_and_the_gradient_written_once(V, dtype, padded):
    batch = random_batch(LENGTHS if V < 5000 else [(5, 3), (4, 2)], V, dtype=dtype)
    layout = batch.layout(padded)
    result = twin.fused(layout, dtype, CORES)[2]
    size = 4 if dtype == "float32" else 2
    used = len(batch.packed()) * V * size
    read, written = traffic(result, "logits", "read"), traffic(result, "grad", "written")
    print(f"read {read / used:.4f}, written {written / (layout[0].size * size):.4f}")
    # Rows of several pieces fetch their blank and label entries a second time.
    assert read == 2 * used + (V > LONGEST_WHOLE_ROW) * 2 * size * len(batch.packed())
    assert written == layout[0].size * size
    assert traffic(result, "grad", "read") == traffic(result, "logits", "written") == 0


def test_forward_reads_once_and_log_probs_only_their_entries():
    batch = random_batch(LENGTHS, 500)
    layout = batch.layout(False)
    rows = len(layout[0])
    assert traffic(twin.forward(layout)[2], "logits", "read") == rows * 500 * 4
    result = twin.fused(layout, fused_log_softmax=False)[2]
    assert traffic(result, "logits", "read") == 2 * rows * 4
    assert traffic(result, "grad", "written") == rows * 500 * 4


@VOCABULARIES
def test_scalar_accesses(V):
    batch = random_batch(LENGTHS if V < 5000 else [(5, 3), (4, 2)], V)
    result = twin.fused(batch.layout(False), "float32", CORES)[2]
    rows, samples = len(batch.packed()), len(batch.samples)
    stats, lattice, grad = result.phases
    print([(phase["scalar_ub"], phase["scalar_gm"]) for phase in result.phases])
    assert stats["scalar_gm"] <= 8 * CORES  # params, once a core
    assert lattice["scalar_gm"] == grad["scalar_gm"] == 0
    a_walk = PER_SAMPLE * (samples + 1) * CORES
    assert stats["scalar_ub"] <= rows + a_walk
    assert lattice["scalar_ub"] <= a_walk
    assert grad["scalar_ub"] <= rows + a_walk


@pytest.mark.parametrize("V", [64, 5000])
def test_scalar_accesses_of_operators_on_rows(V):
    """A label of each row that has one, and a few of each tile of 128 rows."""
    rows = 300 if V < 1000 else 20
    x = np.random.default_rng(0).normal(size=(rows, V)).astype(np.float32)
    labels = np.arange(rows, dtype=np.int32) % V
    values = {"logits": x, "row_labels": labels, "params": pack_params()}
    stats = twin.run_op("RnntRowStats", values, cores=1)
    values |= {"stats": stats.outputs["stats"], "row_dloss": np.ones(rows)}
    values["coefficients"] = np.full((rows, 3), 0.5)
    results = stats, twin.run_op("RnntRowGrad", values, cores=1)
    print([result.phases[0]["scalar_ub"] for result in results])
    assert results[0].phases[0]["scalar_ub"] <= 16
    assert results[1].phases[0]["scalar_ub"] <= rows + 32
    assert all(result.phases[0]["scalar_gm"] <= 8 for result in results)


@pytest.mark.parametrize(
    "T, U, most", [(30, 10, 21.2), (10, 30, 21.5), (200, 50, 17.8), (60, 127, 17.6)]
)
def test_vector_repeats_per_row(T, U, most):
    """At V = 128; 14 of them are subtraction, exponential and folds, and subtraction, exponential
    and product: two repeats each. A diagonal of ten cells leaves most lanes of its vectors idle."""
    result = twin.fused(random_batch([(T, U)], 128).layout(False), cores=1)[2]
    instructions = [phase["instructions"].values() for phase in result.phases]
    repeats = sum(count for phase in instructions for _, count in phase) / (T * (U + 1))
    print(f"{repeats:.1f} repeats a row")
    assert repeats <= most


def test_the_lattice_has_no_scalar_access_that_grows_with_it():
    small, large = (
        twin.fused(random_batch([(T, 12)], 8).layout(False), cores=2)[2].phases[1]
        for T in (20, 400)
    )
    assert small["scalar_ub"] == large["scalar_ub"]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_unified_buffer(dtype):
    batch = random_batch([(9, 5), (4, 2)], 800, dtype=dtype)
    layout = batch.layout(False)
    results = [twin.fused(layout, dtype)[2]]
    _, state, forward = twin.forward(layout, dtype)
    results += [forward, twin.backward(layout, state, np.ones(2), dtype)[1]]
    print([result.ub_peak for result in results])
    assert max(result.ub_peak for result in results) <= UB_BYTES
