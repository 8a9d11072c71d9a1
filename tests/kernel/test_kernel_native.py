# SPDX-License-Identifier: Apache-2.0
"""mindspore_rnnt.native: finding the library, levels, threads, messages."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import mindspore_rnnt
from mindspore_rnnt import native

SCRIPT = """
import numpy as np
from mindspore_rnnt import native
from mindspore_rnnt.native import pack_params
one = np.ones(1, np.int32)
arrays = [np.zeros((1, 4), np.float32), np.zeros((1, 0), np.int32), one, 0 * one]
outputs = [np.zeros(1, np.float32), np.zeros((1, 4), np.float32)]
for may_throw in (True, True, False):
    try:
        native.run_op("RnntFused", [*arrays, pack_params(may_throw=may_throw)], outputs)
        print("ran", *outputs)
    except RuntimeError as error:
        print("refused:", error)
try:
    print(native.cpu_level(), native.get_num_threads())
except RuntimeError as error:
    print("unknown:", error)
"""


def run_with(**environment):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_the_best_level_is_the_default():
    assert run_with(MINDSPORE_RNNT_CPU="")[-1].split()[0] == native.cpu_levels()[0]
    assert native.cpu_levels()[-1] == "portable"


def test_each_level_can_be_forced():
    for level in native.cpu_levels():
        assert run_with(MINDSPORE_RNNT_CPU=level)[-1].split()[0] == level


@pytest.mark.parametrize("name", ["avx1024", "AVX2", "sve"])
def test_an_unknown_level_is_refused_or_gives_nan(name):
    """NaN in a compiled graph, which an exception would end for good."""
    lines = run_with(MINDSPORE_RNNT_CPU=name)
    levels = ",".join(native.cpu_levels())
    message = f"MINDSPORE_RNNT_CPU must be one of {levels} on this machine, but is '{name}'"
    assert lines[:2] == [f"refused: {message}"] * 2
    assert lines[2] == "ran [nan] [[nan nan nan nan]]"
    assert lines[3].startswith("unknown: MINDSPORE_RNNT_CPU must be one of")
    with pytest.raises(ValueError, match=f"but got '{name}'"):
        native.select_cpu_level(name)


def test_version_is_the_package_s():
    assert native.version() == mindspore_rnnt.__version__


def test_a_missing_library_says_what_mends_it(monkeypatch, tmp_path):
    monkeypatch.setattr(native.library, "_LIBRARY", tmp_path / "libmindspore_rnnt_cpu.so")
    with pytest.raises(FileNotFoundError, match=r"(?s)rnnt_cpu\.so is missing.*pip install"):
        native.library_path()


def test_stream(set_threads):
    source = np.arange(1 << 20, dtype=np.float32)
    target = np.zeros_like(source)
    assert native.stream_seconds(source, target) > 0
    assert np.array_equal(source, target)
    with pytest.raises(ValueError, match="must have 4194304 bytes"):
        native.stream_seconds(source, target[:5])


def test_no_dependency_but_the_compiler_s_own():
    """Neither a double-precision libm symbol of a recent glibc, nor any library beyond g++'s."""
    listing = subprocess.run(
        ["objdump", "-p", str(native.library_path())], capture_output=True, text=True, check=True
    ).stdout
    needed = {line.split()[1].split(".so")[0] for line in listing.splitlines() if "NEEDED" in line}
    assert needed <= {
        "libstdc++",
        "libgcc_s",
        "libc",
        "libm",
        "libpthread",
        "ld-linux-x86-64",
        "ld-linux-aarch64",
    }
    # manylinux_2_24, which `make wheel` gives: see cpu/old_libstdcxx.cc.
    for family, newest in (("GLIBC", (2, 24)), ("GLIBCXX", (3, 4, 22)), ("CXXABI", (1, 3, 9))):
        found = re.findall(rf"\b{family}_([\d.]+)", listing)
        assert found and max(tuple(map(int, v.split("."))) for v in found) <= newest, family
