# SPDX-License-Identifier: Apache-2.0
"""What a statement about the loss is, and what it is given to check itself with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..reference import rnnt_loss_reference
from .backend import Backend
from .batches import Batch

ALL_FORMS = ("fused", "two_op", "chunked")
WHOLE_FORMS = ("fused", "two_op")  # those that see labels and lengths, and padded logits
STATEMENTS: list[Statement] = []


class Failed(AssertionError):
    """A statement that does not hold. (Raised, as `python -O` drops assert.)"""


class Statement(NamedTuple):
    """`check(run, **case)` raises unless it holds."""

    section: str  # values, semantics, bad_values, determinism
    check: Callable[..., None]
    forms: tuple[str, ...]
    axes: dict[str, tuple]
    large: Callable[..., bool]  # whether a case takes long on a slow backend

    @property
    def name(self) -> str:
        return self.check.__name__


class Case(NamedTuple):
    """A statement in one form, with a value for each of its axes."""

    statement: Statement
    form: str
    values: dict

    @property
    def large(self) -> bool:
        return self.statement.large(**self.values)

    @property
    def name(self) -> str:
        values = [f"{key}={value}" for key, value in self.values.items()]
        return ", ".join([self.statement.name.replace("_", " "), *values])

    def check(self, backend: Backend, report: Callable[[str], None] = print) -> None:
        self.statement.check(Run(backend, self.form, report), **self.values)


def statement(forms=ALL_FORMS, large=lambda **case: False, **axes):
    """Registers the function for all forms and all combinations of the axes' values."""

    def register(check):
        section = check.__module__.rsplit(".", 1)[1]
        STATEMENTS.append(Statement(section, check, forms, axes, large))
        return check

    return register


def cases(forms=ALL_FORMS) -> Iterator[Case]:
    """Every case of every statement, for a backend with these forms."""
    for stated in STATEMENTS:
        for form in (form for form in stated.forms if form in forms):
            for values in itertools.product(*stated.axes.values()):
                case = Case(stated, form, dict(zip(stated.axes, values)))
                if not (form == "chunked" and case.values.get("padded")):  # rows are packed
                    yield case


def groups() -> Iterator[list[Case]]:
    """All cases, those of a statement, a form and a size together."""
    found: dict[tuple, list[Case]] = {}
    for case in cases():
        found.setdefault((case.statement.name, case.form, case.large), []).append(case)
    yield from found.values()


class Run:
    """A backend in one of its forms: run(layout, ...) -> (losses, gradient)."""

    def __init__(self, backend: Backend, form: str, report: Callable[[str], None] = print):
        self.backend = backend
        self.form = form
        self.report = report

    def __call__(self, layout, dtype="float32", dloss=None, form=None, **options):
        return self.backend(form or self.form, layout, dtype, dloss, **options)

    def agrees(self, batch: Batch, padded=False, extra=(0, 0), dtype="float32", **options):
        """The batch has the reference's losses and gradient; returns those of the backend."""
        layout = batch.layout(padded, *extra)
        got = self(layout, dtype, **options)
        expected = rnnt_loss_reference(*layout, **{"reduction": "none", **options})
        self.equals(got, expected, batch, dtype)
        return got

    def equals(self, got, expected, batch: Batch, dtype="float32", scale=1.0):
        """(losses, gradient) within the tolerance of the backend; the gradient times `scale`."""
        steps = int((batch.logit_lengths + batch.target_lengths).max())
        row = self.backend.tolerance
        losses, gradient = (np.asarray(x, np.float64) for x in expected)
        self.close("losses", got[0], losses, row.of_losses(losses, steps))
        limit = row.of_gradient(gradient, steps, dtype) * max(1.0, np.abs(scale).max())
        self.close("gradient", got[1], gradient * scale, limit)

    def close(self, what: str, got, expected, limit: float) -> None:
        """NaN equals NaN and inf equals inf; everything else differs by `limit` at most."""
        got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
        self.expect(got.shape == expected.shape, f"{what}: shape {got.shape}, not {expected.shape}")
        error = largest_difference(got, expected)
        self.report(f"{what}: {error:.1e} of {limit:.1e} allowed")
        self.expect(error <= limit, f"{what}: off by {error:.3g}, of {limit:.3g} allowed")

    def same_bits(self, what: str, first, second) -> None:
        """Of (losses, gradient) twice; NaN equals NaN, and 0 equals -0."""
        for name, a, b in zip(("losses", "gradient"), first, second):
            equal = np.array_equal(a, b, equal_nan=True)
            self.expect(equal, f"{what}: {name} differ by {np.abs(a - b).max():.3g}")

    def expect(self, holds, what: str) -> None:
        if not holds:
            raise Failed(f"{self.backend.name}, {self.form}: {what}")


def largest_difference(got: np.ndarray, expected: np.ndarray) -> float:
    """NaN equals NaN, and inf equals inf; where only one is NaN or inf, the difference is inf."""
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(got - expected))
    return float(np.where(np.isnan(error), np.inf, error).max(initial=0.0))
