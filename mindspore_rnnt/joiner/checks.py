# SPDX-License-Identifier: Apache-2.0
"""What PackedJoiner and JoinerRNNTLoss refuse, and how many rows a memory budget holds."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..checks import INT_DTYPES, LOGITS_DTYPES, check_labels, check_lengths, refuse
from ..rows import packed_indices

_CALLER = "JoinerRNNTLoss"
_refuse = partial(refuse, _CALLER)

_DIMS = {
    "encoder_out": ("B", "max_T", "De"),
    "predictor_out": ("B", "max_U + 1", "Dp"),
    "targets": ("B", "max_U"),
    "logit_lengths": ("B",),
    "target_lengths": ("B",),
    "frame_rows": ("N",),
    "step_rows": ("N",),
}
_UNITS = {
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}


def check_tensors(
    dtypes: Sequence[Any], shapes: Sequence[Any], encoder_dim: int, predictor_dim: int
) -> None:
    """Dtypes and shapes of JoinerRNNTLoss, in the order of `_DIMS`. In `shapes`, None or -1 is a
    size and (-2,) a rank that is unknown when a graph is compiled."""
    _check_tensors(_CALLER, tuple(_DIMS), dtypes, shapes, encoder_dim, predictor_dim)


def check_joiner_inputs(
    dtypes: Sequence[Any], shapes: Sequence[Any], encoder_dim: int, predictor_dim: int
) -> None:
    """The same for PackedJoiner, which takes four of them."""
    names = "encoder_out", "predictor_out", "frame_rows", "step_rows"
    _check_tensors("PackedJoiner", names, dtypes, shapes, encoder_dim, predictor_dim)


def _check_tensors(
    caller: str,
    names: Sequence[str],
    dtypes: Sequence[Any],
    shapes: Sequence[Any],
    encoder_dim: int,
    predictor_dim: int,
) -> None:
    sizes = {"De": encoder_dim, "Dp": predictor_dim}
    for name, dtype, shape in zip(names, dtypes, shapes):
        dims = _DIMS[name]
        allowed = LOGITS_DTYPES if len(dims) == 3 else INT_DTYPES
        if str(dtype) not in allowed:
            refuse(caller, TypeError, name, f"a Tensor of one of {list(allowed)}", dtype)
        if -2 in shape:
            continue
        expected = f"of shape ({', '.join(dims)})"
        if len(shape) != len(dims):
            refuse(caller, ValueError, name, expected, f"shape {shape}")
        for dim, size in zip(dims, shape):
            if size in (None, -1):
                continue
            if size == 0 and dim != "max_U":
                refuse(caller, ValueError, name, f"{expected} with {dim} >= 1", f"shape {shape}")
            if sizes.setdefault(dim, size) != size:
                refuse(
                    caller,
                    ValueError,
                    name,
                    f"{expected} with {dim} = {sizes[dim]}",
                    f"shape {shape}",
                )
            if dim == "max_U + 1":
                sizes["max_U"] = size - 1


def check_batch(
    max_t: int,
    V: int,
    targets: np.ndarray,
    logit_lengths: np.ndarray,
    target_lengths: np.ndarray,
    frame_rows: np.ndarray,
    step_rows: np.ndarray,
) -> None:
    """The values, as NumPy arrays: lengths, rows and labels."""
    max_u = targets.shape[1]
    check_lengths(_CALLER, "logit_lengths", logit_lengths, 1, max_t, "encoder_out")
    check_lengths(_CALLER, "target_lengths", target_lengths, 0, max_u, "targets")
    rows = packed_indices(logit_lengths, target_lengths, max_t, max_u)
    for name, got, expected in zip(("frame_rows", "step_rows"), (frame_rows, step_rows), rows):
        if not np.array_equal(got, expected):
            made_by = f"packed_indices(logit_lengths, target_lengths, max_t={max_t}, max_u={max_u})"
            _refuse(
                ValueError,
                name,
                f"what {made_by} returns, {len(expected)} rows",
                f"{len(got)} rows"
                if len(got) != len(expected)
                else f"another value in row {np.argmax(got != expected)}",
            )
    check_labels(_CALLER, targets, target_lengths, V, "the joiner")


def check_blank(blank: int, V: int) -> None:
    if not -V <= blank < V:
        _refuse(ValueError, "blank", f"in [{-V}, {V}), as the joiner has {V} classes", blank)


def check_joiner(joiner: object, joiner_type: type) -> None:
    if not isinstance(joiner, joiner_type):
        _refuse(TypeError, "joiner", f"a {joiner_type.__name__}", type(joiner).__name__)


def rows_within(memory_budget: str | int, V: int, J: int) -> int:
    """How many rows may be in flight, in float32: each has logits and their gradient, V values, and
    eight vectors of J: the two that are added, their sum, hidden, its gradient, the way to it."""
    row_bytes = 4 * (2 * V + 8 * J)
    rows = _bytes(memory_budget) // row_bytes
    if rows < 1:
        expected = f"at least {row_bytes} bytes, which one row of {V} classes takes"
        _refuse(ValueError, "memory_budget", expected, repr(memory_budget))
    return rows


def _bytes(memory_budget: str | int) -> int:
    if isinstance(memory_budget, int) and not isinstance(memory_budget, bool):
        return memory_budget
    if not isinstance(memory_budget, str):
        _refuse(TypeError, "memory_budget", "a str or an int", type(memory_budget).__name__)
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([A-Za-z]+)", memory_budget)
    if match is None or match[2] not in _UNITS:
        expected = f"a number followed by one of {list(_UNITS)}"
        _refuse(ValueError, "memory_budget", expected, repr(memory_budget))
    return int(float(match[1]) * _UNITS[match[2]])
