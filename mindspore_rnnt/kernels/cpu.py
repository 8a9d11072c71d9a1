# SPDX-License-Identifier: Apache-2.0
"""The operators on CPU: AOT entries of lib/libmindspore_rnnt_cpu.so, which also infers shapes and dtypes."""

from mindspore import ops
from mindspore.ops import CustomRegOp, DataType

from ..native import library_path
from .signatures import ROW_DTYPES, ROWS, Signature

_DATA_TYPE = {
    "float32": DataType.F32_Default,
    "float16": DataType.F16_Default,
    "bfloat16": DataType.BF16_Default,
    "int32": DataType.I32_Default,
}


class _CpuOp(ops.Custom):
    """`ops.Custom` that survives copy.deepcopy of the Cell which holds it."""

    def __deepcopy__(self, memo):
        return self


def create_op(signature: Signature, bprop) -> ops.Custom:
    """One operator; `out_shape` and `out_dtype` are None because only the library's own inference
    works with dynamic shapes."""
    entry = f"{library_path()}:{signature.name}"
    return _CpuOp(entry, None, None, "aot", bprop, _reg_info(signature))


def _reg_info(signature):
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
    return reg.target("CPU").get_op_info()
