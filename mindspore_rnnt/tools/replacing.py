# SPDX-License-Identifier: Apache-2.0
"""A file appears whole or not at all, so the process that writes it may be killed at any moment."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path, *, lasting: bool = False, shared: bool = False) -> Iterator[Path]:
    """Write the new content of `path` to the file that this yields; it then takes the place of
    `path`, or goes if an error or Ctrl-C ends the block.

    `lasting`: after a power cut, too. `shared`: several processes may write this file at a time.
    Otherwise the draft has one name, so that a run which is often killed leaves one draft at most.
    """
    of_writer = uuid.uuid4().hex if shared else ""
    # The suffix stays the last one: it tells some writers the format.
    draft = path.with_name(f".{path.stem}{of_writer}.tmp{path.suffix}")
    try:
        draft.unlink(missing_ok=True)
        yield draft
        if lasting:
            with draft.open("rb") as stream:
                os.fsync(stream.fileno())  # else the new name may have no content
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
