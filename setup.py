# SPDX-License-Identifier: Apache-2.0
"""Builds the CPU library with cmake and puts it into the package. Metadata is in pyproject.toml.

The library is plain C to Python (loaded with ctypes, and by MindSpore itself), so that one wheel
serves every Python 3: py3-none-<platform>.
"""

import os
import shutil
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
LIBRARY = "libmindspore_rnnt_cpu.so"


class BuildLibrary(build_ext):
    """`mindspore_rnnt.lib.mindspore_rnnt_cpu` stands for the library that cmake makes."""

    def get_ext_filename(self, fullname):
        return os.path.join(*fullname.split(".")[:-1], LIBRARY)

    def build_extension(self, ext):
        require(["cmake"], "cmake 3.16 or newer (pip brings it, unless told --no-build-isolation)")
        compilers = os.environ.get("CXX", "c++ g++ clang++").split()
        require(compilers, "g++ 9 or newer (apt install g++)")
        build_dir = Path(self.build_temp, "cpu").resolve()
        build_dir.mkdir(parents=True, exist_ok=True)
        (build_dir / "CMakeCache.txt").unlink(missing_ok=True)  # it may be of another environment
        cmake(
            "-S", ROOT / "aot_build", "-B", build_dir, "-DCMAKE_BUILD_TYPE=Release",
            f"-DMINDSPORE_RNNT_VERSION={self.distribution.get_version()}",
            *(["-G", "Ninja"] if shutil.which("ninja") else []),
        )  # fmt: skip
        cmake("--build", build_dir, "--parallel", str(os.cpu_count() or 1))
        install(build_dir / LIBRARY, Path(self.get_ext_fullpath(ext.name)).resolve())

    def copy_extensions_to_source(self):
        """For an editable install: the library of the build goes beside the sources."""
        for ext in self.extensions:
            name = self.get_ext_filename(ext.name)
            install(Path(self.build_lib, name), ROOT / name)


class BuildPackage(build_py):
    """Files of configs/ and what CANN compiles of ascendc_op/ travel in the package; an editable
    install finds the originals."""

    def run(self):
        if self.editable_mode:
            return super().run()
        package = Path(self.build_lib, "mindspore_rnnt")
        shutil.rmtree(package, ignore_errors=True)  # files of an earlier version stay out
        super().run()
        for source, target in (
            ("configs", "_configs"),
            ("ascendc_op/op_host", "_ascendc_op/op_host"),
            ("ascendc_op/op_kernel", "_ascendc_op/op_kernel"),
        ):
            shutil.copytree(ROOT / source, package / target)


class PlatformWheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


def require(programs, package):
    """One of them."""
    if not any(map(shutil.which, programs)):
        raise SystemExit(
            f"mindspore_rnnt: {programs[0]!r} was not found, and the CPU library is built with it. "
            f"Install {package}, then run the same command again."
        )


def install(library, target):
    """A running process may have the old library mapped: replace the name, not the contents."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_suffix(".new")
    shutil.copy2(library, fresh)
    fresh.replace(target)


def cmake(*arguments):
    try:
        subprocess.run(["cmake", *map(str, arguments)], check=True)
    except subprocess.CalledProcessError as error:
        raise SystemExit(
            "mindspore_rnnt: building the CPU library failed; cmake's messages are above. "
            "It needs g++ 9 or newer, and ninja or make (apt install g++ make)."
        ) from error


setup(
    ext_modules=[Extension("mindspore_rnnt.lib.mindspore_rnnt_cpu", [])],
    cmdclass={
        "build_ext": BuildLibrary,
        "build_py": BuildPackage,
        "bdist_wheel": PlatformWheel,
    },
)
