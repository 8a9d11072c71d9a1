# SPDX-License-Identifier: Apache-2.0
"""ascendc_op/examples, compiled and run on a fake acl that computes on the CPU."""

import subprocess
from pathlib import Path

import pytest

from mindspore_rnnt.native import library_path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def example(compile_cpp):
    source = ROOT / "ascendc_op" / "examples" / "test_aclnn_rnnt_loss_fused.cpp"
    library = library_path()
    return compile_cpp(
        source, HERE / "fake_runtime.cpp", library, f"-Wl,-rpath,{library.parent}", "-fno-lto"
    )


def test_the_example_finds_all_values_right(example):
    done = subprocess.run([example], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("expected") == 10
    assert done.stdout.endswith("all values match\n")


def test_the_example_says_what_fails(example):
    done = subprocess.run([example], capture_output=True, text=True, env={"FAKE_ACL_FAILS": "1"})
    assert done.returncode == 2
    assert "aclnnRnntLossFused failed with status" in done.stderr
