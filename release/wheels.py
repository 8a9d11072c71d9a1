# SPDX-License-Identifier: Apache-2.0
"""make wheel: in dist/ the sdist, and a wheel each for x86-64 and aarch64, checked.

    python release/wheels.py [--native-only] [--skip-tests]

Wheels are built from the sdist, and auditwheel gives each the lowest manylinux tag that it is
consistent with. The wheel of this machine is installed into a clean environment, where the core
tests run from another folder. The other one is a cross build, whose kernel check runs under qemu:
apt install g++-aarch64-linux-gnu qemu-user.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from environments import ROOT, TEST_PACKAGES, make_environment, run_core_tests

DIST = ROOT / "dist"
_TOOLCHAIN = ROOT / "release" / "aarch64.cmake"
_CROSS_TOOLS = {
    "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
    "qemu-aarch64": "qemu-user",
}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--native-only", action="store_true", help="no cross build")
    parser.add_argument("--skip-tests", action="store_true", help="no environment, no core tests")
    args = parser.parse_args(argv)
    cross = not args.native_only and platform.machine() == "x86_64"
    missing = [apt for tool, apt in _CROSS_TOOLS.items() if cross and not shutil.which(tool)]
    if missing:
        print(f"the aarch64 wheel needs: apt install {' '.join(missing)} (or --native-only)")
        return 1
    shutil.rmtree(DIST, ignore_errors=True)
    sdist = _build("--sdist", ROOT, DIST)
    wheels = [_wheel(sdist)]
    if cross:
        wheels.append(_wheel(sdist, "--plat-name=linux-aarch64", CMAKE_TOOLCHAIN_FILE=_TOOLCHAIN))
        _check_under_qemu(wheels[1])
    print("\n".join(map(str, [sdist, *wheels])), flush=True)
    return 0 if args.skip_tests else _test(wheels[0])


def _build(what, source, folder, *options, **environment):
    """The one file that `python -m build` makes in an isolated environment."""
    command = [sys.executable, "-m", "build", what, "--outdir", folder]
    command += [f"-C--build-option={option}" for option in options]
    before = set(folder.glob("*"))
    env = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    subprocess.run([*command, source], check=True, env=env)
    return next(iter(set(folder.glob("*")) - before))


def _wheel(sdist, *options, **environment):
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(sdist, folder, filter="data")
        source = next(Path(folder).iterdir())
        built = _build("--wheel", source, Path(folder), *options, **environment)
        before = set(DIST.glob("*.whl"))
        subprocess.run(
            [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", DIST, built], check=True
        )
        return next(iter(set(DIST.glob("*.whl")) - before))


def _check_under_qemu(wheel):
    """aot_build's kernel_fuzz with the library that is in the wheel."""
    with tempfile.TemporaryDirectory() as folder:
        cmake = ["cmake", "-S", ROOT / "aot_build", "-B", Path(folder, "build")]
        subprocess.run([*cmake, f"-DCMAKE_TOOLCHAIN_FILE={_TOOLCHAIN}"], check=True)
        build = ["cmake", "--build", Path(folder, "build"), "--target"]
        subprocess.run([*build, "kernel_fuzz"], check=True)
        zipfile.ZipFile(wheel).extractall(folder)
        library = Path(folder, "mindspore_rnnt", "lib")
        qemu = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-E", f"LD_LIBRARY_PATH={library}"]
        subprocess.run([*qemu, Path(folder, "build", "kernel_fuzz"), "20"], check=True)


def _test(wheel):
    with tempfile.TemporaryDirectory() as folder:
        packages = [f"{wheel}[mindspore]", *TEST_PACKAGES]
        python = make_environment(Path(folder), Path(sys.executable), packages)
        result = run_core_tests(python)
    print(f"{wheel.name}: {result.passed} passed, {result.failed} failed")
    return int(result.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
