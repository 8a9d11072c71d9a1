# SPDX-License-Identifier: Apache-2.0
"""The number of threads: its default, its setting, its bounds."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

import mindspore_rnnt
from mindspore_rnnt import native
from mindspore_rnnt.native.cpus import Threads, cgroup_quota, default_threads


def number_in_a_child(code="", **environment):
    """get_num_threads() of a new process that has run `code`."""
    code = f"import ctypes, os; from mindspore_rnnt import native; {code}\n"
    kept = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    output = subprocess.run(
        [sys.executable, "-c", code + "print(native.get_num_threads())"],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(output.stdout)


def test_the_environment_sets_the_number(set_threads):
    assert number_in_a_child(OMP_NUM_THREADS="3") == 3
    assert number_in_a_child(OMP_NUM_THREADS="4,2") == 4
    set_threads(5)
    assert mindspore_rnnt.get_num_threads() == 5
    assert native.thread_source() == "set_num_threads"


def test_the_default_is_one_more_than_the_cpus():
    expected = min(len(os.sched_getaffinity(0)), math.ceil(min(cgroup_quota(), 2**20))) + 1
    assert number_in_a_child() == expected
    assert number_in_a_child(OMP_NUM_THREADS="none") == expected
    assert number_in_a_child("native.set_num_threads(7); native.set_num_threads(0)") == expected


def test_a_variable_set_in_the_c_environment_alone_does_not_count():
    """MindSpore calls setenv("OMP_NUM_THREADS", "1") when it is imported."""
    setenv = "ctypes.CDLL(None).setenv(b'OMP_NUM_THREADS', b'1', 1)"
    assert number_in_a_child(setenv) == number_in_a_child() >= 2


def test_the_number_has_a_ceiling():
    ceiling = max(64, 2 * os.cpu_count())
    assert number_in_a_child(OMP_NUM_THREADS="1000000") == ceiling
    for count in (-1, ceiling + 1):
        with pytest.raises(ValueError, match=rf"must be in \[0, {ceiling}\].* but got {count}\."):
            mindspore_rnnt.set_num_threads(count)
    for count in (2.0, "2", True, None):
        with pytest.raises(TypeError, match=f"must be an int, but got {type(count).__name__}"):
            mindspore_rnnt.set_num_threads(count)


def test_numpy_ints_are_ints(set_threads):
    set_threads(np.int64(3))
    assert mindspore_rnnt.get_num_threads() == 3


@pytest.mark.parametrize(
    "lines, files, cpus",
    [
        ("0::/\n", {"cpu.max": "200000 100000"}, 2),
        ("0::/\n", {"cpu.max": "max 100000"}, math.inf),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "50000 100000", "a/cpu.max": "400000 100000"}, 0.5),
        ("0::/host/only/path\n", {"cpu.max": "300000 100000"}, 3),
        ("1:name=systemd:/\n0::/\n", {"unified/cpu.max": "100000 50000"}, 2),
        (
            "4:cpu,cpuacct:/docker/1\n3:cpuset:/\n",
            {"cpu,cpuacct/cpu.cfs_quota_us": "250000", "cpu,cpuacct/cpu.cfs_period_us": "100000"},
            2.5,
        ),
        (
            "1:cpu:/\n",
            {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
            math.inf,
        ),
        ("2:cpuset:/\n", {"cpuset/cpu.max": "100000 100000"}, math.inf),
        ("0::/\n", {"cpu.max": "garbage"}, math.inf),
    ],
)
def test_the_quota_of_a_cgroup(lines, files, cpus, tmp_path):
    proc, root = tmp_path / "cgroup", tmp_path / "fs"
    proc.write_text(lines)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    assert cgroup_quota(proc, root) == cpus


def test_no_cgroups_no_quota(tmp_path):
    assert cgroup_quota(tmp_path / "none", tmp_path) == math.inf


def test_a_quota_bounds_the_default(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))
    monkeypatch.setattr("mindspore_rnnt.native.cpus.cgroup_quota", lambda: 1.5)
    assert default_threads() == Threads(3, "one more than the cgroup's quota of 1.5 CPUs")
    monkeypatch.setattr("mindspore_rnnt.native.cpus.cgroup_quota", lambda: math.inf)
    assert default_threads().number == 65
