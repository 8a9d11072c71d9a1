# SPDX-License-Identifier: Apache-2.0
"""What PyNative mode needs, and a compiled graph does not. MindSpore's executor is private: without
it there is nothing to mend."""

import mindspore as ms

try:
    from mindspore._c_expression import MixedPrecisionType
    from mindspore.common.api import _pynative_executor as executor
except ImportError:
    executor = None


def in_given_precision(function, *inputs):
    """`function(*inputs)` with every operator in the dtype of its inputs. In a Cell that `to_float`
    or amp set to half precision they are all cast: options, sums of a row and losses, too."""
    if executor is None:
        return function(*inputs)
    executor.set_mixed_precision_type(MixedPrecisionType.NOTSET)
    try:
        return function(*inputs)
    finally:
        executor.set_mixed_precision_type(MixedPrecisionType.NOTSET, False)


@ms.constexpr(check=False)
def refuse_recorded_bprop(any_function):
    """Call it in the `bprop` of a Cell. What runs there is never recorded, so a gradient of this
    gradient would silently be zero. A graph, where `any_function` comes as None, does differentiate
    it, up to an operator that refuses; and it is compiled while MindSpore records its call."""
    if any_function is not None and executor is not None and executor.requires_grad():
        executor.clear_res()
        raise RuntimeError(
            "JoinerRNNTLoss does not support double backward. (Or an earlier error inside a "
            "gradient left MindSpore recording; then the next call will be right.)"
        )
