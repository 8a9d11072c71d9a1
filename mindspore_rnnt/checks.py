# SPDX-License-Identifier: Apache-2.0
"""What the losses refuse, before anything is launched. Every message names the caller (the function
or class that the user called), the argument, what it must be and what came.

`check_options`, `check_reduction` and `check_shapes` also run when a graph is compiled.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from mindspore import Tensor

from .kernels.recorder import forget_recorded_gradient
from .rows import row_count

LOGITS_DTYPES = ("Float32", "Float16", "BFloat16")
INT_DTYPES = ("Int32", "Int64")
INTS = ("targets", "logit_lengths", "target_lengths", "frame_rows", "step_rows", "starts")
BATCH = ("logits", "targets", "logit_lengths", "target_lengths")
REDUCTIONS = ("none", "mean", "sum")
MOST_BLANK, MOST_FASTEMIT = 2**24, float(np.float32(1e30))  # a graph rounds it to float32


def check_options(
    caller: str,
    blank: int,
    clamp: float,
    fused_log_softmax: bool,
    fastemit_lambda: float,
    zero_infinity: bool,
) -> None:
    """The options that travel in `params`."""
    if not isinstance(blank, Integral) or isinstance(blank, bool):
        refuse(caller, TypeError, "blank", "an int", type(blank).__name__)
    for name, value in (("clamp", clamp), ("fastemit_lambda", fastemit_lambda)):
        if not isinstance(value, Real) or isinstance(value, bool):
            refuse(caller, TypeError, name, "a float", type(value).__name__)
        if math.isnan(value):
            refuse(caller, ValueError, name, "a number", value)
    # Options travel as float32: it holds every integer up to MOST_BLANK, and gradients times
    # MOST_FASTEMIT still do not overflow.
    if abs(blank) > MOST_BLANK:
        expected = f"in [{-MOST_BLANK}, {MOST_BLANK}], from the end where that is nearer"
        refuse(caller, ValueError, "blank", expected, blank)
    if not 0 <= fastemit_lambda <= MOST_FASTEMIT:
        expected = f"at least 0 and at most {MOST_FASTEMIT:g}"
        refuse(caller, ValueError, "fastemit_lambda", expected, fastemit_lambda)
    check_switches(caller, fused_log_softmax=fused_log_softmax, zero_infinity=zero_infinity)


def describe_options(*options: object) -> str:
    """The same options as `check_options` takes, for the repr of a Cell."""
    names = ("blank", "clamp", "fused_log_softmax", "fastemit_lambda", "zero_infinity")
    return ", ".join(f"{name}={value!r}" for name, value in zip(names, options))


def check_switches(caller: str, **switches: object) -> None:
    for name, value in switches.items():
        if not isinstance(value, bool):
            refuse(caller, TypeError, name, "a bool", type(value).__name__)


def check_tensors(caller: str, names: Iterable[str], values: Iterable[object]) -> None:
    for name, value in zip(names, values):
        if not isinstance(value, Tensor):
            refuse(caller, TypeError, name, "a Tensor", type(value).__name__)


def check_reduction(caller: str, reduction: str) -> None:
    if reduction not in REDUCTIONS:
        refuse(caller, ValueError, "reduction", f"one of {list(REDUCTIONS)}", repr(reduction))


def check_shapes(caller: str, dtypes: Sequence[Any], shapes: Sequence[Any], blank: int) -> None:
    """Dtypes, ranks and sizes of (logits, targets, logit_lengths, target_lengths).

    What is not known when a graph is compiled is None: a size, or a whole shape.
    """
    ranks = ((2, 4), (2,), (1,), (1,))
    for name, dtype, shape, rank in zip(BATCH, dtypes, shapes, ranks):
        allowed = LOGITS_DTYPES if name == "logits" else INT_DTYPES
        if str(dtype) not in allowed:
            refuse(caller, TypeError, name, f"a Tensor of one of {list(allowed)}", dtype)
        if shape is not None and len(shape) not in rank:
            refuse(
                caller, ValueError, name, f"of rank {' or '.join(map(str, rank))}", f"shape {shape}"
            )
    if None in shapes:
        return
    logits, targets, logit_lengths, target_lengths = shapes
    V = logits[-1]
    if logit_lengths[0] == 0:
        refuse(
            caller, ValueError, "logit_lengths", "of at least 1 sample", f"shape {logit_lengths}"
        )
    sizes = dict(zip(BATCH, (logits[0], targets[0], logit_lengths[0], target_lengths[0])))
    if len(logits) == 2:
        del sizes["logits"]  # its rows are no samples
    check_batch_size(caller, {name: size for name, size in sizes.items() if size is not None})
    if 0 in logits[1:]:
        parts = "class" if len(logits) == 2 else "frame, predictor step and class"
        refuse(caller, ValueError, "logits", f"of at least 1 {parts}", f"shape {logits}")
    check_blank(caller, blank, V, "'logits'")


def check_dims(
    caller: str,
    dims: Mapping[str, Sequence[str]],
    dtypes: Sequence[Any],
    shapes: Sequence[Any],
    **sizes: int,
) -> None:
    """Dtypes and shapes of the tensors that `dims` names, in its order: name -> names of the axes.
    `sizes` of some axes are known before. In `shapes`, None or -1 is a size and None or (-2,) a
    shape that is unknown when a graph is compiled."""
    for (name, axes), dtype, shape in zip(dims.items(), dtypes, shapes):
        allowed = INT_DTYPES if name in INTS else LOGITS_DTYPES
        if str(dtype) not in allowed:
            refuse(caller, TypeError, name, f"a Tensor of one of {list(allowed)}", dtype)
        if shape is None or -2 in shape:
            continue
        expected = f"of shape ({', '.join(axes)})"
        if len(shape) != len(axes):
            refuse(caller, ValueError, name, expected, f"shape {shape}")
        for axis, size in zip(axes, shape):
            if size in (None, -1):
                continue
            if axis == "max_U" and size == 1 and sizes.get(axis) == 0:
                continue  # no label at all, where a Tensor needs an entry
            if size == 0 and axis != "max_U":
                refuse(caller, ValueError, name, f"{expected} with {axis} >= 1", f"shape {shape}")
            if sizes.setdefault(axis, size) != size:
                if axis == "max_U" and size == sizes[axis] + 1:
                    _refuse_steps(caller, dims, size)
                with_size = f"{expected} with {axis} = {sizes[axis]}"
                refuse(caller, ValueError, name, with_size, f"shape {shape}")
            if axis == "max_U + 1":
                sizes["max_U"] = size - 1


def _refuse_steps(caller: str, dims: Mapping[str, Sequence[str]], max_u: int) -> None:
    """As many predictor steps as labels: the step before the first label is missing."""
    for name, axes in dims.items():
        if "max_U + 1" in axes:
            expected = (
                f"of shape ({', '.join(axes)}) with max_U + 1 = {max_u + 1}, as 'targets' has "
                f"max_U = {max_u} and one step comes before the first label"
            )
            refuse(caller, ValueError, name, expected, f"{max_u} steps")


def check_blank(caller: str, blank: int, V: int | None, V_from: str) -> None:
    if V is not None and not -V <= blank < V:
        refuse(caller, ValueError, "blank", f"in [{-V}, {V}), as {V_from} has {V} classes", blank)


def check_batch_size(caller: str, sizes: dict[str, int]) -> None:
    """Samples of each input. The one that is refused differs from most of the others."""
    if len(set(sizes.values())) < 2:
        return
    usual = max(sizes.values(), key=list(sizes.values()).count)
    odd = next(name for name, size in sizes.items() if size != usual)
    others = " and ".join(f"'{name}'" for name, size in sizes.items() if size == usual)
    expected = f"of {usual} samples, as many as {others} holds"
    refuse(caller, ValueError, odd, expected, f"{sizes[odd]} samples")


def check_values(
    caller: str,
    logits_shape: Sequence[int],
    targets: np.ndarray,
    logit_lengths: np.ndarray,
    target_lengths: np.ndarray,
) -> None:
    """Lengths and labels as NumPy arrays: do they lie within the tensors?"""
    padded, V = len(logits_shape) == 4, logits_shape[-1]
    max_t = logits_shape[1] if padded else None
    max_u, max_u_from = targets.shape[1], "targets"
    if padded and logits_shape[2] - 1 < max_u:
        max_u, max_u_from = logits_shape[2] - 1, "logits"
        check_steps(caller, "logits", logits_shape, targets.shape[1], target_lengths)
    check_lengths(caller, "logit_lengths", logit_lengths, 1, max_t, "logits")
    check_lengths(caller, "target_lengths", target_lengths, 0, max_u, max_u_from)
    if not padded:
        rows = row_count(logit_lengths, target_lengths)
        if rows != logits_shape[0]:
            refuse(
                caller,
                ValueError,
                "logits",
                "of as many rows as logit_lengths * (target_lengths + 1) adds up to, "
                f"which is {rows}",
                f"{logits_shape[0]} rows",
            )
    check_labels(caller, targets, target_lengths, V, "'logits'")


def check_steps(
    caller: str, name: str, shape: Sequence[int], max_u: int, target_lengths: np.ndarray
) -> None:
    """U labels have U + 1 predictor steps: the first one comes before any label."""
    longest = int(target_lengths.max())
    if shape[2] <= longest <= max_u:
        refuse(
            caller,
            ValueError,
            name,
            f"of shape (B, max_T, max_U + 1, V) with max_U + 1 >= {longest + 1}, as "
            f"'target_lengths' reach {longest}",
            f"{shape[2]} in shape {tuple(shape)}",
        )


def check_labels(
    caller: str, targets: np.ndarray, target_lengths: np.ndarray, V: int, V_from: str
) -> None:
    """Of NumPy arrays: is every label within a sample's length a class?"""
    used = np.arange(targets.shape[1]) < target_lengths[:, None]
    bad = np.argwhere(used & ((targets < 0) | (targets >= V)))
    if len(bad):
        b, u = bad[0]
        refuse(
            caller,
            ValueError,
            "targets",
            f"in [0, {V}), as {V_from} has {V} classes",
            f"{targets[b, u]} at position {u} of sample {b}",
        )


def check_lengths(
    caller: str, name: str, lengths: np.ndarray, least: int, most: int | None, most_from: str | None
) -> None:
    """Of a NumPy array: at least `least`, and if `most` is no None, at most that."""
    bad = lengths < least
    if most is not None:
        bad |= lengths > most
    if bad.any():
        b = int(bad.argmax())
        wanted = f"at least {least}" if most is None else f"in [{least}, {most}]"
        where = "" if most is None else f", as the shape of '{most_from}' allows"
        refuse(caller, ValueError, name, wanted + where, f"{lengths[b]} in sample {b}")


def refuse(caller: str, error: type[Exception], name: str, expected: str, got: object) -> NoReturn:
    forget_recorded_gradient()
    raise error(f"For '{caller}', the '{name}' must be {expected}, but got {got}.")
