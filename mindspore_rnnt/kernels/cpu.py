# SPDX-License-Identifier: Apache-2.0
"""The operators on CPU: entries of lib/libmindspore_rnnt_cpu.so, which also infers the outputs."""

from collections.abc import Callable

from ..native import library_path, load_library
from .primitive import AotPrimitive
from .signatures import Signature


def create_op(signature: Signature, bprop: Callable) -> AotPrimitive:
    load_library()  # MindSpore loads it again, by its path; this one sets the number of threads
    return AotPrimitive(f"{library_path()}:{signature.name}", signature, bprop, "CPU")
