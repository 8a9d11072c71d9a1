# SPDX-License-Identifier: Apache-2.0
"""Losses as a user without this package would write them: MindSpore operators on packed logits of
samples of one size. They keep log-probs of the whole vocabulary and loop over the diagonals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mindspore as ms
from mindspore import Tensor, ops

_NONE = -1e30  # instead of -inf, whose differences are NaN


def composed_distillation(
    logits: Tensor, teacher: Tensor, targets: Tensor, T: Tensor, U: Tensor
) -> Tensor:
    """The sum over cells of KL(teacher || student) of blank, label and rest; the blank is last."""
    p, q = (_classes(x, targets) for x in (ops.stop_gradient(teacher), logits))
    terms = [ops.exp(a) * (a - b) for a, b in zip(p, q)]
    return terms[0].sum() + terms[1].sum() + terms[2].sum()


def composed_tdt(durations: Sequence[int]) -> Callable:
    """A function that gives the sum of the losses of its batch; the blank is last."""

    def loss(logits, duration_logits, targets, T, U):
        of_blank, of_label = _arcs(logits, targets)
        B, frames, steps = of_blank.shape
        of_durations = ops.log_softmax(duration_logits, -1).reshape((B, frames, steps, -1))
        pad = ops.full((B, frames, 1), _NONE, dtype=ms.float32)
        of_label = ops.cat((of_label, pad), 2)
        blanks = [_diagonals(of_blank + of_durations[..., i]) for i in range(len(durations))]
        labels = [_diagonals(of_label + of_durations[..., i]) for i in range(len(durations))]
        last = frames + steps - 1  # of (T, U)
        start = ops.full((B, steps), _NONE, dtype=ms.float32)
        first = ops.cat((ops.zeros((B, 1), ms.float32), start[:, 1:]), 1)
        alpha = [first]  # alpha of diagonal d, by u
        for d in range(1, last + 1):
            u = ops.range(0, steps, 1)
            is_cell = ops.logical_and(d - u >= 0, d - u < frames)
            if d == last:
                is_cell = u == steps - 1
            terms = []
            for i, n in enumerate(durations):
                if 0 < n <= d:
                    terms.append(alpha[d - n] + blanks[i][d - n])
                if n < d:
                    moved = alpha[d - n - 1] + labels[i][d - n - 1]
                    terms.append(ops.cat((start[:, :1], moved[:, :-1]), 1))
            if d == last:  # a path ends with a blank
                arcs = [(i, n) for i, n in enumerate(durations) if 0 < n <= d]
                terms = [alpha[d - n] + blanks[i][d - n] for i, n in arcs]
            together = ops.logsumexp(ops.stack(terms), 0)
            alpha.append(ops.where(is_cell, together, start))
        return -alpha[-1][:, -1].sum()

    return loss


def _arcs(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probs of blank (B, T, U + 1) and label (B, T, U)."""
    B, U = targets.shape
    log_probs = ops.log_softmax(logits, -1).reshape((B, -1, U + 1, logits.shape[-1]))
    index = ops.broadcast_to(targets.reshape((B, 1, U, 1)), (B, log_probs.shape[1], U, 1))
    of_label = ops.gather_elements(log_probs[:, :, :-1], 3, index)[..., 0]
    return log_probs[..., -1], of_label


def _classes(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Log-probs of blank, label and rest."""
    of_blank, of_label = _arcs(logits, targets)
    pad = ops.zeros_like(of_blank[:, :, :1])
    label_or_none = ops.cat((ops.exp(of_label), pad), 2)
    return of_blank, of_label, ops.log(1.0 - ops.exp(of_blank) - label_or_none)


def _diagonals(x: Tensor) -> list[Tensor]:
    """(B, T, U1) -> for each d, x[t = d - u, u] by u; _NONE outside."""
    B, frames, steps = x.shape
    pad = ops.full((B, steps, steps), _NONE, dtype=ms.float32)
    skewed = ops.cat((x, pad), 1).swapaxes(1, 2).reshape((B, -1))
    width = frames + steps - 1
    skewed = skewed[:, : steps * width].reshape((B, steps, width))
    return [skewed[:, :, d] for d in range(width)]
