# SPDX-License-Identifier: Apache-2.0
"""The CPU library, called without MindSpore: NumPy arrays in, NumPy arrays out."""

from .library import (
    cpu_level,
    cpu_levels,
    library_path,
    load_library,
    run_op,
    select_cpu_level,
    stream_seconds,
    version,
)
from .params import Param, pack_params
from .threads import get_num_threads, set_num_threads, thread_source

__all__ = [
    "Param",
    "cpu_level",
    "cpu_levels",
    "get_num_threads",
    "library_path",
    "load_library",
    "pack_params",
    "run_op",
    "select_cpu_level",
    "set_num_threads",
    "stream_seconds",
    "thread_source",
    "version",
]
