# SPDX-License-Identifier: Apache-2.0
"""The CPU library, called without MindSpore: NumPy arrays in, NumPy arrays out."""

from .library import (
    cpu_level,
    cpu_levels,
    library_path,
    load_library,
    run_op,
    select_cpu_level,
    set_threads,
    stream_seconds,
    threads,
    version,
)
from .params import Param, pack_params

__all__ = [
    "Param",
    "cpu_level",
    "cpu_levels",
    "library_path",
    "load_library",
    "pack_params",
    "run_op",
    "select_cpu_level",
    "set_threads",
    "stream_seconds",
    "threads",
    "version",
]
