# SPDX-License-Identifier: Apache-2.0
"""The AscendC kernel on the twin against float64: sizes, data types, layouts, core counts."""

import numpy as np
import pytest
from oracles import LAYOUTS, TOLERANCE, Batch, closed_form, random_batch, report
from twin import kernel_on_twin as twin

from mindspore_rnnt.reference import rnnt_loss_reference

MIXED = [(9, 4), (1, 0), (17, 9), (6, 12), (2, 1)]
DTYPES = ["float32", "float16", "bfloat16"]


def gradient_tolerance(batch, dtype):
    steps = {limit: value for limit, value in TOLERANCE["ascend_gradient"].items()}
    longest = batch.logit_lengths.max()
    on_top = 0.0 if dtype == "float32" else TOLERANCE["gradient"][dtype]
    return min(value for limit, value in steps.items() if longest <= limit) + on_top


def compare(
    batch, padded=False, dtype="float32", cores=7, attributes=False, twin_options=None, **options
):
    layout = batch.layout(padded, 1, 2) if padded else batch.layout(False)
    if attributes:
        options = {"blank": -1, "fused_log_softmax": 1, "clamp": -1.0, **options}
    loss, grad, _ = twin.fused(layout, dtype, cores, attributes, twin_options, **options)
    options.setdefault("blank", -1)
    expected_loss, expected = rnnt_loss_reference(*layout, reduction="none", **options)
    loss_error = report("loss", loss, expected_loss)
    grad_error = report("gradient", grad, expected)
    allowed = TOLERANCE["ascend_loss_relative"] * np.abs(expected_loss).max()
    assert loss_error <= allowed + TOLERANCE["ascend_loss_absolute"]
    assert grad_error <= gradient_tolerance(batch, dtype)


# V around the block, the repeat, the two forms of FoldRows, a tile and a row of several tiles.
VOCABULARIES = [2, 7, 8, 15, 16, 17, 63, 64, 65, 127, 500, 512, 513, 1031, 1984, 1985, 2041, 4096]


@pytest.mark.parametrize("index", range(len(VOCABULARIES)))
def test_vocabularies(index):
    dtype, padded = DTYPES[index % 3], index % 2 == 1
    cores, fused = (1, 7, 40, 48)[index % 4], index % 5 != 4
    V = VOCABULARIES[index]
    batch = random_batch(MIXED, V, seed=index, dtype=dtype, blank=V // 2)
    compare(batch, padded, dtype, cores, blank=V // 2, fused_log_softmax=fused)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("V", [5000, 8191, 8193, 15360, 15361, 40000])
def test_long_rows(V, dtype):
    blank = {"float32": -1, "float16": 0, "bfloat16": 15359}[dtype] % V
    batch = random_batch([(3, 2), (2, 1)], V, seed=V, dtype=dtype, blank=blank)
    compare(batch, V % 2 == 0, dtype, 5, blank=blank)


@pytest.mark.parametrize("fused", [True, False], ids=["logits", "log_probs"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_longest_row(dtype, fused):
    batch = random_batch([(2, 1)], 131072, dtype=dtype)
    compare(batch, dtype=dtype, cores=3, fused_log_softmax=fused)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lengths", [[(130, 1), (2, 150)], [(260, 40), (33, 31)]], ids=str)
def test_tiles_of_many_rows(lengths, dtype):
    compare(random_batch(lengths, 13, dtype=dtype), dtype=dtype, cores=40)


@pytest.mark.parametrize("cores", [1, 7, 40, 48])
def test_more_samples_than_cores(cores):
    rng = np.random.default_rng(cores)
    lengths = [(int(t), int(u)) for t, u in zip(rng.integers(1, 12, 70), rng.integers(0, 9, 70))]
    compare(random_batch(lengths, 21), padded=cores == 7, cores=cores)


def test_more_samples_than_are_placed_or_loaded_at_once():
    lengths = [(1 + i % 3, i % 2) for i in range(600)]
    compare(random_batch(lengths, 4), cores=5)


# With strips of 64 lanes: exactly one, just two, three, five, and lanes that are frames.
@pytest.mark.parametrize(
    "lengths",
    [[(64, 63), (70, 63)], [(64, 64), (200, 64)], [(150, 190)], [(80, 300), (63, 200)]],
    ids=str,
)
@LAYOUTS
def test_diagonals_of_several_strips(lengths, padded):
    batch = random_batch(lengths, 3, seed=3, scale=1.0)
    compare(batch, padded, cores=5, twin_options={"strip_lanes": 64})


@pytest.mark.parametrize("lengths", [[(3, 1500), (1100, 5)], [(1024, 1100)]], ids=str)
def test_wide_lattices(lengths):
    """Lanes that are frames, and two strips of 1024 lanes."""
    compare(random_batch(lengths, 2, seed=3, scale=0.5), cores=40, twin_options={"checks": 0})


@pytest.mark.parametrize("lengths", [[(500, 100), (431, 64)], [(2000, 60)]], ids=str)
def test_long_utterances(lengths):
    compare(random_batch(lengths, 8, seed=1), cores=40, attributes=True)


def test_closed_form_at_5000_frames():
    T, U, V = 5000, 40, 4
    batch = Batch([np.full((T, U + 1, V), 0.5, np.float32)], [np.zeros(U, np.int32)])
    loss, _, _ = twin.fused(batch.layout(False), cores=40, twin={"checks": 0})
    expected = closed_form(T, U, V)
    print(f"loss {loss[0]}, expected {expected}")
    assert abs(loss[0] - expected) <= 2e-6 * expected


# float32 alone has an ulp of 0.06 for a log P of -1e6.
@pytest.mark.parametrize("scale", [30.0, 1e3, 1e4, 1e5])
@pytest.mark.parametrize("lengths", [[(30, 10), (10, 25)], [(200, 50)]], ids=str)
def test_large_logits(lengths, scale):
    batch = random_batch(lengths, 16, seed=7)
    batch.samples = [(sample * scale).astype(np.float32) for sample in batch.samples]
    layout = batch.layout(False)
    loss, grad, _ = twin.fused(layout)
    expected_loss, expected = rnnt_loss_reference(*layout, reduction="none")
    assert report("loss", loss / expected_loss, np.ones(len(lengths))) <= 1e-6
    assert report("gradient", grad, expected) <= 2e-4


def test_log_p_beyond_what_two_floats_hold():
    """Every path of the second sample has an arc of -1e8: its posteriors cannot be right."""
    batch = random_batch([(6, 2), (6, 2), (6, 2)], 9, seed=8)
    batch.samples[1][:, 1, batch.labels[1][1]] = -1e8
    layout = batch.layout(False)
    loss, grad, _ = twin.fused(layout)
    expected_loss, expected = rnnt_loss_reference(*layout, reduction="none")
    rows = np.repeat(np.arange(3), 18)
    assert np.isnan(loss[1]) and np.isnan(grad[rows == 1]).all()
    assert report("loss", loss[[0, 2]], expected_loss[[0, 2]]) <= 1e-5
    assert report("gradient", grad[rows != 1], expected[rows != 1]) <= 1e-5
