# SPDX-License-Identifier: Apache-2.0
"""The duration head of a token-and-duration transducer in MindSpore operators, for a device without
the operators RnntDurationLogProbs and RnntDurationGrad.

A cell's head has as many arcs as entries. Its gradient is

    g_d = softmax_d occupation - post_d,   dlogits_d = clamp(g_d) * dloss

with post_d the posterior of both arcs of duration d.
"""

import math

import mindspore as ms
from mindspore import Tensor, ops

from .divergence import precise_dtype
from .native import Param
from .row_labels import NO_CELL


def duration_log_probs(logits: Tensor, row_labels: Tensor) -> Tensor:
    """log P(d) of each cell, (.., D) float32; 0 where no cell is. (MindSpore's own log_softmax is
    off by 5e-6 on CPU.)"""
    log_probs = _log_softmax(logits).astype(ms.float32)
    return ops.masked_fill(log_probs, ops.expand_dims(row_labels == NO_CELL, -1), 0.0)


def duration_grad(
    logits: Tensor,
    row_labels: Tensor,
    coefficients: Tensor,
    posteriors: Tensor,
    row_dloss: Tensor,
    params: Tensor,
) -> Tensor:
    """The gradient of the logits, in their dtype."""
    softmax = ops.exp(_log_softmax(logits)).astype(ms.float32)
    occupation = coefficients[..., 0:1]
    g = ops.masked_fill(softmax * occupation, occupation == 0, 0.0) - posteriors
    clamp = params[Param.CLAMP]
    clamp = ops.where(clamp > 0, clamp, math.inf)
    g = ops.where(g > clamp, clamp, ops.where(g < -clamp, -clamp, g))  # NaN stays NaN
    dloss = ops.expand_dims(row_dloss, -1)
    # 0 stays 0 under an upstream gradient that is not finite, and one of 0 drops a sample.
    no_gradient = ops.logical_or(dloss == 0, ops.expand_dims(row_labels == NO_CELL, -1))
    dlogits = ops.masked_fill(g * dloss, ops.logical_or(g == 0, no_gradient), 0.0)
    return dlogits.astype(logits.dtype)


def _log_softmax(logits: Tensor) -> Tensor:
    x = logits.astype(precise_dtype())
    gap = x - x.max(axis=-1, keepdims=True)
    return gap - ops.log(ops.exp(gap).sum(-1, keepdims=True))
