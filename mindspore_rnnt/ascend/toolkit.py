# SPDX-License-Identifier: Apache-2.0
"""CANN, the Ascend toolkit: where it is on this machine, and what it lacks to build operators."""

import os
import re
from pathlib import Path
from typing import NamedTuple

MINIMUM_VERSION = (8, 3)  # the first whose tiling data may be a plain struct
_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_USUAL_PLACES = (
    "/usr/local/Ascend/ascend-toolkit/latest",
    "/usr/local/Ascend/cann",
    "/usr/local/Ascend/latest",
    "~/Ascend/ascend-toolkit/latest",
    "~/Ascend/cann",
    "~/Ascend/latest",
)
# Any one path of each row; the layout differs between versions.
_NEEDED = {
    "the operator project template": (
        "tools/op_project_templates/ascendc/customize",
        "tools/msopgen/template/operator_demo_projects/ascendc_operator_sample",
    ),
    "op_build": ("toolkit/tools/opbuild/op_build", "tools/opbuild/op_build"),
    "the device compiler": (
        "compiler/ccec_compiler/bin",
        "tools/ccec_compiler/bin",
        "tools/bisheng_compiler/bin",
    ),
}


class Cann(NamedTuple):
    path: Path
    chosen_by: str  # the variable or the list that named it
    version: str  # "" if it does not say

    def missing(self) -> list[str]:
        """What keeps it from building operators; empty if nothing does."""
        faults = [
            f"{what} is missing: none of {', '.join(places)} exists in {self.path}"
            for what, places in _NEEDED.items()
            if not any((self.path / place).exists() for place in places)
        ]
        numbers = tuple(map(int, re.findall(r"\d+", self.version)[:2]))
        minimum = ".".join(map(str, MINIMUM_VERSION))
        if not numbers:
            faults.append(f"no version in {self.path}/compiler/version.info")
        elif numbers < MINIMUM_VERSION:
            faults.append(f"version {self.version} is too old: at least {minimum} is needed")
        return faults


def find_cann(path: str | os.PathLike | None = None) -> Cann | None:
    """The CANN at `path`, or that of the environment, or one in a usual place.

    One that the user named is never passed over for another, even if it is not there.
    """
    named = [("the given path", path)] + [(v, os.environ.get(v)) for v in _VARIABLES]
    for chosen_by, place in named:
        if place:
            return _describe(Path(place), chosen_by)
    for place in map(Path, _USUAL_PLACES):
        if place.expanduser().is_dir():
            return _describe(place.expanduser(), "the usual places")
    return None


def where_cann_was_sought() -> str:
    return f"${', $'.join(_VARIABLES)} and {', '.join(_USUAL_PLACES)}"


def _describe(path: Path, chosen_by: str) -> Cann:
    info = path / "compiler" / "version.info"
    text = info.read_text(errors="replace") if info.is_file() else ""
    version = re.search(r"^[ \t]*Version[ \t]*=[ \t]*(\S+)", text, re.MULTILINE)
    return Cann(path, chosen_by, version.group(1) if version else "")
