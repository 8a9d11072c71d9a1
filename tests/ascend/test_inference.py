# SPDX-License-Identifier: Apache-2.0
"""MindSpore infers with the library's aclnn exports, CANN with op_host: they must agree."""

import ctypes
from pathlib import Path

import pytest

from aot_build.twin import host_driver
from mindspore_rnnt.kernels.signatures import ROW_DTYPES, ROWS, SIGNATURES, signatures_of
from mindspore_rnnt.native import library_path

# MindSpore's numbers for dtypes (mindspore/core/include/mindapi/base/type_id.h), by CANN's.
TYPE_IDS = {"float32": 43, "float16": 42, "bfloat16": 45, "int32": 34}
FROM_TYPE_ID = {TYPE_IDS[name]: host_driver.DATA_TYPES[name] for name in TYPE_IDS}

B, N, V, D, MAX_T, MAX_U = 2, 20, 5, 6, 7, 3
PACKED = {
    "logits": (N, V),
    "grad": (N, V),
    "targets": (B, MAX_U),
    "logit_lengths": (B,),
    "target_lengths": (B,),
    "params": (8,),
    "state": (N, 5),
    "dloss": (B,),
    "row_labels": (N,),
    "stats": (N, 4),
    "coefficients": (N, 3),
    "row_dloss": (N,),
    "durations": (D,),
    "duration_log_probs": (N, D),
}
CELLS = (B, MAX_T, MAX_U + 1)
PADDED = {
    **PACKED,
    "logits": (*CELLS, V),
    "grad": (*CELLS, V),
    "stats": (*CELLS, 4),
    "duration_log_probs": (*CELLS, D),
}
UNKNOWN_SIZES = {name: (-1,) * len(shape) for name, shape in PACKED.items()}
UNKNOWN_ROWS = {
    **PACKED,
    "logits": (-1, V),
    "grad": (-1, V),
    "stats": (-1, 4),
    "duration_log_probs": (-1, D),
}
UNKNOWN_CELLS = (B, -1, -1)
UNKNOWN_PADDED = {
    **PACKED,
    "logits": (*UNKNOWN_CELLS, V),
    "grad": (*UNKNOWN_CELLS, V),
    "stats": (*UNKNOWN_CELLS, 4),
    "duration_log_probs": (*UNKNOWN_CELLS, D),
}
UNKNOWN_RANK = {name: (-2,) for name in PACKED}
SHAPES = {
    "packed": PACKED,
    "padded": PADDED,
    "unknown rows": UNKNOWN_ROWS,
    "unknown padding": UNKNOWN_PADDED,
    "unknown sizes": UNKNOWN_SIZES,
    "unknown rank": UNKNOWN_RANK,
}


@pytest.fixture(scope="module")
def probe(compile_cpp):
    source = Path(__file__).parent / "infer_probe.cpp"
    return ctypes.CDLL(str(compile_cpp(source, "-shared", "-fPIC", "-ldl", standard="c++17"))).Probe


def library_infers(probe, export, shapes, dtypes, outputs):
    """(dtype as in CANN, shape) of each output."""
    arrays = [(ctypes.c_int64 * len(shape))(*shape) for shape in shapes]
    pointer = ctypes.POINTER(ctypes.c_int64)
    out = (ctypes.c_int64 * 64)()
    count = probe(
        str(library_path()).encode(),
        export.encode(),
        outputs,
        len(shapes),
        (ctypes.c_int * len(shapes))(*map(len, shapes)),
        (pointer * len(shapes))(*(ctypes.cast(array, pointer) for array in arrays)),
        (ctypes.c_int * len(shapes))(*(TYPE_IDS[dtype] for dtype in dtypes)),
        out,
    )
    numbers = list(out[:count])
    inferred = []
    while numbers:
        dtype, rank = numbers[:2]
        inferred.append((FROM_TYPE_ID[dtype], tuple(numbers[2 : 2 + rank])))
        numbers = numbers[2 + rank :]
    return inferred


@pytest.mark.parametrize("op", signatures_of("Ascend"))
@pytest.mark.parametrize("rows", ROW_DTYPES)
def test_cann_and_mindspore_infer_the_same(probe, op, rows):
    signature = SIGNATURES[op]
    dtypes = [rows if operand.dtype == ROWS else operand.dtype for operand in signature.inputs]
    for shapes in SHAPES.values():
        inputs = [shapes[operand.name] for operand in signature.inputs]
        by_cann = host_driver.load().infer(op, list(zip(dtypes, inputs)))
        for export in (op, f"aclnn{op}"):
            by_library = library_infers(probe, export, inputs, dtypes, len(signature.outputs))
            assert by_library == by_cann


def test_the_attribute_form_infers_as_the_fused_operator():
    host = host_driver.load()
    inputs = [("bfloat16", (N, V)), ("int32", (B, MAX_U)), ("int32", (B,)), ("int32", (B,))]
    fused = host.infer("RnntFused", [*inputs, ("float32", (8,))])
    assert host.infer("RnntLossFused", inputs) == fused == [(0, (B,)), (27, (N, V))]
