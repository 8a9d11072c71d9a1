# SPDX-License-Identifier: Apache-2.0
"""What the losses of the pruned lattice refuse. Dtypes, shapes and options are also checked when a
graph is compiled; values, as NumPy arrays, only where they are known."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..checks import (
    check_blank,
    check_dims,
    check_labels,
    check_lengths,
    check_options,
    check_reduction,
    check_switches,
    refuse,
)

SIMPLE_DIMS = {
    "am": ("B", "max_T", "V"),
    "lm": ("B", "max_U + 1", "V"),
    "targets": ("B", "max_U"),
    "logit_lengths": ("B",),
    "target_lengths": ("B",),
}
PRUNED_DIMS = {
    "logits": ("B", "max_T", "S", "V"),
    "starts": ("B", "max_T"),
    "targets": ("B", "max_U"),
    "logit_lengths": ("B",),
    "target_lengths": ("B",),
}
SIMPLE_INPUTS, PRUNED_INPUTS = tuple(SIMPLE_DIMS), tuple(PRUNED_DIMS)


def check_pruned(
    caller: str,
    dtypes: Sequence[Any],
    shapes: Sequence[Any],
    options: tuple,
    reduction: str,
    validate: bool,
) -> None:
    check_reduction(caller, reduction)
    check_options(caller, *options)
    check_switches(caller, validate=validate)
    check_dims(caller, PRUNED_DIMS, dtypes, shapes)
    check_blank(caller, options[0], shapes[0][3], "'logits'")


def check_pruned_values(
    caller: str,
    logits_shape: Sequence[int],
    starts: np.ndarray,
    targets: np.ndarray,
    logit_lengths: np.ndarray,
    target_lengths: np.ndarray,
) -> None:
    _, max_t, _, V = logits_shape
    check_lengths(caller, "logit_lengths", logit_lengths, 1, max_t, "logits")
    check_lengths(caller, "target_lengths", target_lengths, 0, targets.shape[1], "targets")
    check_labels(caller, targets, target_lengths, V, "'logits'")
    is_frame = np.arange(max_t) < logit_lengths[:, None]
    bad = np.argwhere(is_frame & ((starts < 0) | (starts > target_lengths[:, None])))
    if len(bad):
        b, t = bad[0]
        expected = f"in [0, {target_lengths[b]}], the steps of sample {b}"
        refuse(caller, ValueError, "starts", expected, f"{starts[b, t]} in frame {t}")


def check_prune_range(caller: str, prune_range: int) -> None:
    if not isinstance(prune_range, Integral) or isinstance(prune_range, bool):
        refuse(caller, TypeError, "prune_range", "an int", type(prune_range).__name__)
    if prune_range < 2:
        refuse(caller, ValueError, "prune_range", "at least 2", prune_range)


def check_schedule(caller: str, simple_scale: float, warmup_steps: int) -> None:
    if not isinstance(simple_scale, Real) or isinstance(simple_scale, bool):
        refuse(caller, TypeError, "simple_scale", "a float", type(simple_scale).__name__)
    if not 0 <= simple_scale < math.inf:
        refuse(caller, ValueError, "simple_scale", "at least 0 and finite", simple_scale)
    if not isinstance(warmup_steps, Integral) or isinstance(warmup_steps, bool):
        refuse(caller, TypeError, "warmup_steps", "an int", type(warmup_steps).__name__)
    if warmup_steps < 0:
        refuse(caller, ValueError, "warmup_steps", "at least 0", warmup_steps)


def check_vocab_size(caller: str, vocab_size: int, classes: int) -> None:
    if vocab_size != classes:
        refuse(caller, ValueError, "vocab_size", f"{classes}, the joiner's classes", vocab_size)


def check_simple(
    caller: str,
    dtypes: Sequence[Any],
    shapes: Sequence[Any],
    blank: int,
    reduction: str,
    lm_only: float,
    am_only: float,
    zero_infinity: bool,
    validate: bool,
) -> None:
    check_reduction(caller, reduction)
    check_options(caller, blank, -1.0, True, 0.0, zero_infinity)
    check_scales(caller, lm_only, am_only)
    check_switches(caller, validate=validate)
    check_dims(caller, SIMPLE_DIMS, dtypes, shapes)
    check_blank(caller, blank, shapes[0][2], "'am'")


def check_scales(caller: str, lm_only: float, am_only: float) -> None:
    for name, scale in (("lm_only_scale", lm_only), ("am_only_scale", am_only)):
        if not isinstance(scale, Real) or isinstance(scale, bool):
            refuse(caller, TypeError, name, "a float", type(scale).__name__)
        if not scale >= 0:
            refuse(caller, ValueError, name, "at least 0", scale)
    if lm_only + am_only > 1:
        expected = "at most 1 together with 'am_only_scale'"
        refuse(caller, ValueError, "lm_only_scale", expected, f"{lm_only} and {am_only}")


def check_simple_values(
    caller: str,
    am_shape: Sequence[int],
    lm_shape: Sequence[int],
    targets: np.ndarray,
    logit_lengths: np.ndarray,
    target_lengths: np.ndarray,
) -> None:
    check_lengths(caller, "logit_lengths", logit_lengths, 1, am_shape[1], "am")
    check_lengths(caller, "target_lengths", target_lengths, 0, lm_shape[1] - 1, "lm")
    check_labels(caller, targets, target_lengths, am_shape[2], "'am'")
