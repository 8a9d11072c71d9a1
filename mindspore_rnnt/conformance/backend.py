# SPDX-License-Identifier: Apache-2.0
"""What computes the loss: a device, a way to call it, and the forms it offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import nullcontext

import numpy as np

from ..native import pack_params
from .batches import numbers, stored
from .tolerances import TOLERANCES


class Backend(ABC):
    """backend(form, layout, dtype, dloss, **options) -> losses (B,), gradient, both float32.

    A layout is (logits, targets, logit_lengths, target_lengths), packed or padded; the logits are
    float32 values that `dtype` holds exactly. `dloss` (B,) is the upstream gradient, by default 1.
    Options are those of `pack_params`.

    - fused: loss and gradient in one launch, which is then scaled
    - two_op: the backward pass reads the logits again
    - chunked: the three phases as operators, packed rows a few at a time
    """

    name: str
    device: str  # the row of TOLERANCES
    forms: tuple[str, ...] = ("fused", "two_op", "chunked")
    chunk_rows = 7
    refuses_options = False  # a wrong option may be an error, if V is known
    reports_mismatch = False  # alpha and beta that disagree are an error of fused and two_op
    worker_counts: tuple[int, ...] = ()  # cores or threads to try, if that can be chosen

    @property
    def tolerance(self):
        return TOLERANCES[self.device]

    @abstractmethod
    def __call__(self, form, layout, dtype="float32", dloss=None, **options): ...

    def workers(self, count: int):
        """A context with this many cores or threads."""
        return nullcontext()


class OperatorBackend(Backend):
    """A device through its operators, see `kernels.signatures`."""

    @abstractmethod
    def launch(self, op: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """One operator on NumPy arrays; bfloat16 is stored as its bits."""

    def __call__(self, form, layout, dtype="float32", dloss=None, **options):
        logits, *rest = layout
        batch = [stored(logits, dtype), *(np.ascontiguousarray(x, np.int32) for x in rest)]
        losses, gradient = getattr(self, form)(batch, dloss, pack_params(**options))
        return losses, numbers(gradient)

    def fused(self, batch, dloss, params):
        losses, grad = self.launch("RnntFused", [*batch, params])
        if dloss is None:
            return losses, grad
        (dlogits,) = self.launch("RnntScaleGrad", [grad, *batch[2:], np.float32(dloss)])
        return losses, dlogits

    def two_op(self, batch, dloss, params):
        losses, state = self.launch("RnntForward", [*batch, params])
        dloss = np.ones(len(losses)) if dloss is None else dloss
        (dlogits,) = self.launch("RnntBackward", [*batch, params, state, np.float32(dloss)])
        return losses, dlogits

    def chunked(self, batch, dloss, params):
        logits, targets, T, U = batch
        parts = [slice(i, i + self.chunk_rows) for i in range(0, len(logits), self.chunk_rows)]
        labels = row_labels(targets, T, U)
        dloss = np.repeat(np.ones(len(T)) if dloss is None else dloss, T * (U + 1))
        stats = [self.launch("RnntRowStats", [logits[p], labels[p], params])[0] for p in parts]
        stats = np.concatenate(stats)
        losses, coefficients = self.launch("RnntLattice", [stats, T, U, params])
        rows = logits, labels, stats, coefficients, np.float32(dloss)
        dlogits = [self.launch("RnntRowGrad", [*(x[p] for x in rows), params])[0] for p in parts]
        return losses, np.concatenate(dlogits)


def row_labels(targets, logit_lengths, target_lengths):
    """The label that may follow each packed row, -1 where none may."""
    samples = zip(targets, logit_lengths, target_lengths)
    return np.concatenate([np.tile([*y[:U], -1], T) for y, T, U in samples]).astype(np.int32)


def output_shapes(op: str, inputs: list[np.ndarray]) -> list[tuple[int, ...]]:
    """The shapes of an operator's outputs."""
    first = inputs[0].shape
    if op == "RnntFused":
        return [inputs[2].shape, first]
    if op == "RnntForward":
        return [inputs[2].shape, (int(np.prod(first[:-1])), 5)]
    if op == "RnntRowStats":
        return [(*first[:-1], 4)]
    if op == "RnntLattice":
        return [inputs[1].shape, (*first[:-1], 3)]
    return [first]  # gradients
