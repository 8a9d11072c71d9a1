# SPDX-License-Identifier: Apache-2.0
"""What PackedJoiner and the losses with a joiner refuse; how many rows a memory budget holds."""

import re
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ..checks import check_dims, check_labels, check_lengths, refuse
from ..rows import packed_indices

DIMS = {
    "encoder_out": ("B", "max_T", "De"),
    "predictor_out": ("B", "max_U + 1", "Dp"),
    "targets": ("B", "max_U"),
    "logit_lengths": ("B",),
    "target_lengths": ("B",),
    "frame_rows": ("N",),
    "step_rows": ("N",),
}
LOSS_INPUTS = tuple(DIMS)
JOINER_INPUTS = ("encoder_out", "predictor_out", "frame_rows", "step_rows")
_UNITS = {
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}


def check_tensors(
    caller: str,
    dtypes: Sequence[Any],
    shapes: Sequence[Any],
    encoder_dim: int,
    predictor_dim: int,
) -> None:
    """Dtypes and shapes of a loss on packed rows, in the order of `DIMS`; see `check_dims`."""
    check_dims(caller, DIMS, dtypes, shapes, De=encoder_dim, Dp=predictor_dim)


def check_joiner_inputs(
    dtypes: Sequence[Any], shapes: Sequence[Any], encoder_dim: int, predictor_dim: int
) -> None:
    """The same for PackedJoiner, which takes four of them."""
    dims = {name: DIMS[name] for name in JOINER_INPUTS}
    check_dims("PackedJoiner", dims, dtypes, shapes, De=encoder_dim, Dp=predictor_dim)


def check_batch(
    caller: str,
    max_t: int,
    max_u: int,
    V: int,
    targets: np.ndarray,
    logit_lengths: np.ndarray,
    target_lengths: np.ndarray,
    frame_rows: np.ndarray,
    step_rows: np.ndarray,
) -> None:
    """The values, as NumPy arrays: lengths, rows and labels."""
    check_lengths(caller, "logit_lengths", logit_lengths, 1, max_t, "encoder_out")
    check_lengths(caller, "target_lengths", target_lengths, 0, max_u, "targets")
    rows = packed_indices(logit_lengths, target_lengths, max_t, max_u)
    for name, got, expected in zip(("frame_rows", "step_rows"), (frame_rows, step_rows), rows):
        if not np.array_equal(got, expected):
            made_by = f"packed_indices(logit_lengths, target_lengths, max_t={max_t}, max_u={max_u})"
            refuse(
                caller,
                ValueError,
                name,
                f"what {made_by} returns, {len(expected)} rows",
                f"{len(got)} rows"
                if len(got) != len(expected)
                else f"another value in row {np.argmax(got != expected)}",
            )
    check_labels(caller, targets, target_lengths, V, "the joiner")


def check_num_durations(num_durations: object) -> None:
    if not isinstance(num_durations, Integral) or isinstance(num_durations, bool):
        got = type(num_durations).__name__
        refuse("PackedJoiner", TypeError, "num_durations", "an int", got)
    if num_durations < 0:
        refuse("PackedJoiner", ValueError, "num_durations", "at least 0", num_durations)


def rows_within(caller: str, memory_budget: str | int, V: int, J: int) -> int:
    """How many rows may be in flight, in float32: each has logits and their gradient, V values, and
    eight vectors of J: the two that are added, their sum, hidden, its gradient, the way to it."""
    row_bytes = 4 * (2 * V + 8 * J)
    rows = _bytes(caller, memory_budget) // row_bytes
    if rows < 1:
        expected = f"at least {row_bytes} bytes, which one row of {V} classes takes"
        refuse(caller, ValueError, "memory_budget", expected, repr(memory_budget))
    return rows


def _bytes(caller: str, memory_budget: str | int) -> int:
    if isinstance(memory_budget, int) and not isinstance(memory_budget, bool):
        return memory_budget
    if not isinstance(memory_budget, str):
        refuse(caller, TypeError, "memory_budget", "a str or an int", type(memory_budget).__name__)
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([A-Za-z]+)", memory_budget)
    if match is None or match[2] not in _UNITS:
        expected = f"a number followed by one of {list(_UNITS)}"
        refuse(caller, ValueError, "memory_budget", expected, repr(memory_budget))
    return int(float(match[1]) * _UNITS[match[2]])
