# SPDX-License-Identifier: Apache-2.0
"""What PyNative mode needs, and a compiled graph does not. MindSpore's executor is private: a
version without it gets none of this."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mindspore as ms

try:  # Where they come from depends on the version; Cell's module has needed both in all of them.
    from mindspore.nn.cell import MixedPrecisionType
    from mindspore.nn.cell import _pynative_executor as executor
except ImportError:
    executor = None


def in_given_precision(function: Callable, *inputs: Any) -> Any:
    """`function(*inputs)` with every operator in the dtype of its inputs. In a Cell that `to_float`
    or amp set to half precision they are all cast: options, sums of a row and losses, too."""
    if executor is None:
        return function(*inputs)
    executor.set_mixed_precision_type(MixedPrecisionType.NOTSET)
    try:
        return function(*inputs)
    finally:
        executor.set_mixed_precision_type(MixedPrecisionType.NOTSET, False)


def forget_recorded_gradient() -> bool:
    """An error inside a PyNative gradient leaves MindSpore's recorder on, and the next compiled
    gradient fails. The executor's own reset prevents that; call this before raising. In a backward
    pass, which runs in the executor, call it only where the recorder must be off. Returns whether
    it was on."""
    was_recording = executor is not None and executor.requires_grad()
    if was_recording:
        executor.clear_res()
    return was_recording


@contextmanager
def forgetting_on_error() -> Iterator[None]:
    """The same for whatever is raised inside."""
    try:
        yield
    except Exception:
        forget_recorded_gradient()
        raise


@ms.constexpr(check=False)
def refuse_recorded_bprop(any_function: Any, caller: str) -> None:
    """Call it in the `bprop` of a Cell. What runs there is never recorded, so a gradient of this
    gradient would silently be zero. A graph, where `any_function` comes as None, does differentiate
    it, up to an operator that refuses; and it is compiled while MindSpore records its call."""
    if any_function is not None and forget_recorded_gradient():
        raise RuntimeError(
            f"{caller} does not support double backward, nor forward mode (jvp, jacfwd). (Or "
            "an earlier error inside a gradient left MindSpore recording; then the next call will "
            "be right.)"
        )
