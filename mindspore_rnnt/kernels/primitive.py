# SPDX-License-Identifier: Apache-2.0
"""From a signature to the primitive that MindSpore calls; the same for every device."""

from collections.abc import Callable

from mindspore import ops
from mindspore.ops import CustomRegOp, DataType

from .signatures import ROW_DTYPES, ROWS, Signature

_DATA_TYPE = {
    "float32": DataType.F32_Default,
    "float16": DataType.F16_Default,
    "bfloat16": DataType.BF16_Default,
    "int32": DataType.I32_Default,
}


class AotPrimitive(ops.Custom):
    """`ops.Custom` that survives copy.deepcopy of the Cell which holds it."""

    def __init__(self, entry: str, signature: Signature, bprop: Callable, target: str) -> None:
        """`entry` is "<library>:<function>". `out_shape` and `out_dtype` are None because only the
        library's own inference works with dynamic shapes."""
        super().__init__(entry, None, None, "aot", bprop, registration(signature, target))

    def __deepcopy__(self, memo: dict) -> "AotPrimitive":
        return self


def registration(signature: Signature, target: str) -> dict:
    """What MindSpore is told of an operator: names in order, a row for each dtype of logits."""
    reg = CustomRegOp(signature.name)
    for index, operand in enumerate(signature.inputs):
        reg.input(index, operand.name)
    for index, operand in enumerate(signature.outputs):
        reg.output(index, operand.name)
    for rows in ROW_DTYPES:
        dtypes = [
            rows if operand.dtype == ROWS else operand.dtype
            for operand in (*signature.inputs, *signature.outputs)
        ]
        reg.dtype_format(*(_DATA_TYPE[dtype] for dtype in dtypes))
    return reg.target(target).get_op_info()
