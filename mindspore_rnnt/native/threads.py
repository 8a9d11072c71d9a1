# SPDX-License-Identifier: Apache-2.0
"""The number of threads of the CPU library, for its calls from MindSpore, too."""

from numbers import Integral

from .cpus import default_threads
from .library import load_library

_source = None  # of the number in use; None while it is the default


def set_num_threads(count: int) -> None:
    """Use at most this many threads in a call on the CPU; small problems use fewer.

    The default is ``OMP_NUM_THREADS`` , else one more than the CPUs that the process may run on or,
    if that is less, than its cgroup's quota. The result does not depend on the number.

    Args:
        count (int): 1 or more, and at most twice the CPUs of the machine or 64, whichever is
            greater; 0 restores the default.

    Raises:
        TypeError: If `count` is no int.
        ValueError: If `count` is negative or above the bound.

    Examples:
        >>> import mindspore_rnnt
        >>> mindspore_rnnt.set_num_threads(2)
        >>> mindspore_rnnt.get_num_threads()
        2
        >>> mindspore_rnnt.set_num_threads(0)
    """
    global _source
    library = load_library()
    if not isinstance(count, Integral) or isinstance(count, bool):
        raise TypeError(
            f"For 'set_num_threads', the 'count' must be an int, but got {type(count).__name__}."
        )
    most = library.MindsporeRnntMostThreads()
    if not 0 <= count <= most:
        raise ValueError(
            f"For 'set_num_threads', the 'count' must be in [0, {most}] on this machine, "
            f"but got {count}."
        )
    library.MindsporeRnntSetThreads(count or default_threads().number)
    _source = "set_num_threads" if count else None


def get_num_threads() -> int:
    """The most threads that a call on the CPU uses; 1 in a forked child.

    Examples:
        >>> import mindspore_rnnt
        >>> mindspore_rnnt.get_num_threads() >= 1
        True
    """
    return load_library().MindsporeRnntThreads()


def thread_source() -> str:
    """Where the number of `get_num_threads` comes from."""
    return _source or default_threads().source
