# SPDX-License-Identifier: Apache-2.0
"""The CPU library through ctypes; the only place that loads it. Needs NumPy only.

MindSpore loads the same file by itself (see kernels/cpu.py), so levels and thread counts that are
set here hold for its calls, too.
"""

import ctypes
import os
from functools import lru_cache
from pathlib import Path

import numpy as np

from .cpus import default_threads

_LIBRARY = Path(__file__).parents[1] / "lib" / "libmindspore_rnnt_cpu.so"
_MESSAGE_SIZE = 1024


def library_path() -> Path:
    """Where the library is; a FileNotFoundError that says how to get it if it is not there."""
    if not _LIBRARY.exists():
        raise FileNotFoundError(
            f"mindspore_rnnt: the CPU library {_LIBRARY} is missing. Build it with "
            "`pip install .` (or `pip install -e .`) in the project's folder; "
            "that needs g++ 9 or newer and cmake."
        )
    return _LIBRARY


@lru_cache(maxsize=1)
def load_library() -> ctypes.CDLL:
    """The loaded library, with the signatures of its plain C functions."""
    lib = ctypes.CDLL(str(library_path()))
    for name, result, arguments in (
        ("MindsporeRnntVersion", ctypes.c_char_p, ()),
        ("MindsporeRnntCpuLevel", ctypes.c_char_p, ()),
        ("MindsporeRnntCpuLevels", ctypes.c_char_p, ()),
        ("MindsporeRnntSelectCpuLevel", ctypes.c_int, (ctypes.c_char_p,)),
        ("MindsporeRnntThreads", ctypes.c_int, ()),
        ("MindsporeRnntMostThreads", ctypes.c_int, ()),
        ("MindsporeRnntSetThreads", None, (ctypes.c_int,)),
        (
            "MindsporeRnntStream",
            ctypes.c_double,
            (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64),
        ),
        ("MindsporeRnntRun", ctypes.c_int, None),
    ):
        function = getattr(lib, name)
        function.restype = result
        if arguments is not None:
            function.argtypes = arguments
    lib.MindsporeRnntSetThreads(default_threads().number)
    return lib


def version() -> str:
    """The version that the library was built as."""
    return load_library().MindsporeRnntVersion().decode()


def cpu_level() -> str:
    """The SIMD level in use; a RuntimeError if MINDSPORE_RNNT_CPU names none of this machine's."""
    level = load_library().MindsporeRnntCpuLevel().decode()
    if not level:
        raise RuntimeError(
            f"MINDSPORE_RNNT_CPU must be one of {cpu_levels()} on this machine, "
            f"but is {os.environ.get('MINDSPORE_RNNT_CPU')!r}"
        )
    return level


def cpu_levels() -> list[str]:
    """The SIMD levels that this machine has, best first."""
    return load_library().MindsporeRnntCpuLevels().decode().split(",")


def select_cpu_level(level: str) -> None:
    """Use this SIMD level from now on, as MINDSPORE_RNNT_CPU does from the start."""
    if load_library().MindsporeRnntSelectCpuLevel(level.encode()) != 0:
        raise ValueError(
            f"the SIMD level must be one of {cpu_levels()} on this machine, but got {level!r}"
        )


def stream_seconds(source: np.ndarray, target: np.ndarray) -> float:
    """Seconds to read `source`, then to read it again and write `target`, with all threads."""
    if source.nbytes != target.nbytes:
        raise ValueError(f"target must have {source.nbytes} bytes, but has {target.nbytes}")
    cpu_level()  # which raises; what the library throws here would end the process
    return load_library().MindsporeRnntStream(source.ctypes.data, target.ctypes.data, source.nbytes)


def run_op(name: str, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> None:
    """Call an operator on NumPy arrays, the way MindSpore does, and fill `outputs`.

    uint16 arrays stand for bfloat16. A RuntimeError tells what the operator refuses.
    """
    inputs = [np.ascontiguousarray(array) for array in inputs]
    arrays = [*inputs, *outputs]
    if not all(array.flags.c_contiguous for array in outputs):
        raise ValueError("outputs must be contiguous")
    count = len(arrays)
    shapes = [(ctypes.c_int64 * max(array.ndim, 1))(*array.shape) for array in arrays]
    dtypes = ["bfloat16" if array.dtype == np.uint16 else str(array.dtype) for array in arrays]
    message = ctypes.create_string_buffer(_MESSAGE_SIZE)
    code = load_library().MindsporeRnntRun(
        getattr(load_library(), name),
        count,
        (ctypes.c_void_p * count)(*(array.ctypes.data for array in arrays)),
        (ctypes.c_int * count)(*(array.ndim for array in arrays)),
        (ctypes.POINTER(ctypes.c_int64) * count)(
            *(ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)) for shape in shapes)
        ),
        (ctypes.c_char_p * count)(*(dtype.encode() for dtype in dtypes)),
        message,
        ctypes.c_int64(_MESSAGE_SIZE),
    )
    if code != 0:
        raise RuntimeError(message.value.decode() or f"{name} returned {code}")
