# SPDX-License-Identifier: Apache-2.0
"""What the TDT losses refuse beyond what `rnnt_loss` does. All of it is also checked when a graph
is compiled."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..checks import LOGITS_DTYPES, check_reduction, refuse
from .limits import check_limits_of_device

_MOST = 2**31 - 1  # durations travel as int32


def check_tdt_options(caller: str, durations: Any, reduction: str, sigma: float) -> tuple[int, ...]:
    """The options that `check_options` does not have. -> durations as a tuple."""
    check_reduction(caller, reduction)
    if not isinstance(sigma, Real) or isinstance(sigma, bool):
        refuse(caller, TypeError, "sigma", "a float", type(sigma).__name__)
    if not 0 <= sigma < math.inf:
        refuse(caller, ValueError, "sigma", "at least 0 and finite", sigma)
    most = np.finfo(np.float32).max
    if sigma > most:
        refuse(caller, ValueError, "sigma", f"at most {most:g}, as a float32", sigma)
    steps = checked_durations(caller, durations)
    check_limits_of_device(caller, steps)
    return steps


def checked_durations(caller: str, durations: Any) -> tuple[int, ...]:
    if not isinstance(durations, (tuple, list)):
        refuse(caller, TypeError, "durations", "a tuple or list of ints", type(durations).__name__)
    for duration in durations:
        if not isinstance(duration, Integral) or isinstance(duration, bool):
            expected = "a tuple or list of ints"
            refuse(caller, TypeError, "durations", expected, f"{duration!r} in {durations}")
        if not 0 <= int(duration) <= _MOST:
            refuse(caller, ValueError, "durations", f"in [0, {_MOST}]", durations)
    if len(set(durations)) < len(durations):
        refuse(caller, ValueError, "durations", "distinct", durations)
    if not any(durations):
        refuse(caller, ValueError, "durations", "at least one above 0", durations)
    return tuple(int(duration) for duration in durations)


def check_duration_logits(
    caller: str, dtype: Any, shape: Sequence, logits_shape: Sequence, durations: Sequence[int]
) -> None:
    """Dtype and shape. What is not known when a graph is compiled is None: a size, or a shape."""
    if str(dtype) not in LOGITS_DTYPES:
        expected = f"a Tensor of one of {list(LOGITS_DTYPES)}"
        refuse(caller, TypeError, "duration_logits", expected, dtype)
    if shape is None:
        return
    if len(shape) == 0 or shape[-1] not in (None, -1, len(durations)):
        expected = f"as many as the last axis of 'duration_logits' has, whose shape is {shape}"
        got = f"{len(durations)} durations: {durations}"
        refuse(caller, ValueError, "durations", expected, got)
    if logits_shape is None:
        return
    fits = len(shape) == len(logits_shape) and all(
        a == b or a in (None, -1) or b in (None, -1) for a, b in zip(shape[:-1], logits_shape[:-1])
    )
    if not fits:
        expected = f"of shape {(*logits_shape[:-1], len(durations))}, cells as in 'logits'"
        refuse(caller, ValueError, "duration_logits", expected, f"shape {shape}")
