# SPDX-License-Identifier: Apache-2.0
"""The Ascend operator package that build.py installs: where it is, and how CANN and MindSpore come
to see it. Nothing here imports MindSpore.

Both read ASCEND_CUSTOM_OPP_PATH once, when they first need an operator. `expose` therefore runs
when a loss is imported (`kernels.prepare_import`).
"""

import os
from pathlib import Path

from .sources import operators_version

VENDOR = "mindspore_rnnt"
VARIABLE = "ASCEND_CUSTOM_OPP_PATH"
BUILD_COMMAND = "python -m mindspore_rnnt build-ascend"
VERSION_FILE = "mindspore_rnnt.version"  # in the package: operators_version() of its sources
_HEADER = Path("op_api", "include", "aclnn_rnnt_fused.h")
_INSTALLED = Path("lib", "ascend", "vendors", VENDOR)


def package_path(root: Path = Path(__file__).parents[1]) -> Path:
    """Where the build installs by default: inside the Python package at `root`."""
    return root / _INSTALLED


def find_package() -> Path | None:
    """The operator package in use: the user's choice, CANN's own vendors, then ours."""
    chosen = [Path(path) for path in os.environ.get(VARIABLE, "").split(":") if path]
    opp = os.environ.get("ASCEND_OPP_PATH")
    if opp:
        chosen.append(Path(opp, "vendors", VENDOR))
    return next((path for path in [*chosen, package_path()] if (path / _HEADER).is_file()), None)


def expose() -> Path | None:
    """Puts our package in front of ASCEND_CUSTOM_OPP_PATH, unless one is already found without."""
    found = find_package()
    if found == package_path():
        others = [path for path in os.environ.get(VARIABLE, "").split(":") if path]
        if str(found) not in others:
            os.environ[VARIABLE] = ":".join([str(found), *others])
    return found


def stale_version(package: Path) -> str | None:
    """The version of an operator package that was built from other sources, else None."""
    file = package / VERSION_FILE
    found = file.read_text().strip() if file.is_file() else "unknown"
    return None if found == operators_version() else found


def require_package() -> Path:
    """`expose`, or an error that says what to do."""
    found = expose()
    if found is None:
        raise RuntimeError(
            "For 'rnnt_loss', the Ascend operator package must be built and installed, but neither "
            f"{package_path()} nor any path in {VARIABLE} holds it. Build it with "
            f"'{BUILD_COMMAND}'."
        )
    stale = stale_version(found)
    if stale is not None:
        raise RuntimeError(
            "For 'rnnt_loss', the Ascend operator package must be of version "
            f"{operators_version()}, but {found} is of version {stale}. Build it again with "
            f"'{BUILD_COMMAND}'."
        )
    return found


def came_too_late(package: Path, maps: Path = Path("/proc/self/maps")) -> bool:
    """Whether this process has loaded CANN's operators, but not those of `package`: then
    the variable was read before `expose`."""
    columns = [line.split(maxsplit=5) for line in maps.read_text().splitlines()]
    loaded = {column[5] for column in columns if len(column) == 6}  # a path may have blanks
    ours = str((package / "op_api" / "lib" / "libcust_opapi.so").resolve())
    return ours not in loaded and any(Path(path).name.startswith("libopapi") for path in loaded)
