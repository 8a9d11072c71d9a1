# SPDX-License-Identifier: Apache-2.0
"""Every statement of mindspore_rnnt.conformance on every backend of this machine.

A test is a statement in one form, with all its small or all its large cases. Large ones, and all
backends but the best SIMD level and PyNative mode, are marked slow. The twin runs small cases; its
own tests have long samples and wide rows. What happens at the edges runs under every rule of its
instructions, all else under the documented ones and under others with late pipes. MindSpore
compiles a graph for each case, so the cases of a statement are dealt out to the compiled modes.
"""

import itertools
import subprocess
import sys
from functools import lru_cache, partial
from pathlib import Path

import pytest
from twin.backend import TWIN_SETTINGS, Twin

from mindspore_rnnt import conformance, native
from mindspore_rnnt.conformance.cpu_kernel import CpuKernel
from mindspore_rnnt.conformance.modes import MODES, MindSpore

BACKENDS = {
    **{f"cpu-{level}": partial(CpuKernel, level) for level in native.cpu_levels()},
    **{name: partial(Twin, **settings) for name, settings in TWIN_SETTINGS.items()},
    **{f"mindspore-{mode}": partial(MindSpore, mode) for mode in MODES},
}
RUN_LARGE_CASES = {name for name in BACKENDS if name.startswith("cpu") or name.endswith("pynative")}
COMPILED = [f"mindspore-{mode}" for mode in MODES if mode != "pynative"]
EDGES = ("semantics", "bad_values")
QUICK = {f"cpu-{native.cpu_levels()[0]}", "mindspore-pynative"}

backend_of = lru_cache(lambda name: BACKENDS[name]())  # kept with the graphs that it has compiled


def parameters():
    for name, cases in itertools.product(BACKENDS, conformance.groups()):
        first = cases[0]
        if first.form not in backend_of(name).forms:
            continue
        if first.large and name not in RUN_LARGE_CASES:
            continue
        if name.startswith("twin-rules") and first.statement.section not in EDGES:
            continue
        marks = [pytest.mark.slow] if first.large or name not in QUICK else []
        size = ["large"] if first.large else []
        label = "-".join([name, first.statement.section, first.statement.name, first.form, *size])
        yield pytest.param(name, share_of(name, cases), marks=marks, id=label)


def share_of(name, cases):
    """All cases; of a compiled mode its share, one at least. Each case is in some mode's share."""
    if name not in COMPILED:
        return cases
    size, mode = len(COMPILED), COMPILED.index(name)
    # One place further in each round, so that no mode gets the same value of an axis each time.
    return [c for i, c in enumerate(cases) if (i + i // size) % size == mode] or cases[:1]


@pytest.mark.parametrize("name, cases", parameters())
def test_statement(name, cases):
    backend, failures = backend_of(name), []
    for case in cases:
        print(case.name)
        try:
            case.check(backend)
        except conformance.Failed as failure:
            failures.append(f"{case.name}: {failure}")
    assert not failures, "\n".join(failures)


@pytest.mark.slow
@pytest.mark.skipif(not list(Path("/dev").glob("davinci[0-9]*")), reason="there is no Ascend NPU")
def test_ascend(tmp_path):
    """All statements on the NPU, in a process of its own, as a user runs them."""
    command = [sys.executable, "-m", "mindspore_rnnt", "verify", "--device", "Ascend"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
