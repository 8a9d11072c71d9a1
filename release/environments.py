# SPDX-License-Identifier: Apache-2.0
"""Clean environments for a wheel, and the core tests in them.

The core tests are the numerical ones that need neither torch nor the recipe's packages. They run
from an empty folder, so that they see the installed wheel and not the source tree.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TEST_PACKAGES = (
    "pytest>=7.4",
    "pytest-xdist>=3.5",
    "pyyaml>=6",
    "pydantic>=2.5",
    "matplotlib>=3.7",
)
# What needs torch.
_NOT_CORE = {"test_tools.py", "test_bench_family.py", "test_simple.py", "test_compositions.py"}
_NOT_CORE_PAGES = ["-k", "not migration"]


class Result(NamedTuple):
    passed: int
    failed: int
    skipped: int
    seconds: float


def find_python(version: str) -> Path | None:
    """The interpreter of '3.10': this one, one in PATH, or one of pyenv."""
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    places = [sys.executable, shutil.which(f"python{version}")]
    places += sorted(root.glob(f"versions/{version}.*/bin/python"), reverse=True)
    for place in filter(None, places):
        command = [place, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
        if subprocess.run(command, capture_output=True, text=True).stdout.strip() == version:
            return Path(place)
    return None


def make_environment(folder: Path, python: Path, packages: list[str]) -> Path:
    """A new venv with these packages; its interpreter."""
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    inside = folder / "bin" / "python"
    pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *map(str, packages)], check=True)
    return inside


def run_core_tests(python: Path, arguments: list[str] | None = None) -> Result:
    """The core tests with this interpreter; what they print goes through."""
    tests = [path for path in ROOT.glob("tests/test_*.py") if path.name not in _NOT_CORE]
    tests = [*sorted(tests), ROOT / "tests" / "kernel"]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [python, "-m", "pytest", "-q", "-n2", "--dist=loadfile"]
        command += ["-c", ROOT / "pyproject.toml", "--rootdir", ROOT]
        command += [*tests, f"--junit-xml={report}", *_NOT_CORE_PAGES, *(arguments or [])]
        run = subprocess.run(list(map(str, command)), cwd=folder)
        if not report.is_file():
            raise SystemExit(f"pytest ended with {run.returncode} before it had a report")
        suite = ElementTree.parse(report).getroot().find("testsuite")
    count = {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}
    failed = count["failures"] + count["errors"]
    passed = count["tests"] - failed - count["skipped"]
    return Result(passed, failed, count["skipped"], time.monotonic() - begin)
