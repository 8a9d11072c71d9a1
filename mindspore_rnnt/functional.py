# SPDX-License-Identifier: Apache-2.0
"""rnnt_loss: check, launch one operator, reduce."""

from functools import lru_cache

import mindspore as ms
from mindspore import Tensor, ops

from .checks import check_options, check_reduction, check_shapes, check_values
from .kernels import get_ops
from .kernels.eager import fused_loss
from .params import pack_params

INT32_RANGE = (-(2**31), 2**31 - 1)


def rnnt_loss(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = -1,
    clamp: float = -1.0,
    reduction: str = "mean",
    fused_log_softmax: bool = True,
    *,
    fastemit_lambda: float = 0.0,
    zero_infinity: bool = False,
    fused_grad: bool = True,
    validate: bool = True,
) -> Tensor:
    options = (blank, clamp, fused_log_softmax, fastemit_lambda, zero_infinity)
    losses = sample_losses(
        logits, targets, logit_lengths, target_lengths, options, fused_grad, validate
    )
    return reduce_losses(losses, reduction)


def sample_losses(logits, targets, logit_lengths, target_lengths, options, fused_grad, validate):
    """The loss of each sample, (B,) float32. `options` are the arguments of `check_options`."""
    compiled = _is_compiled(_marker)
    dtypes = (logits.dtype, targets.dtype, logit_lengths.dtype, target_lengths.dtype)
    shapes = (logits.shape, targets.shape, logit_lengths.shape, target_lengths.shape)
    if compiled:
        _check_compiled(dtypes, shapes, options)
    else:
        check_options(*options)
        check_shapes(dtypes, shapes, options[0])
        if validate:
            check_values(
                logits.shape, targets.asnumpy(), logit_lengths.asnumpy(), target_lengths.asnumpy()
            )
    batch = (
        logits,
        _as_int32(targets),
        _as_int32(logit_lengths),
        _as_int32(target_lengths),
        _params(options, not compiled),
    )
    if not fused_grad:
        return get_ops().forward(*batch)[0]
    if compiled:
        return get_ops().fused(*batch)[0]
    return fused_loss(*batch)


def reduce_losses(losses, reduction):
    """(B,) -> (B,) or a scalar. `mean` is over the batch, whatever the lengths."""
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    return losses


def _as_int32(x):
    """An int64 that does not fit becomes an int32 that no kernel accepts, never a valid one."""
    if x.dtype == ms.int64:
        return ops.clamp(x, *INT32_RANGE).astype(ms.int32)
    return x


def _marker():
    """A graph has no constant for a function: `_is_compiled` sees None in its place."""


@ms.constexpr(check=False)
def _is_compiled(marker):
    """True while a graph is compiled (jit by ast or bytecode, GRAPH_MODE), False when Python runs."""
    return marker is None


@ms.constexpr(check=False)
def _check_compiled(dtypes, shapes, options):
    check_options(*options)
    check_shapes(dtypes, shapes, options[0])


@ms.constexpr(check=False)
def _params(options, may_throw):
    return _params_tensor(*options, may_throw)


@lru_cache
def _params_tensor(*options):
    return Tensor(pack_params(*options))
