# SPDX-License-Identifier: Apache-2.0
"""What all commands share: a mistake of the user is one line and an exit code, and Ctrl-C ends a
command in an orderly way."""

import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import NoReturn

from ..requirements import check_requirements

INTERRUPTED = 130  # the exit code of a shell's command that SIGINT ended

NO_DEVICE = 2  # the exit code of a command whose device cannot be used

# The modules of each extra in pyproject.toml, beside MindSpore.
_MODULES = {
    "bench": {"yaml": "pyyaml", "matplotlib": "matplotlib"},
    "demo": {
        "yaml": "pyyaml",
        "pydantic": "pydantic",
        "matplotlib": "matplotlib",
        "jiwer": "jiwer",
        "espeakng_loader": "espeakng-loader",
        "soundfile": "soundfile",
        "scipy": "scipy",
        "tqdm": "tqdm",
    },
}


def run_command(name: str, work: Callable[[], int | None], debug: bool = False) -> int:
    """The exit code of `work`; of an error, its first line goes to stderr, unless `debug`."""
    with _interruptible():
        try:
            return work() or 0
        except KeyboardInterrupt:
            print(f"\n{name}: stopped by Ctrl-C", file=sys.stderr)
            return INTERRUPTED
        except (ImportError, MemoryError, OSError, RuntimeError, TypeError, ValueError) as error:
            if debug:
                raise
            line = str(error).strip().splitlines() or [type(error).__name__]
            print(f"{name}: {line[0]}", file=sys.stderr)
            return 1
        except Exception as error:  # a fault of this program: still one line
            if debug:
                raise
            last = traceback.extract_tb(error.__traceback__)[-1]
            reason = (str(error).strip().splitlines() or [""])[0]
            print(
                f"{name}: unexpected {type(error).__name__}: {reason} (at {last.filename}:"
                f"{last.lineno}; --debug before the command shows the traceback)",
                file=sys.stderr,
            )
            return 1


def require_extra(extra: str, *modules: str) -> None:
    """ImportError that names the extra if one of the modules (default: all of the extra's) or
    MindSpore is missing. Nothing is imported."""
    missing = [m for m in modules or _MODULES[extra] if find_spec(m) is None]
    if missing:
        packages = " ".join(_MODULES[extra][module] for module in missing)
        raise ImportError(
            f"{', '.join(missing)} of the extra '{extra}' must be installed: "
            f"pip install '.[{extra}]' in the project's folder, or pip install {packages}"
        )
    check_requirements()


def prepare_folder(folder: Path) -> Path:
    """Makes the folder and writes into it, so that long work does not fail when it is done."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        return folder


def prepare_file(file: Path) -> Path:
    """The same for a file, whose content stays as it is."""
    prepare_folder(file.parent)
    existed = file.exists()
    file.open("a").close()
    if not existed:
        file.unlink()
    return file


def use_device(name: str, device: str) -> bool:
    """Sets the device for the command `name`. If it cannot be used, one line says why."""
    import mindspore as ms

    try:
        ms.set_device(device)
    except RuntimeError as error:
        print(
            f"{name}: MindSpore cannot use the device {device}: {str(error).splitlines()[0]} "
            "('python -m mindspore_rnnt doctor' says what is missing; --device CPU runs anywhere)"
        )
        return False
    return True


@contextmanager
def _interruptible() -> Iterator[None]:
    """Whenever MindSpore compiles, it replaces the handler of SIGINT by one that sends SIGTERM to
    the process. A SIGTERM raises KeyboardInterrupt, too, while a command runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
