# SPDX-License-Identifier: Apache-2.0
"""python -m mindspore_rnnt build-ascend: builds the Ascend operators with CANN and installs them
where mindspore_rnnt finds them.

Run it with the Python that has MindSpore, whose custom_compiler does the work on copies in a
temporary folder: it refuses symbolic links and unusual paths, builds beside its own script, and
needs a writable one. The installed package changes only once everything was built.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

from .package import VARIABLE, VENDOR, VERSION_FILE, package_path
from .sources import FOLDERS, SOURCE, operators_version
from .toolkit import Cann, find_cann, where_cann_was_sought

_PACKAGE = Path(__file__).resolve().parents[1]
SOC_VERSIONS = ("ascend910b", "ascend910_93")
_TOOLS = ("bash", "cmake", "make", "g++", "python3")
_ODD = re.compile(r"[^_A-Za-z0-9/.-]")


class BuildError(Exception):
    """What is missing or went wrong, in words for the user."""


def main(argv: list[str] | None = None) -> int:
    args = _parse(argv)
    try:
        cann = _usable_cann(args.cann)
        print(f"CANN {cann.version} in {cann.path} (by {cann.chosen_by})", flush=True)
        target = build(cann, args.soc_version, _target(args.install_path))
    except BuildError as error:
        print(f"build-ascend: {error}", file=sys.stderr)
        return 1
    print(f"installed {target}")
    if args.install_path:
        print(f"export {VARIABLE}={target}:${VARIABLE}   # mindspore_rnnt finds it by this")
    return 0


def build(cann: Cann, soc_version: str, target: Path) -> Path:
    """Builds every operator for `soc_version` and puts the package in `target`, or leaves both as
    they were. Several SoC versions are separated by semicolons."""
    folder = Path(tempfile.gettempdir()).resolve()
    if _ODD.search(str(folder)):
        raise BuildError(
            f"the temporary folder {folder} has characters that CANN refuses: set TMPDIR"
        )
    work = Path(tempfile.mkdtemp(prefix="rnnt_ascend_", dir=folder))
    try:
        package = _compile(cann, soc_version, work)
        _check_complete(package, soc_version)
        (package / VERSION_FILE).write_text(f"{operators_version()}\n")
    except BuildError as error:
        raise BuildError(f"{error}\nThe logs are kept in {work}/custom_compiler.") from None
    _replace(target, package)
    shutil.rmtree(work)
    return target


def operators() -> list[str]:
    """The operator types that op_host defines."""
    sources = sorted((SOURCE / "op_host").glob("*.cpp"))
    return [op for source in sources for op in re.findall(r"OP_ADD\((\w+)\)", source.read_text())]


def snake_case(operator: str) -> str:
    """RnntLossFused -> rnnt_loss_fused, the name that CANN gives to its files."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", operator).lower()


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m mindspore_rnnt build-ascend", description=__doc__
    )
    parser.add_argument("--soc-version", default=SOC_VERSIONS[0], help=" or ".join(SOC_VERSIONS))
    parser.add_argument("--cann", help="the CANN toolkit; default: the environment's")
    parser.add_argument("--install-path", help="install into DIR/vendors/" + VENDOR)
    args = parser.parse_args(argv)
    if not set(args.soc_version.split(";")) <= set(SOC_VERSIONS):
        parser.error(f"--soc-version must be of {SOC_VERSIONS}, but got {args.soc_version!r}")
    return args


def _usable_cann(path: str | None) -> Cann:
    cann = find_cann(path)
    if cann is None:
        raise BuildError(
            f"no CANN toolkit found in {where_cann_was_sought()}. Install the toolkit and its "
            "operator package for your card, or say where it is with --cann."
        )
    if not cann.path.is_dir():
        raise BuildError(f"{cann.path}, named by {cann.chosen_by}, is not a folder")
    faults = cann.missing()
    faults += [f"{tool} is not in PATH" for tool in _TOOLS if shutil.which(tool) is None]
    if faults:
        raise BuildError("\n  ".join(["cannot build with what is there:", *faults]))
    return cann


def _target(install_path: str | None) -> Path:
    if install_path is None:
        return package_path(_python_package())
    target = Path(install_path).resolve() / "vendors" / VENDOR
    if ":" in str(target):
        raise BuildError(f"--install-path must hold no ':', as {VARIABLE} lists paths: {target}")
    return target


def _python_package() -> Path:
    """This package; but the installed one if this is that of a source tree, unless it is editable.

    (A source tree may hold an egg-info, so the first distribution need not be the installed one.)
    """
    if SOURCE.parent == _PACKAGE:
        return _PACKAGE
    places = [
        Path(str(d.locate_file("mindspore_rnnt"))) for d in distributions(name="mindspore-rnnt")
    ]
    real = [path for path in places if (path / "ascend" / "package.py").is_file()]
    return next((path for path in real if path != _PACKAGE), _PACKAGE)


def _compile(cann: Cann, soc_version: str, work: Path) -> Path:
    compiler = _custom_compiler()
    shutil.copytree(compiler, work / "custom_compiler")
    _look_in_the_toolkit_itself(work / "custom_compiler" / "setup.py")
    for folder in FOLDERS:
        shutil.copytree(SOURCE / folder, work / folder)
    (work / "install").mkdir()
    command = [
        sys.executable,
        "setup.py",
        f"--op_host_path={work / 'op_host'}",
        f"--op_kernel_path={work / 'op_kernel'}",
        f"--soc_version={soc_version}",
        f"--ascend_cann_package_path={cann.path}",
        f"--vendor_name={VENDOR}",
        f"--install_path={work / 'install'}",
    ]
    # CANN's scripts call python3: let it be the one that runs this.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    run = subprocess.run(command, cwd=work / "custom_compiler", env={**os.environ, "PATH": path})
    if run.returncode:
        raise BuildError(f"MindSpore's custom_compiler failed with exit code {run.returncode}.")
    return work / "install" / "vendors" / VENDOR


def _look_in_the_toolkit_itself(script: Path) -> None:
    """MindSpore 2.7 looks for the project template in the folder `latest` beside the toolkit, which
    need not exist."""
    script.write_text(script.read_text().replace('"../latest/tools/', '"tools/'))


def _custom_compiler() -> Path:
    spec = find_spec("mindspore")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        compiler = Path(folder, "lib", "plugin", "ascend", "custom_compiler")
        if (compiler / "setup.py").is_file():
            return compiler
    raise BuildError(
        f"{sys.executable} has no MindSpore with lib/plugin/ascend/custom_compiler: "
        "pip install 'mindspore>=2.7,<3'"
    )


def _check_complete(package: Path, soc_version: str) -> None:
    """A kernel that fails to compile does not fail CANN's build."""
    expected = [Path("op_api", "lib", "libcust_opapi.so")]
    kernels = Path("op_impl", "ai_core", "tbe", "kernel")
    for operator in map(snake_case, operators()):
        expected.append(Path("op_api", "include", f"aclnn_{operator}.h"))
        expected += [kernels / soc / operator for soc in soc_version.split(";")]
    missing = [str(path) for path in expected if not (package / path).exists()]
    if missing:
        raise BuildError("\n  ".join(["the build lacks:", *missing]))


def _replace(target: Path, package: Path) -> None:
    """`target` holds the old package or the new one, never a part."""
    target.parent.mkdir(parents=True, exist_ok=True)
    incoming = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        shutil.copytree(package, incoming / "new", symlinks=True)
        if target.exists():
            target.rename(incoming / "old")
        try:
            (incoming / "new").rename(target)
        except OSError:
            if (incoming / "old").exists():
                (incoming / "old").rename(target)
            raise
    finally:
        shutil.rmtree(incoming, ignore_errors=True)
