# SPDX-License-Identifier: Apache-2.0
"""Batches to verify with, and the loss and gradient of a device on them."""

from dataclasses import dataclass, field, replace

import mindspore as ms
import numpy as np
from mindspore import Tensor

from ..loss import RNNTLoss
from ..reference import rnnt_loss_reference

DTYPES = {"float32": ms.float32, "float16": ms.float16, "bfloat16": ms.bfloat16}


@dataclass(frozen=True)
class Case:
    """Random samples of (T, U); logits of scale 2 that are exact in `dtype`."""

    name: str
    lengths: tuple[tuple[int, int], ...]
    V: int
    dtype: str = "float32"
    padded: bool = False
    options: dict = field(default_factory=dict)  # of RNNTLoss
    seed: int = 0

    def __str__(self):
        layout = "padded" if self.padded else "packed"
        return f"{self.name}, {layout} {self.dtype}, V={self.V}"

    def with_dtype(self, dtype: str) -> "Case":
        return replace(self, dtype=dtype)

    def arrays(self):
        """(logits, targets, logit_lengths, target_lengths); what must not be read is NaN or -1."""
        rng = np.random.default_rng(self.seed)
        T, U = np.array(self.lengths, np.int32).T
        samples = [self._logits(rng, t, u) for t, u in self.lengths]
        targets = np.full((len(T), max(U.max(), 1)), -1, np.int32)
        for row, u in zip(targets, U):
            row[:u] = rng.integers(0, self.V, u)
        if not self.padded:
            return np.concatenate([s.reshape(-1, self.V) for s in samples]), targets, T, U
        logits = np.full((len(T), T.max(), targets.shape[1] + 1, self.V), np.nan, np.float32)
        for place, sample in zip(logits, samples):
            place[: sample.shape[0], : sample.shape[1]] = sample
        return logits, targets, T, U

    def _logits(self, rng, T, U):
        logits = rng.standard_normal((T, U + 1, self.V), np.float32) * 2
        if not self.options.get("fused_log_softmax", True):
            logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
        return rounded(logits, self.dtype)

    def expected(self, arrays=None):
        """Losses and the gradient of their sum, float64."""
        options = {k: v for k, v in self.options.items() if k not in ("fused_grad", "validate")}
        return rnnt_loss_reference(*(arrays or self.arrays()), **options)


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """The float32 values that are left once stored as `dtype`."""
    return Tensor(values, ms.float32).astype(DTYPES[dtype]).astype(ms.float32).asnumpy()


def evaluate(case: Case, arrays=None, run=None) -> tuple[np.ndarray, np.ndarray]:
    """Losses (B,) and the gradient of their sum, as float32 arrays.

    `run` turns the function (logits, targets, lengths...) -> (losses, dlogits) into what is called:
    ms.jit, for example.
    """
    logits, *batch = arrays or case.arrays()
    loss_and_grad = ms.value_and_grad(loss_cell(case), 0)
    losses, dlogits = (run or eager)(loss_and_grad)(
        Tensor(logits, ms.float32).astype(DTYPES[case.dtype]), *map(Tensor, batch)
    )
    return losses.asnumpy(), dlogits.astype(ms.float32).asnumpy()


def eager(function):
    return function


def loss_cell(case: Case) -> RNNTLoss:
    cell = RNNTLoss(**{"reduction": "none", **case.options})
    cell.set_train()
    return cell
