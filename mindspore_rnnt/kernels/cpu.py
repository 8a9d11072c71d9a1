# SPDX-License-Identifier: Apache-2.0
"""The operators on CPU: entries of lib/libmindspore_rnnt_cpu.so, which also infers the outputs."""

from ..native import library_path
from .primitive import AotPrimitive
from .signatures import Signature


def create_op(signature: Signature, bprop) -> AotPrimitive:
    return AotPrimitive(f"{library_path()}:{signature.name}", signature, bprop, "CPU")
