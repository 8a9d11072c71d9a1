# SPDX-License-Identifier: Apache-2.0
"""What each modelled instruction computes, against numpy and the documented rules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from oracles import round_to
from twin.planted import FOLDER

from aot_build.twin import build_twin, driver

RNG = np.random.default_rng(11)
FLOATS = RNG.normal(0.0, 10.0, 1024).astype(np.float32)
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3.4e38, -1e-45], np.float32)


@pytest.fixture(scope="module")
def library() -> Path:
    return build_twin.build_kernel((FOLDER / "instructions.cpp").read_text(), "instructions")


def launch(library, entry, x, shape, dtype, *numbers, **options) -> driver.Result:
    numbers = (*numbers, *([0] * (4 - len(numbers))))
    out_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    tiling = np.array([x.nbytes, out_bytes, *numbers], np.uint32).tobytes()
    return driver.run(library, "do_" + entry, {"x": x}, {"y": (shape, dtype)}, tiling, **options)


def call(library, entry, x, shape, dtype, *numbers, **options) -> np.ndarray:
    result = launch(library, entry, x, shape, dtype, *numbers, **options)
    assert not result.faults, "\n".join(map(str, result.faults))
    return result.outputs["y"]


def same_bits(got: np.ndarray, expected: np.ndarray) -> None:
    expected = np.asarray(expected, got.dtype)
    kind = np.dtype(f"u{got.dtype.itemsize}")
    different = np.flatnonzero(got.view(kind).ravel() != expected.view(kind).ravel())
    print(f"{len(different)} of {got.size} differ")
    assert not len(different), (got.ravel()[different[:4]], expected.ravel()[different[:4]])


@pytest.mark.parametrize("count", [1, 8, 63, 64, 65, 500])
def test_add_works_on_count_elements(library, count: int) -> None:
    y = call(library, "add", FLOATS, (512,), "f4", 512, count)
    expected = np.zeros(512, np.float32)
    expected[:count] = FLOATS[:count] + FLOATS[512 : 512 + count]
    same_bits(y, expected)


@pytest.mark.parametrize("entry, function", [("max", np.maximum), ("min", np.minimum)])
def test_maximum_and_minimum_keep_nan(library, entry: str, function) -> None:
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    x = np.concatenate([a.ravel(), b.ravel()])
    y = call(library, entry, x, (64,), "f4", 64, 64)
    np.testing.assert_array_equal(y, function(x[:64], x[64:]))


def test_half_addition_rounds_once(library) -> None:
    x = RNG.normal(0, 100, 512).astype(np.float16)
    y = call(library, "add_half", x, (256,), np.float16, 256, 256)
    same_bits(y, x[:256] + x[256:])


def test_rows_with_strides_and_a_broadcast_block(library) -> None:
    rows, pitch, width = 5, 48, 41
    x = np.zeros(rows * pitch + rows * 8, np.float32)
    x[: rows * pitch] = FLOATS[: rows * pitch]
    x[rows * pitch :] = np.repeat(np.arange(1, rows + 1, dtype=np.float32), 8)
    y = call(library, "sub_rows", x, (rows, pitch), "f4", pitch, rows, width, rows * pitch)
    expected = np.zeros((rows, pitch), np.float32)
    expected[:, :width] = x[: rows * pitch].reshape(rows, pitch)[:, :width]
    expected[:, :width] -= np.arange(1, rows + 1, dtype=np.float32)[:, None]
    same_bits(y, expected)


def test_a_bit_mask_switches_lanes_off(library) -> None:
    low, high = 0x80000005, 0x00010000
    bits = np.array([low >> i & 1 for i in range(32)] + [high >> i & 1 for i in range(32)], bool)
    y = call(library, "mask_bits", FLOATS[:192], (192,), "f4", low, high, 3)
    same_bits(y, np.where(np.tile(bits, 3), FLOATS[:192] * 2, 0))


def test_a_repeat_stride_of_zero_accumulates(library) -> None:
    y = call(library, "accumulate", FLOATS[:320], (64,), "f4", 5)
    expected = np.zeros(64, np.float32)
    for row in FLOATS[:320].reshape(5, 64):
        expected = row + expected
    same_bits(y, expected)


def test_every_half_becomes_its_float(library) -> None:
    bits = np.arange(65536, dtype=np.uint16).reshape(4, -1)
    for part in bits:
        y = call(library, "half_to_float", part.view(np.float16), (len(part),), "f4", len(part))
        np.testing.assert_array_equal(y, part.view(np.float16).astype(np.float32))


def half_way_points() -> np.ndarray:
    """Floats at, just below and just above the middle of neighbouring halves, and special ones."""
    halves = np.arange(0, 0x7C00, 7, dtype=np.uint16).view(np.float16).astype(np.float32)
    middle = (halves[:-1] + halves[1:]) / 2
    near = [middle, np.nextafter(middle, 0), np.nextafter(middle, np.float32(np.inf))]
    return np.concatenate([*near, -middle, [65519.9, 65520.0, 7e4, 1e-8, 2.9e-8], SPECIAL])


def test_float_to_half_rounds_to_nearest_even(library) -> None:
    x = half_way_points().astype(np.float32)
    for part in np.array_split(x, 3):
        y = call(library, "float_to_half", part, (len(part),), np.float16, len(part))
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(y, part.astype(np.float16))


def test_bfloat16_rounds_to_nearest_even(library) -> None:
    x = np.concatenate([FLOATS, [1.00390625, 1.01171875], SPECIAL]).astype(np.float32)
    y = call(library, "float_to_bf16", x, (len(x),), np.uint16, len(x))
    back = call(library, "bf16_to_float", y, (len(x),), "f4", len(x))
    np.testing.assert_array_equal(back, round_to(x, "bfloat16"))
    assert back[1024:1026].tolist() == [1.0, 1.015625]


def test_integer_casts(library) -> None:
    x = np.array([0.5, 1.5, -0.5, -2.5, 3e9, -3e9, np.nan, 7.4] * 8, np.float32)
    y = call(library, "float_to_int", x, (64,), np.int32, 64)
    assert y[:8].tolist() == [0, 2, 0, -2, 2**31 - 1, -(2**31), 0, 7]
    back = call(library, "int_to_float", y, (64,), "f4", 64)
    same_bits(back, y.astype(np.float32))
    same_bits(call(library, "round_float", FLOATS, (1024,), "f4", 1024), np.rint(FLOATS))


def test_transcendental_functions_and_their_noise(library) -> None:
    x = np.concatenate([np.linspace(-80, 80, 1000), SPECIAL]).astype(np.float32)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for entry, exact in (("exp", np.exp), ("ln", np.log)):
            values = x if entry == "exp" else np.abs(x)
            y = call(library, entry, values, x.shape, "f4", len(x))
            np.testing.assert_allclose(y, exact(values.astype(np.float64)), rtol=2e-7)
            noisy = call(library, entry, values, x.shape, "f4", len(x), ulp_noise=2)
            ulp = np.abs(noisy.view(np.int32).astype(np.int64) - y.view(np.int32))[np.isfinite(y)]
            print(entry, "ulp of noise", np.bincount(ulp))
            assert set(ulp) == {0, 1, 2}
    same_bits(call(library, "abs", FLOATS, (1024,), "f4", 1024), np.abs(FLOATS))


def test_fills(library) -> None:
    same_bits(call(library, "iota", FLOATS[:8], (100,), "i4", 5, 100), np.arange(5, 105))
    y = call(library, "fill_lane", FLOATS[:8], (4, 24), "f4", 10, 4, 3)
    expected = np.zeros((4, 24), np.float32)
    expected[:, 10] = 3.0
    same_bits(y, expected)
    y = call(library, "brcb", FLOATS[:16], (16, 8), "f4", 2)
    same_bits(y, np.repeat(FLOATS[:16, None], 8, axis=1))


def test_gather_takes_byte_offsets(library) -> None:
    index = RNG.integers(0, 60, 72)
    x = FLOATS[:136].copy()
    x[64:].view(np.uint32)[:] = index * 4
    same_bits(call(library, "gather", x, (72,), "f4", 64, 16, 72), x[index + 4])


@pytest.mark.parametrize("lanes", [3, 64])
def test_reductions_of_a_repeat(library, lanes: int) -> None:
    rows = FLOATS.reshape(16, 64)[:, :lanes]
    same_bits(call(library, "whole_max", FLOATS, (16,), "f4", lanes, 16, 8), rows.max(axis=1))
    for order in (0, 1):
        y = call(library, "whole_sum", FLOATS, (16,), "f4", lanes, 16, 8, reduce_order=order)
        np.testing.assert_allclose(y, rows.astype(np.float64).sum(axis=1), rtol=0, atol=1e-4)


def test_the_order_of_a_sum_can_be_changed(library) -> None:
    tree, row = (
        call(library, "whole_sum", FLOATS, (16,), "f4", 64, 16, 8, reduce_order=order)
        for order in (0, 1)
    )
    assert (tree != row).any()
    expected = np.zeros(16, np.float32)
    for column in FLOATS.reshape(16, 64).T:
        expected = expected + column
    same_bits(row, expected)


def test_reductions_of_blocks_leave_blocks_without_lanes_alone(library) -> None:
    blocks = FLOATS[:256].reshape(4, 8, 8)
    same_bits(call(library, "block_max", FLOATS[:256], (4, 8), "f4", 64, 4), blocks.max(axis=2))
    y = call(library, "block_sum", FLOATS[:256], (4, 8), "f4", 20, 4)
    np.testing.assert_allclose(y[:, :2], blocks[:, :2].sum(axis=2), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(y[:, 2], blocks[:, 2, :4].sum(axis=1), rtol=1e-5, atol=1e-5)
    assert (y[:, 3:] == 0).all()


def test_padding_of_unaligned_blocks(library) -> None:
    """Three blocks of 20 bytes, 8 bytes apart in GM, in UB rows of 32 bytes with a gap of one."""
    x = np.arange(21, dtype=np.int32)
    source = np.stack([x[0:5], x[7:12], x[14:19]])
    y = launch(library, "pad_value", x, (3, 16), "i4", 20, 3, 8, 1).outputs["y"]
    assert (y[:, 0] == -7).all() and (y[:, 6:8] == -7).all()
    np.testing.assert_array_equal(y[:, 1:6], source)
    for entry in ("pad_nothing", "pad_enabled_without_size"):
        y = launch(library, entry, x, (3, 16), "i4", 20, 3, 8, 1).outputs["y"]
        np.testing.assert_array_equal(y[:, :5], source)
        np.testing.assert_array_equal(y[:, 5:8], np.repeat(source[:, :1], 3, axis=1))


def test_undocumented_padding_is_poison(library) -> None:
    result = launch(library, "pad_random", np.arange(6, dtype=np.int32), (8,), "i4", 24, 1)
    assert result.outputs["y"].tolist() == [0, 1, 2, 3, 4, 5, -1, -1]
    assert result.fault_names() == {"ub_uninitialised"}


def test_padding_of_half_rows(library) -> None:
    x = np.arange(26, dtype=np.uint16)
    y = call(library, "pad_half", x, (2, 16), np.uint16, 26, 2)
    np.testing.assert_array_equal(y[:, :13], x.reshape(2, 13))
    assert (y[:, 13:] == 0xFC00).all()


def test_traffic_is_counted_by_burst(library) -> None:
    result = launch(library, "pad_half", np.arange(26, dtype=np.uint16), (2, 16), "u2", 26, 2)
    assert result.tensors["x"]["read"] == {"bytes": 52, "aligned_512": 1, "bursts": [2, 0, 0, 0]}
    assert result.tensors["y"]["written"]["bytes"] == 64
    assert result.phases[0]["bytes_in"] == 52 and result.phases[0]["bytes_out"] == 64


def test_instructions_and_cycles_are_counted(library) -> None:
    phase = launch(library, "exp", FLOATS, (1024,), "f4", 1024).phases[0]
    assert phase["instructions"] == {"Exp": [1, 16], "Duplicate": [1, 256]}
    # 256 repeats of 1 cycle, 16 of 2 cycles, both behind a flag or barrier.
    assert phase["vector_cycles"] == 256 + 32 + 2 * 20
