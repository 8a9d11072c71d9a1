# SPDX-License-Identifier: Apache-2.0
"""Peak memory of one call beside its logits, in a process of its own.

python -m mindspore_rnnt.bench.memory <form> <mode> <B> <T> <U> <V> prints it in bytes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .problems import Problem, uniform

MODES = ("pynative", "jit", "graph")


def peak_bytes(problem: Problem, form: str, mode: str) -> int:
    """The most memory beside the logits while loss and gradient (or the loss alone) are made."""
    (T, U), B = problem.lengths[0], len(problem.lengths)
    command = [sys.executable, "-m", __name__, form, mode, *map(str, (B, T, U, problem.V))]
    child = subprocess.run(command, capture_output=True, text=True)
    if child.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{child.stderr}")
    return int(child.stdout.split()[-1])


def peak_of_call(call: Callable, inputs: Sequence[Any]) -> tuple[int, Any]:
    """The most memory of this process beyond what it has before the call, in bytes; and the result.
    Whatever is loaded or compiled on a first call must be so already."""
    import mindspore as ms

    ms.runtime.synchronize()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = _status("VmRSS")
    result = call(*inputs)
    ms.runtime.synchronize()
    return _status("VmHWM") - before, result


def _child(form, mode, problem):
    import mindspore as ms

    from .family import LOSSES, joiner_call

    if mode == "graph":
        ms.set_context(mode=ms.GRAPH_MODE)
    call_of = joiner_call if form in LOSSES else _call_on_logits
    call, inputs = call_of(form, mode, uniform(1, 2, 1, problem.V))
    call(*inputs)  # what is loaded and compiled once
    return peak_of_call(*call_of(form, mode, problem))[0]


def _call_on_logits(form, mode, problem):
    from .contenders import our_call, our_inputs

    return our_call(form, "pynative" if mode == "pynative" else "jit"), our_inputs(problem)


def _status(key):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {key}")


if __name__ == "__main__":
    B, T, U, V = map(int, sys.argv[3:])
    print(_child(sys.argv[1], sys.argv[2], uniform(B, T, U, V)))
