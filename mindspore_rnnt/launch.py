# SPDX-License-Identifier: Apache-2.0
"""What a loss does around its operators, in PyNative mode and in graphs: check its arguments, pack
its options, reduce."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import mindspore as ms
from mindspore import Tensor, nn, ops

from .checks import (
    BATCH,
    check_options,
    check_shapes,
    check_switches,
    check_tensors,
    check_values,
    refuse,
)
from .kernels import prepare_import
from .kernels.recorder import in_given_precision
from .native import pack_params

_PRECISIONS = ("fp16", "bf16", "fp32")

prepare_import()


def checked_batch(
    caller: str,
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    options: tuple,
    validate: bool,
    compiled: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The batch of the function `caller`, with int32 in place of int64; `options` are what
    `check_options` takes. Values are looked at only where they are known: not in a graph."""
    inputs = (logits, targets, logit_lengths, target_lengths)
    dtypes, shapes = dtypes_and_shapes(caller, BATCH, inputs)
    _check_call(caller, dtypes, shapes, options, validate)
    if validate and not compiled:
        check_values(
            caller,
            logits.shape,
            targets.asnumpy(),
            logit_lengths.asnumpy(),
            target_lengths.asnumpy(),
        )
    return logits, as_int32(targets), as_int32(logit_lengths), as_int32(target_lengths)


def launch(function: Callable, *inputs: Any) -> Any:
    """`function(*inputs)`, in PyNative mode with every operator in the dtype of its inputs.

    Mixed precision O1 runs copies of the functions that a Cell calls, and theirs, up to one that
    holds a function, as this does. A copy has the imports of its module, but no other name of it,
    unless it is called: so `function` is imported, or defined within the caller.
    """

    def in_graph() -> Any:
        return function(*inputs)

    return in_graph() if is_compiled(ops.clamp) else in_given_precision(function, *inputs)


def dtypes_and_shapes(caller: str, names: Sequence[str], inputs: tuple) -> tuple:
    """Of Tensors. Others are refused by name, in a graph too, where a list has no dtype."""
    if is_compiled(ops.clamp):
        _check_are_tensors(caller, names, tuple([isinstance(x, Tensor) for x in inputs]))
    else:
        check_tensors(caller, names, inputs)
    return tuple([x.dtype for x in inputs]), tuple([x.shape for x in inputs])


def as_int32(x: Tensor) -> Tensor:
    """An int64 that does not fit becomes an int32 that no kernel accepts, never a valid one."""
    if x.dtype == ms.int64:
        return ops.clamp(x, -(2**31), 2**31 - 1).astype(ms.int32)
    return x


def with_a_column(targets: Tensor) -> Tensor:
    """Targets (B, 0), of a batch without labels, become (B, 1): what aclnn makes of an empty tensor
    is not documented. The column holds no class: a wrong length of 1 finds no label."""
    return ops.full((targets.shape[0], 1), -1, dtype=ms.int32) if targets.shape[1] == 0 else targets


def reduce_losses(losses: Tensor, reduction: str) -> Tensor:
    """(B,) -> (B,) or a scalar. `mean` is over the batch, whatever the lengths."""
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    return losses


def at_least_zero(losses: Tensor, labels: Tensor, blank: int) -> Tensor:
    """Paths exclude each other, so their probabilities add up to 1 at most, and what is beyond is
    rounding: unless a label is the blank, when two paths may be the same arcs. `labels` are of
    steps, (B, max_U1), and `blank` counts from the front."""
    no_blank = (labels != blank).all(axis=1)
    return ops.select(ops.logical_and(no_blank, losses < 0), ops.zeros_like(losses), losses)


class InGivenPrecision(nn.Cell):
    """A Cell within a loss: `to_float` and amp would cast each of its inputs and operators to half
    precision, options and sums of a row, too. The dtype of its inputs decides."""

    def add_flags(self, **flags: Any) -> nn.Cell:
        return super().add_flags(**{k: v for k, v in flags.items() if k not in _PRECISIONS})


# MindSpore evaluates a constexpr when it compiles a graph, and plainly calls it otherwise.


@ms.constexpr(check=False)
def is_compiled(any_function: Any) -> bool:
    """True in a graph (jit by ast or bytecode, GRAPH_MODE), False when Python runs or is traced.
    A graph has no constant for a function, so there it comes as None."""
    return any_function is None


@ms.constexpr(check=False)
def params_tensor(options: tuple, *others: Any) -> Tensor:
    """The `params` of the operators; `options` as in `check_options`, then MAY_THROW, and what
    else `pack_params` takes."""
    return _cached_params(*options, *others)


@lru_cache
def _cached_params(*options: Any) -> Tensor:
    return Tensor(pack_params(*options))


@ms.constexpr(check=False)
def _check_are_tensors(caller: str, names: Sequence[str], are_tensors: Sequence[bool]) -> None:
    for name, is_tensor in zip(names, are_tensors):
        if not is_tensor:
            refuse(caller, TypeError, name, "a Tensor", "none: convert it outside the graph")


@ms.constexpr(check=False)
def _check_call(
    caller: str, dtypes: Sequence[Any], shapes: Sequence[Any], options: tuple, validate: bool
) -> None:
    check_options(caller, *options)
    check_switches(caller, validate=validate)
    check_shapes(caller, dtypes, shapes, options[0])
