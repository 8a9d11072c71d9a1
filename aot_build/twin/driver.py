# SPDX-License-Identifier: Apache-2.0
"""Runs a kernel of a twin library on numpy arrays: outputs, faults, counters."""

from __future__ import annotations

import ctypes
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

TWIN = Path(__file__).resolve().parent
_INPUT, _OUTPUT, _WORKSPACE, _IN_PLACE = 0, 1, 2, 3


@dataclass(frozen=True)
class Fault:
    """One kind of fault at one call; `place` is the line of the kernel, when it is known."""

    fault: str
    api: str
    what: str
    detail: str
    core: int
    phase: int
    count: int
    place: str = ""

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        where = f" at {self.place}" if self.place else ""
        return (
            f"{self.fault}: {self.api} {self.what} {self.detail}{where}, "
            f"core {self.core}, phase {self.phase}{times}"
        )


@dataclass(frozen=True)
class Result:
    """What a launch left behind.

    `phases` are the stretches between two SyncAlls: scalar accesses, bytes, the cycle estimate,
    `instructions` by name as [calls, repeats of 256 bytes]. `tensors` has the traffic by name.
    """

    outputs: dict[str, np.ndarray]
    faults: list[Fault]
    phases: list[dict]
    tensors: dict[str, dict]
    ub_peak: int
    workspace: np.ndarray = field(repr=False, default=None)

    def fault_names(self) -> set[str]:
        return {fault.fault for fault in self.faults}

    def microseconds(self) -> float:
        """Predicted time: each phase lasts as long as its slowest core."""
        return sum(phase["microseconds"] for phase in self.phases)


def run(
    library: Path,
    entry: str,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, tuple[tuple[int, ...], str] | np.ndarray],
    tiling: bytes,
    workspace_bytes: int = 0,
    **options: int,
) -> Result:
    """Launches `entry` on the twin.

    Args:
        library: from build_twin.
        entry: name of the kernel function. Its arguments are the inputs, the outputs, the
            workspace and the tiling, in this order.
        inputs: arrays by name, never written. float16 as it is, bfloat16 as uint16.
        outputs: shape and numpy dtype by name; they start as poison. Or an array, which is written
            as it is: nothing asks whether all of it was.
        tiling: the bytes of the tiling struct.
        workspace_bytes: the user's part of the workspace.
        **options: fields of twin::Options (cores, seed, deferred, auto_sync, checks, ...).
    """
    twin = _load(library)
    twin.TwinReset()
    for name, value in options.items():
        if twin.TwinOption(name.encode(), int(value)) != 0:
            raise ValueError(f"the twin has no option {name!r}")
    kept = {name: np.ascontiguousarray(array) for name, array in inputs.items()}
    for name, array in kept.items():
        _register(twin, name, array, _INPUT)
    results = {}
    for name, output in outputs.items():
        in_place = isinstance(output, np.ndarray)
        results[name] = output if in_place else np.empty(*output)
        _register(twin, name, results[name], _IN_PLACE if in_place else _OUTPUT)
    workspace = np.empty(max(workspace_bytes, 1), np.uint8)
    _register(twin, "workspace", workspace[:workspace_bytes], _WORKSPACE)
    twin.TwinTiling(tiling, len(tiling))
    twin.TwinRun(ctypes.cast(getattr(twin, entry), ctypes.c_void_p))
    report = json.loads(twin.TwinReport().decode())
    faults = [_fault(library, record) for record in report["faults"]]
    return Result(
        results, faults, report["phases"], report["tensors"], report["ub_peak"], workspace
    )


@lru_cache(maxsize=64)
def _load(library: Path) -> ctypes.CDLL:
    twin = ctypes.CDLL(str(library))
    twin.TwinOption.argtypes = [ctypes.c_char_p, ctypes.c_int64]
    twin.TwinTensor.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int]
    twin.TwinTiling.argtypes = [ctypes.c_char_p, ctypes.c_int64]
    twin.TwinRun.argtypes = [ctypes.c_void_p]
    twin.TwinReport.restype = ctypes.c_char_p
    return twin


def _register(twin: ctypes.CDLL, name: str, array: np.ndarray, kind: int) -> None:
    twin.TwinTensor(name.encode(), array.ctypes.data, array.nbytes, kind)


def _fault(library: Path, record: dict) -> Fault:
    frames = record.pop("frames")
    return Fault(**record, place=_place(library, tuple(frames)))


@lru_cache(maxsize=1024)
def _place(library: Path, frames: tuple[int, ...]) -> str:
    """The innermost line of the call stack that is the kernel's own."""
    if not frames:
        return ""
    command = ["addr2line", "-i", "-e", str(library), *map(hex, frames)]
    try:
        lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:  # binutils may be missing: the place is a courtesy
        return ""
    for line in lines.splitlines():
        path = Path(line.split(" ")[0].rsplit(":", 1)[0])
        if path.suffix in (".h", ".cpp") and TWIN not in path.parents and "c++" not in line:
            return f"{path.name}:{line.split(' ')[0].rsplit(':', 1)[1]}"
    return ""
