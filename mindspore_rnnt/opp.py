# SPDX-License-Identifier: Apache-2.0
"""The Ascend operator package that aot_build/build_ascend.py installs: where it is, and how CANN
and MindSpore come to see it. Nothing here imports MindSpore.

Both read ASCEND_CUSTOM_OPP_PATH once, when they first need an operator. `expose` therefore runs
when mindspore_rnnt is imported.
"""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from .cann import find_cann, where_cann_was_sought

VENDOR = "mindspore_rnnt"
VARIABLE = "ASCEND_CUSTOM_OPP_PATH"
BUILD_COMMAND = "make ascend"
_HEADER = Path("op_api", "include", "aclnn_rnnt_fused.h")
_INSTALLED = Path("lib", "ascend", "vendors", VENDOR)


def package_path(root: Path = Path(__file__).parent) -> Path:
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


def require_package() -> Path:
    """`expose`, or an error that says what to do."""
    found = expose()
    if found is None:
        raise RuntimeError(
            "For 'rnnt_loss', the Ascend operator package must be built and installed, but neither "
            f"{package_path()} nor any path in {VARIABLE} holds it. Build it in a source tree of "
            f"mindspore_rnnt with '{BUILD_COMMAND}'."
        )
    return found


def came_too_late(package: Path, maps: Path = Path("/proc/self/maps")) -> bool:
    """Whether this process has loaded CANN's operators, but not those of `package`: whoever did it
    had read the variable before `expose`."""
    loaded = {line.split()[-1] for line in maps.read_text().splitlines() if "/" in line}
    ours = str((package / "op_api" / "lib" / "libcust_opapi.so").resolve())
    return ours not in loaded and any(Path(path).name.startswith("libopapi") for path in loaded)


class Finding(NamedTuple):
    what: str
    value: str
    mend: str = ""  # what to do about it; empty when all is well


def ascend_status() -> list[Finding]:
    """What `doctor` says about Ascend. On a machine without an NPU nothing of it is a fault."""
    return [
        _npu_status(),
        _cann_status(),
        _compiler_status(),
        _plugin_status(),
        _package_status(),
    ]


def _npu_status():
    devices = sorted(path.name for path in Path("/dev").glob("davinci[0-9]*"))
    mend = "" if devices else "install the driver of the card"
    return Finding("NPU", ", ".join(devices) or "none", mend)


def _cann_status():
    cann = find_cann()
    if cann is None:
        return Finding("CANN", "none", f"install the toolkit (sought in {where_cann_was_sought()})")
    value = f"{cann.version or 'unknown version'} in {cann.path} (by {cann.chosen_by})"
    faults = cann.missing()
    if not faults and "ASCEND_OPP_PATH" not in os.environ:
        faults = [f"its environment is not set: source {cann.path.parent}/set_env.sh"]
    return Finding("CANN", value, "; ".join(faults))


def _compiler_status():
    compiler = shutil.which("g++")
    mend = "" if compiler else "MindSpore compiles a callback per operator on Ascend: install g++"
    return Finding("host compiler", compiler or "none", mend)


def _plugin_status():
    """MindSpore's Ascend half, without importing MindSpore."""
    spec = find_spec("mindspore")
    folders = spec.submodule_search_locations if spec else []
    plugins = [p for f in folders for p in Path(f).glob("lib/plugin/libmindspore_ascend.so*")]
    plugin = plugins[0] if plugins else None
    mend = "" if plugin else f"install a MindSpore with Ascend support into {sys.prefix}"
    return Finding("MindSpore plugin", plugin.name if plugin else "none", mend)


def _package_status():
    found = find_package()
    if found is None:
        return Finding("operator package", "not built", f"run '{BUILD_COMMAND}' in a source tree")
    return Finding("operator package", str(found))
