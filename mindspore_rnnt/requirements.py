# SPDX-License-Identifier: Apache-2.0
"""What must be there at run time. MindSpore is no hard dependency, because its builds differ by
device and users have theirs; and it imports with NumPy 2 only to fail later."""

from importlib.metadata import PackageNotFoundError, version

MINDSPORE = "2.7"
NUMPY_BELOW = "2"


def check_requirements() -> None:
    """Raise ImportError, with the command that helps, unless MindSpore and NumPy fit."""
    numpy = version("numpy")
    if _release(numpy) >= _release(NUMPY_BELOW):
        raise ImportError(
            f"mindspore_rnnt needs numpy < {NUMPY_BELOW}, because MindSpore is built against "
            f"NumPy 1, but found {numpy}: pip install 'numpy>=1.25,<2'"
        )
    mindspore = mindspore_version()
    if mindspore is None or _release(mindspore) < _release(MINDSPORE):
        found = "found none" if mindspore is None else f"found {mindspore}"
        raise ImportError(
            f"mindspore_rnnt needs MindSpore >= {MINDSPORE}, but {found}: "
            f"pip install 'mindspore>={MINDSPORE},<3' (or see https://www.mindspore.cn/install)"
        )


def mindspore_version() -> str | None:
    """The version installed, without importing it."""
    for name in ("mindspore", "mindspore-ascend", "mindspore-dev"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None


def _release(text: str) -> tuple[int, ...]:
    """'2.7.1.post1' -> (2, 7, 1)"""
    numbers = []
    for part in text.split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)
