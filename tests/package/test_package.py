# SPDX-License-Identifier: Apache-2.0
"""sdist -> wheel -> a clean environment with nothing but NumPy -> import from another folder."""

import ast
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy
import pytest

from mindspore_rnnt.native import Param

ROOT = Path(__file__).parents[2]


def _run(*command, cwd, **environment):
    env = {**os.environ, **environment}
    env.pop("PYTHONPATH", None)
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    print(done.stdout[-3000:], done.stderr[-3000:])
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from the sdist, by setuptools of this environment: nothing is downloaded."""
    folder = tmp_path_factory.mktemp("build")
    build = (
        "import os, sys; from setuptools import build_meta as b; "
        "os.chdir(sys.argv[1]); print(getattr(b, sys.argv[2])(sys.argv[3]))"
    )
    done = _run(sys.executable, "-c", build, ROOT, "build_sdist", folder, cwd=folder)
    assert done.returncode == 0
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    source = sdist.with_suffix("").with_suffix("")
    done = _run(sys.executable, "-c", build, source, "build_wheel", folder, cwd=folder)
    assert done.returncode == 0
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder that holds the wheel's content and NumPy; no MindSpore, no torch, no compiler."""
    folder = tmp_path_factory.mktemp("clean")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    (folder / "site" / "numpy").symlink_to(Path(numpy.__file__).parent)
    (folder / "site" / "numpy.libs").symlink_to(Path(numpy.__file__).parents[1] / "numpy.libs")
    version = Path(numpy.__file__).parents[1] / f"numpy-{numpy.__version__}.dist-info"
    (folder / "site" / version.name).symlink_to(version)

    def python(code, *flags):
        prelude = f"import sys; sys.path.insert(0, {str(folder / 'site')!r})\n"
        command = (sys.executable, "-I", "-S", *flags, "-c", prelude + code)
        return _run(*command, cwd=folder, PATH="/nowhere")

    return python


def test_wheel_holds_the_library_and_fits_every_python_3(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    print(wheel.name)
    assert "-py3-none-" in wheel.name
    for name in (
        "lib/libmindspore_rnnt_cpu.so",
        "py.typed",
        "kernels/cpu.py",
        "bench/run.py",
        "_configs/bench.yaml",
        "_configs/librispeech_lengths.csv",
        "_ascendc_op/op_host/rnnt_def.cpp",
        "_ascendc_op/op_kernel/rnnt_params.h",
    ):
        assert f"mindspore_rnnt/{name}" in names
    assert not [n for n in names if n.startswith("tests") or n.endswith((".cc", ".o"))]


def test_licence_fields(wheel):
    """As setuptools wants them from 2027 on: an SPDX expression, and the file's name."""
    archive = zipfile.ZipFile(wheel)
    (metadata,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
    lines = archive.read(metadata).decode().splitlines()
    assert "License-Expression: Apache-2.0" in lines and "License-File: LICENSE" in lines
    assert not [line for line in lines if line.startswith("Classifier: License")]


def test_sdist_holds_documents_and_pictures(wheel):
    for name in ("README_CN.md", "CHANGELOG.md", "docs/scaling.png"):
        assert (unpacked(wheel) / name).is_file()


def unpacked(wheel):
    """The folder of the sdist that the wheel was built from."""
    return next(wheel.parent.glob("*.tar.gz")).with_suffix("").with_suffix("")


def test_lint_looks_at_the_same_files_in_an_sdist(wheel):
    """The files that `make style` names, and the settings of the tools. Those of `make tidy` come
    from CMake, which has to find them all to build the wheel."""

    def linted(folder):
        done = _run("make", "--dry-run", "style", cwd=folder)
        assert done.returncode == 0
        words = {word for word in done.stdout.split() if word.endswith((".h", ".cc", ".cpp"))}
        return {word for word in words if not word.startswith("aot_build/build/")}

    sdist = unpacked(wheel)
    assert linted(sdist) == linted(ROOT)
    assert "aot_build/cpu/fuzz/fuzz.cc" in linted(sdist)
    for name in (".clang-format", ".clang-tidy", "pyproject.toml"):
        assert (sdist / name).read_bytes() == (ROOT / name).read_bytes()


def test_import_needs_numpy_only(installed):
    done = installed(
        "import mindspore_rnnt as m, numpy as np\n"
        "from mindspore_rnnt.reference import rnnt_loss_reference\n"
        "loss, _ = rnnt_loss_reference(np.zeros((1, 3, 3, 5)), [[1, 2]], [3], [2])\n"
        "print(m.__version__, m.packed_indices([2], [1])[0].tolist(), loss)\n"
        "from mindspore_rnnt import native\n"
        "print(native.version(), native.cpu_level())\n"
        "assert not {'mindspore', 'torch'} & set(sys.modules)\n"
    )
    assert done.returncode == 0
    assert "[0, 0, 1, 1] 6.2554" in done.stdout


def test_missing_mindspore_is_said_kindly(installed):
    done = installed("from mindspore_rnnt import rnnt_loss")
    assert done.returncode != 0
    assert "needs MindSpore >= 2.7, but found none: pip install" in done.stderr


def test_numpy_2_is_refused_kindly(monkeypatch):
    from mindspore_rnnt import requirements

    monkeypatch.setattr(requirements, "version", lambda name: "2.1.0")
    with pytest.raises(ImportError, match=r"needs numpy < 2.*found 2\.1\.0: pip install"):
        requirements.check_requirements()


@pytest.mark.parametrize("found", ["2.6.0", "1.10.1", "2.6.99rc1"])
def test_old_mindspore_is_refused_kindly(found, monkeypatch):
    from mindspore_rnnt import requirements

    monkeypatch.setattr(requirements, "mindspore_version", lambda: found)
    with pytest.raises(
        ImportError, match=f"needs MindSpore >= 2.7, but found {found}: pip install"
    ):
        requirements.check_requirements()


@pytest.mark.parametrize("name", ["mindspore", "mindspore-ascend", "mindspore-dev", "other"])
def test_mindspore_is_known_by_each_of_its_names(name, monkeypatch):
    from mindspore_rnnt import requirements

    def version(asked):
        if asked != name:
            raise requirements.PackageNotFoundError(asked)
        return "2.8.0"

    monkeypatch.setattr(requirements, "version", version)
    assert requirements.mindspore_version() == (None if name == "other" else "2.8.0")


def test_params_mirror_the_c_header():
    header = (ROOT / "ascendc_op/op_kernel/rnnt_params.h").read_text()
    slots = dict(re.findall(r"kRnntParam(\w+) = (\d+)", header))
    assert int(slots.pop("Count")) == len(Param)
    python = {
        "".join(map(str.title, name.split("_"))): int(p) for name, p in Param.__members__.items()
    }
    python["FastEmitLambda"] = python.pop("FastemitLambda")
    assert python == {name: int(value) for name, value in slots.items()}


def test_signatures_match_the_library():
    """Every operator is exported, with the inference that MindSpore looks for, for both devices."""
    from mindspore_rnnt import native
    from mindspore_rnnt.kernels.signatures import SIGNATURES

    for name in SIGNATURES:
        for symbol in (name, f"{name}InferShape", f"{name}InferType"):
            assert hasattr(native.load_library(), symbol)
        for symbol in (f"aclnn{name}InferShape", f"aclnn{name}InferType"):
            assert hasattr(native.load_library(), symbol)


def test_core_never_imports_the_recipe_and_only_kernels_know_custom():
    package = ROOT / "mindspore_rnnt"
    for file in package.rglob("*.py"):
        if file.is_relative_to(package / "recipe"):
            continue
        tree = ast.parse(file.read_text())
        modules = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
        modules += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
        assert not [m for m in modules if "recipe" in m.split(".")], file
        if not file.is_relative_to(package / "kernels"):
            attributes = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
            assert "Custom" not in attributes, file
        if file != package / "native" / "library.py":
            assert "ctypes" not in modules, file


def test_imports_have_one_direction():
    """Modules of the core import each other without a cycle. Imports inside a function count, too;
    the lazy names of the package itself do not."""
    package = ROOT / "mindspore_rnnt"
    edges = {}
    for file in package.rglob("*.py"):
        if file.is_relative_to(package / "recipe") or file == package / "__init__.py":
            continue
        name = file.relative_to(ROOT).with_suffix("").parts
        folder = name[:-1]
        name = folder if name[-1] == "__init__" else name
        found = edges.setdefault(name, set())
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = folder[: len(folder) + 1 - node.level]
                base += tuple(node.module.split(".")) if node.module else ()
                found |= {base, *((*base, alias.name) for alias in node.names)}
    modules = set(edges)
    edges = {name: (found & modules) - {name} for name, found in edges.items()}
    while edges:
        leaves = {name for name, found in edges.items() if not found & set(edges)}
        assert leaves, f"a cycle among {sorted('.'.join(name) for name in edges)}"
        edges = {name: found for name, found in edges.items() if name not in leaves}
