# SPDX-License-Identifier: Apache-2.0
"""The sources of the Ascend operators, and a version that tells two states of them apart."""

import hashlib
from pathlib import Path

from .. import __version__

_PACKAGE = Path(__file__).resolve().parents[1]
# In a source tree, or what a wheel carries of it.
SOURCE = next(
    (path for path in (_PACKAGE.parent / "ascendc_op", _PACKAGE / "_ascendc_op") if path.is_dir()),
    _PACKAGE / "_ascendc_op",
)
FOLDERS = ("op_host", "op_kernel")  # what CANN builds


def operators_version() -> str:
    """The version of mindspore_rnnt, which development does not change, and a hash of what is
    built."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in FOLDERS for path in (SOURCE / folder).rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            digest.update(f"{path.relative_to(SOURCE).as_posix()} {len(content)}\n".encode())
            digest.update(content)
    return f"{__version__}+{digest.hexdigest()[:12]}"
