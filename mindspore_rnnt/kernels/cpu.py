# SPDX-License-Identifier: Apache-2.0
"""The operators on CPU: entries of lib/libmindspore_rnnt_cpu.so, which also infers the outputs."""

from collections.abc import Callable

from ..native import cpu_level, library_path, load_library
from .primitive import AotPrimitive
from .signatures import Signature


def create_op(signature: Signature, bprop: Callable) -> AotPrimitive:
    # MindSpore loads the library again, by its path. This first load sets the number of threads.
    load_library()
    cpu_level()  # raises for a MINDSPORE_RNNT_CPU that would give NaN in a compiled graph
    return AotPrimitive(f"{library_path()}:{signature.name}", signature, bprop, "CPU")
