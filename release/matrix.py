# SPDX-License-Identifier: Apache-2.0
"""make matrix: the core tests with each MindSpore and each Python that this package is for.

    python release/matrix.py [--only 2.7.0 2.10.0/3.12 ...] [--output FILE] [-- pytest's arguments]

Each case gets a new environment in build/matrix (2 GB, removed afterwards unless --keep) with the
wheel of this source tree. The table goes into the README.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from environments import ROOT, TEST_PACKAGES, find_python, make_environment, run_core_tests

# MindSpore 2.7.0 and 2.7.1 have no wheel for Python 3.12.
CASES = (
    ("2.7.0", "3.10"),
    ("2.8.0", "3.12"),
    ("2.9.0", "3.11"),
    ("2.10.0", "3.10"),
    ("2.10.0", "3.11"),
    ("2.10.0", "3.12"),
)
_FOLDER = ROOT / "build" / "matrix"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", help="only these, as 2.7.0 or 2.10.0/3.12")
    parser.add_argument("--keep", action="store_true", help="keep the environments")
    parser.add_argument("--output", type=Path, default=_FOLDER / "table.md")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, behind --")
    args = parser.parse_args(argv)
    only = set(args.only or [mindspore for mindspore, _ in CASES])
    cases = [case for case in CASES if only & {case[0], "/".join(case)}]
    args.output.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        "| MindSpore | Python | passed | failed | skipped | time |",
        "|---|---|---|---|---|---|",
    ]
    good = bool(cases)
    wheel = _wheel()
    for mindspore, python in cases:
        row, passed = _run(wheel, mindspore, python, args)
        rows.append(f"| {mindspore} | {python} | {row} |")
        good &= passed
        args.output.write_text("\n".join(rows) + "\n")
        print("\n".join(rows), flush=True)
    return 0 if good else 1


def _run(wheel, mindspore, python, args):
    interpreter = find_python(python)
    if interpreter is None:
        return f"no python{python} in PATH or pyenv | | | ", False
    folder = _FOLDER / f"mindspore-{mindspore}-python-{python}"
    try:
        packages = [wheel, f"mindspore=={mindspore}", *TEST_PACKAGES]
        result = run_core_tests(make_environment(folder, interpreter, packages), args.pytest)
    except subprocess.CalledProcessError as error:
        return f"not installed: {error.cmd[0]} ended with {error.returncode} | | | ", False
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    row = f"{result.passed} | {result.failed} | {result.skipped} | {result.seconds:.0f} s"
    return row, result.failed == 0


def _wheel():
    folder = tempfile.mkdtemp(prefix="rnnt_wheel_")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "-w", folder, ROOT], check=True)
    return next(Path(folder).glob("*.whl"))


if __name__ == "__main__":
    sys.exit(main())
