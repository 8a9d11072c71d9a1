# SPDX-License-Identifier: Apache-2.0
"""What rnnt_loss refuses, before anything is launched. Every message names the argument, what it
must be and what came.

`check_options`, `check_reduction` and `check_shapes` also run when a graph is compiled.
"""

import math
from numbers import Integral, Real

import numpy as np
from mindspore import Tensor

from .layout import row_count
from .recorder import forget_recorded_gradient

LOGITS_DTYPES = ("Float32", "Float16", "BFloat16")
INT_DTYPES = ("Int32", "Int64")
REDUCTIONS = ("none", "mean", "sum")


def check_options(blank, clamp, fused_log_softmax, fastemit_lambda, zero_infinity):
    """The options that travel in `params`."""
    if not isinstance(blank, Integral) or isinstance(blank, bool):
        _refuse(TypeError, "blank", "an int", type(blank).__name__)
    for name, value in (("clamp", clamp), ("fastemit_lambda", fastemit_lambda)):
        if not isinstance(value, Real) or isinstance(value, bool):
            _refuse(TypeError, name, "a float", type(value).__name__)
        if math.isnan(value):
            _refuse(ValueError, name, "a number", value)
    if not 0 <= fastemit_lambda < math.inf:
        _refuse(ValueError, "fastemit_lambda", "at least 0 and finite", fastemit_lambda)
    check_switches(fused_log_softmax=fused_log_softmax, zero_infinity=zero_infinity)


def check_switches(**switches):
    for name, value in switches.items():
        if not isinstance(value, bool):
            _refuse(TypeError, name, "a bool", type(value).__name__)


def check_tensors(logits, targets, logit_lengths, target_lengths):
    names = ("logits", "targets", "logit_lengths", "target_lengths")
    for name, value in zip(names, (logits, targets, logit_lengths, target_lengths)):
        if not isinstance(value, Tensor):
            _refuse(TypeError, name, "a Tensor", type(value).__name__)


def check_reduction(reduction):
    if reduction not in REDUCTIONS:
        _refuse(ValueError, "reduction", f"one of {list(REDUCTIONS)}", repr(reduction))


def check_shapes(dtypes, shapes, blank):
    """Dtypes, ranks and sizes of (logits, targets, logit_lengths, target_lengths).

    What is not known when a graph is compiled is None: a size, or a whole shape.
    """
    names = ("logits", "targets", "logit_lengths", "target_lengths")
    ranks = ((2, 4), (2,), (1,), (1,))
    for name, dtype, shape, rank in zip(names, dtypes, shapes, ranks):
        allowed = LOGITS_DTYPES if name == "logits" else INT_DTYPES
        if str(dtype) not in allowed:
            _refuse(TypeError, name, f"a Tensor of one of {list(allowed)}", dtype)
        if shape is not None and len(shape) not in rank:
            _refuse(ValueError, name, f"of rank {' or '.join(map(str, rank))}", f"shape {shape}")
    if None in shapes:
        return
    logits, targets, logit_lengths, target_lengths = shapes
    B, V = logit_lengths[0], logits[-1]
    if B == 0:
        _refuse(ValueError, "logit_lengths", "of at least 1 sample", f"shape {logit_lengths}")
    batch_sizes = [("targets", targets[0]), ("target_lengths", target_lengths[0])]
    batch_sizes += [("logits", logits[0])] if len(logits) == 4 else []
    for name, size in batch_sizes:
        if None not in (size, B) and size != B:
            _refuse(
                ValueError,
                name,
                f"of {B} samples, as many as 'logit_lengths' holds",
                f"{size} samples",
            )
    if 0 in logits[1:]:
        sizes = "class" if len(logits) == 2 else "frame, label position and class"
        _refuse(ValueError, "logits", f"of at least 1 {sizes}", f"shape {logits}")
    if V is not None and not -V <= blank < V:
        _refuse(ValueError, "blank", f"in [{-V}, {V}), as 'logits' has {V} classes", blank)


def check_values(logits_shape, targets, logit_lengths, target_lengths):
    """Lengths and labels as NumPy arrays: do they lie within the tensors?"""
    padded, V = len(logits_shape) == 4, logits_shape[-1]
    max_t = logits_shape[1] if padded else None
    max_u, max_u_from = targets.shape[1], "targets"
    if padded and logits_shape[2] - 1 < max_u:
        max_u, max_u_from = logits_shape[2] - 1, "logits"
    _check_lengths("logit_lengths", logit_lengths, 1, max_t, "logits")
    _check_lengths("target_lengths", target_lengths, 0, max_u, max_u_from)
    if not padded:
        rows = row_count(logit_lengths, target_lengths)
        if rows != logits_shape[0]:
            _refuse(
                ValueError,
                "logits",
                "of as many rows as logit_lengths * (target_lengths + 1) adds up to, "
                f"which is {rows}",
                f"{logits_shape[0]} rows",
            )
    used = np.arange(targets.shape[1]) < target_lengths[:, None]
    bad = np.argwhere(used & ((targets < 0) | (targets >= V)))
    if len(bad):
        b, u = bad[0]
        _refuse(
            ValueError,
            "targets",
            f"in [0, {V}), as 'logits' has {V} classes",
            f"{targets[b, u]} at position {u} of sample {b}",
        )


def _check_lengths(name, lengths, least, most, most_from):
    bad = lengths < least
    if most is not None:
        bad |= lengths > most
    if bad.any():
        b = int(bad.argmax())
        wanted = f"at least {least}" if most is None else f"in [{least}, {most}]"
        where = "" if most is None else f", as the shape of '{most_from}' allows"
        _refuse(ValueError, name, wanted + where, f"{lengths[b]} in sample {b}")


def _refuse(error, name, expected, got):
    forget_recorded_gradient()
    raise error(f"For 'rnnt_loss', the '{name}' must be {expected}, but got {got}.")
