# SPDX-License-Identifier: Apache-2.0
"""What must hold of the loss, each statement once, for every backend.

    values         against every path, published values, the closed form and float64
    semantics      infinities, NaN, padding, blanks, options, upstream gradients
    bad_values     lengths and labels outside their tensors
    determinism    the same bits in every layout, form and order

`cases(backend.forms)` yields them all; `case.check(backend)` raises unless one holds. The tests run
them on every backend of this machine, `python -m mindspore_rnnt verify` on the device that it is
given. Nothing here needs pytest, torch or, except for `modes`, MindSpore.
"""

from . import bad_values, determinism, semantics, values
from .backend import Backend, OperatorBackend
from .statement import STATEMENTS, Case, Failed, cases, groups

__all__ = [
    "STATEMENTS",
    "Backend",
    "Case",
    "Failed",
    "OperatorBackend",
    "bad_values",
    "cases",
    "determinism",
    "groups",
    "semantics",
    "values",
]
