# SPDX-License-Identifier: Apache-2.0
"""Calls the host side of the operators (ascendc_op/op_host) on the mocks of host/."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from aot_build.twin import build_twin

OP_HOST = build_twin.TWIN.parents[1] / "ascendc_op" / "op_host"
UB_BYTES = 192 * 1024 - 256
SYSTEM_WORKSPACE = 16 * 1024 * 1024  # the framework's part of a workspace

# ge::DataType by numpy's name.
DATA_TYPES = {"float32": 0, "float16": 1, "int32": 3, "int64": 9, "bfloat16": 27}

Tensor = tuple[str, Sequence[int]]  # data type, shape


class HostError(RuntimeError):
    """A host function answered GRAPH_FAILED."""


@dataclass(frozen=True)
class Decision:
    """What a tiling function decided. `workspace` includes the framework's part."""

    block_dim: int
    schedule_mode: int
    tiling_key: int
    workspace: int
    tiling: bytes


class Host:
    """The operators that a compiled op_host folder registers."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.HostOperators.restype = ctypes.c_char_p
        self._library.HostNode.restype = ctypes.c_void_p
        self._library.HostNode.argtypes = [
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_uint32,
            ctypes.c_uint64,
        ]
        self._library.HostAttr.argtypes = [ctypes.c_void_p, ctypes.c_char, ctypes.c_double]
        for name in ("HostTile", "HostInferShape", "HostInferDataType"):
            function = getattr(self._library, name)
            function.restype = ctypes.c_uint32
            function.argtypes = [ctypes.c_void_p, ctypes.c_char_p]

    def operators(self) -> dict[str, dict]:
        """Inputs, outputs, attributes and chips of each operator, as registered."""
        return json.loads(self._library.HostOperators().decode())

    def tile(
        self,
        op: str,
        inputs: Sequence[Tensor],
        attrs: Sequence[int | float | bool] = (),
        vector_cores: int = 48,
        ub_bytes: int = UB_BYTES,
    ) -> Decision:
        with self._node(op, inputs, attrs, vector_cores, ub_bytes) as node:
            if self._library.HostTile(node, op.encode()) != 0:
                raise HostError(f"tiling of {op} failed")
            numbers = (ctypes.c_uint64 * 5)()
            tiling = (ctypes.c_uint8 * 2048)()
            self._library.HostDecision(ctypes.c_void_p(node), numbers, tiling)
            return Decision(*(int(n) for n in numbers[:4]), bytes(tiling[: numbers[4]]))

    def infer(self, op: str, inputs: Sequence[Tensor]) -> list[tuple[int, tuple[int, ...]]]:
        """ge::DataType and shape of each output."""
        with self._node(op, inputs, ()) as node:
            for function in (self._library.HostInferShape, self._library.HostInferDataType):
                if function(node, op.encode()) != 0:
                    raise HostError(f"inference of {op} failed")
            return [self._output(node, i) for i in range(self._output_count(op))]

    def _output(self, node: int, index: int) -> tuple[int, tuple[int, ...]]:
        dims = (ctypes.c_int64 * 25)()
        data_type = ctypes.c_int()
        count = self._library.HostOutput(
            ctypes.c_void_p(node), index, dims, ctypes.byref(data_type)
        )
        return data_type.value, tuple(dims[:count])

    def _output_count(self, op: str) -> int:
        return len(self.operators()[op]["outputs"])

    @contextmanager
    def _node(self, op, inputs, attrs, vector_cores=48, ub_bytes=UB_BYTES):
        node = self._library.HostNode(op.encode(), self._output_count(op), vector_cores, ub_bytes)
        try:
            for data_type, shape in inputs:
                dims = (ctypes.c_int64 * max(len(shape), 1))(*shape)
                self._library.HostInput(
                    ctypes.c_void_p(node), DATA_TYPES[data_type], dims, len(shape)
                )
            for value in attrs:
                kind = b"b" if isinstance(value, bool) else b"i" if isinstance(value, int) else b"f"
                self._library.HostAttr(node, kind, float(value))
            yield node
        finally:
            self._library.HostFree(ctypes.c_void_p(node))


@lru_cache(maxsize=16)
def load(op_host: Path = OP_HOST) -> Host:
    """Compiles op_host with the host compiler's standard (C++11) and loads it."""
    return Host(build_twin.build_host(op_host))
