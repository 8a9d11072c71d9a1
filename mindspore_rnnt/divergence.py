# SPDX-License-Identifier: Apache-2.0
"""How far a student is from its teacher in each cell, over blank, label and rest."""

import math
from typing import Any

import mindspore as ms
from mindspore import Tensor, ops

from .native import Param
from .row_labels import NO_CELL


def distillation(
    stats: Tensor,
    teacher_stats: Tensor,
    row_labels: Tensor,
    row_samples: Tensor,
    least_loss: Tensor,
    params: Tensor,
) -> tuple[Tensor, Tensor]:
    """The operator RnntDistillation as a composition, for a device that does not have it: losses
    (B,) and coefficients of rows (.., 3).

    Of the stats of a row only sums over the three classes are known: exp(gap) of blank and label,
    row_sum of the rest.
    """
    p, q = _log_probs(teacher_stats), _log_probs(stats)
    kl = _divergence(p[0], q[0]) + _divergence(p[1], q[1]) + _divergence(p[2], q[2])
    no_cell = row_labels == NO_CELL
    index = row_samples.reshape((-1,))
    kl = ops.masked_fill(kl, no_cell, 0.0).reshape((-1,))
    loss = ops.unsorted_segment_sum(kl, index, least_loss.shape[0])
    # On the rest softmax_k (1 - p / q), in terms of exp(gap_k) / row_sum; on the others q - p.
    columns = [ops.exp(q[2]) - ops.exp(p[2])]
    columns = [*columns, ops.exp(p[0]) - ops.exp(q[0]), ops.exp(p[1]) - ops.exp(q[1])]
    coefficients = ops.cat([ops.expand_dims(x, -1) for x in columns], -1)
    # NaN in one cell is NaN in all of the sample; a sample that is refused or infinite has 0.
    no_gradient = ops.logical_or(ops.isnan(least_loss), loss == math.inf)
    spread = ops.gather(0.0 * loss, index, 0).reshape((*row_labels.shape, 1))
    none = ops.gather(no_gradient, index, 0).reshape(row_labels.shape)
    none = ops.expand_dims(ops.logical_or(none, no_cell), -1)
    temperature = params[Param.TEMPERATURE]
    temperature = ops.where(temperature == 0, 1.0, temperature)
    coefficients = (coefficients + spread).astype(ms.float32) / temperature
    return loss.astype(ms.float32) + 0.0 * least_loss, ops.masked_fill(coefficients, none, 0.0)


def _log_probs(stats: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of blank, label and rest in each row."""
    stats = stats.astype(precise_dtype())
    rest, of_blank, of_label = stats[..., 1], stats[..., 2], stats[..., 3]
    log_sum = ops.log(rest + ops.exp(of_blank) + ops.exp(of_label))
    return of_blank - log_sum, of_label - log_sum, ops.log(rest) - log_sum


def _divergence(log_p: Tensor, log_q: Tensor) -> Tensor:
    """p log (p / q), 0 for p = 0"""
    return ops.masked_fill(ops.exp(log_p) * (log_p - log_q), log_p == -math.inf, 0.0)


@ms.constexpr(check=False)
def precise_dtype() -> Any:
    """For the few numbers a cell of which logarithms are taken: MindSpore's exp and log of float32
    are off by 5e-6 and 2e-6 on the CPU, and Ascend has no float64."""
    return ms.float64 if ms.get_context("device_target") == "CPU" else ms.float32
