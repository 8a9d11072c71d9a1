# SPDX-License-Identifier: Apache-2.0
"""What of Ascend this machine has, and what to do about the rest. Nothing here imports
MindSpore."""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from .package import BUILD_COMMAND, find_package, stale_version
from .sources import operators_version
from .toolkit import find_cann, where_cann_was_sought


class Finding(NamedTuple):
    """A line of `doctor`, on Ascend or on anything else."""

    what: str
    value: str
    remedy: str = ""  # what to do about it; empty when all is well


def ascend_status() -> list[Finding]:
    """For `doctor` and `verify`. On a machine without an NPU nothing of it is a fault."""
    return [
        _npu_status(),
        _cann_status(),
        _compiler_status(),
        _plugin_status(),
        _package_status(),
    ]


def _npu_status() -> Finding:
    devices = sorted(path.name for path in Path("/dev").glob("davinci[0-9]*"))
    remedy = "" if devices else "install the driver of the card"
    return Finding("NPU", ", ".join(devices) or "none", remedy)


def _cann_status() -> Finding:
    cann = find_cann()
    if cann is None:
        return Finding("CANN", "none", f"install the toolkit (sought in {where_cann_was_sought()})")
    value = f"{cann.version or 'unknown version'} in {cann.path} (by {cann.chosen_by})"
    faults = cann.missing()
    if not faults and "ASCEND_OPP_PATH" not in os.environ:
        faults = [f"its environment is not set: source {cann.path.parent}/set_env.sh"]
    return Finding("CANN", value, "; ".join(faults))


def _compiler_status() -> Finding:
    compiler = shutil.which("g++")
    remedy = "" if compiler else "MindSpore compiles a callback per operator on Ascend: install g++"
    return Finding("host compiler", compiler or "none", remedy)


def _plugin_status() -> Finding:
    """MindSpore's Ascend half, without importing MindSpore."""
    spec = find_spec("mindspore")
    folders = (spec.submodule_search_locations if spec else None) or []
    plugins = [p for f in folders for p in Path(f).glob("lib/plugin/libmindspore_ascend.so*")]
    plugin = plugins[0] if plugins else None
    remedy = "" if plugin else f"install a MindSpore with Ascend support into {sys.prefix}"
    return Finding("MindSpore plugin", plugin.name if plugin else "none", remedy)


def _package_status() -> Finding:
    found = find_package()
    if found is None:
        return Finding("operator package", "not built", f"run '{BUILD_COMMAND}'")
    stale = stale_version(found)
    if stale is None:
        return Finding("operator package", f"{found} (version {operators_version()})")
    remedy = f"these sources are of version {operators_version()}: run '{BUILD_COMMAND}' again"
    return Finding("operator package", f"{found} (version {stale})", remedy)
