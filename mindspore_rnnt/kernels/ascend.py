# SPDX-License-Identifier: Apache-2.0
"""The operators on Ascend: aclnn<Op> of the package that mindspore_rnnt/ascend/build.py installs.

The CPU library infers shapes and dtypes: it exports aclnn<Op>InferShape and aclnn<Op>InferType.
"""

import atexit
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache

from ..ascend.package import VARIABLE, came_too_late, require_package
from ..native import library_path
from .primitive import AotPrimitive
from .signatures import Signature

_CACHE_VARIABLE = "MS_COMPILER_CACHE_PATH"


def create_op(signature: Signature, bprop: Callable) -> AotPrimitive:
    package = require_package()
    if came_too_late(package):
        warnings.warn(
            f"CANN's operators were loaded before those of {package} were in {VARIABLE}, so the "
            "next call may not find them. Import rnnt_loss or RNNTLoss before the first operator "
            "runs on the NPU, or export the variable in the shell.",
            RuntimeWarning,
            stacklevel=2,
        )
    if "ASCEND_OPP_PATH" not in os.environ:
        raise RuntimeError(
            "For 'rnnt_loss', ASCEND_OPP_PATH must be set before MindSpore is imported, but it is "
            "not. Source set_env.sh of the CANN toolkit in the shell that starts Python."
        )
    with _callback_folder():
        try:
            entry = f"{library_path()}:aclnn{signature.name}"
            return AotPrimitive(entry, signature, bprop, "Ascend")
        except Exception as error:
            raise RuntimeError(
                f"For 'rnnt_loss', {signature.name} of {package} cannot be used: {error}"
            ) from error


@contextmanager
def _callback_folder() -> Iterator[None]:
    """MindSpore compiles a callback for each operator into ./custom_kernel_meta, where processes
    collide, and remembers the relative path. So unless the user chose a folder, take our own."""
    if _CACHE_VARIABLE in os.environ:
        yield
        return
    os.environ[_CACHE_VARIABLE] = _private_folder()
    try:
        yield
    finally:
        del os.environ[_CACHE_VARIABLE]


@lru_cache
def _private_folder() -> str:
    folder = tempfile.mkdtemp(prefix="mindspore_rnnt_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
