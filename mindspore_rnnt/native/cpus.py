# SPDX-License-Identifier: Apache-2.0
"""How many CPUs this process has, and the number of threads that follows."""

import math
import os
from pathlib import Path
from typing import NamedTuple


class Threads(NamedTuple):
    number: int
    source: str  # where the number comes from, for `doctor`


def default_threads() -> Threads:
    """OMP_NUM_THREADS as the user left it; else one more than the CPUs that the process may run on
    or, if that is less, than the quota of its cgroup (see cpu/threads.cc for the one more)."""
    # On import MindSpore sets the variable to 1 in the C environment; os.environ does not see that.
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if first.isdigit() and int(first) > 0:
        return Threads(int(first), "OMP_NUM_THREADS")
    cpus, quota = len(os.sched_getaffinity(0)), cgroup_quota()
    if quota < cpus:
        count = math.ceil(quota)
        return Threads(count + 1, f"one more than the cgroup's quota of {quota:g} CPUs")
    return Threads(cpus + 1, f"one more than the {cpus} CPUs that this process may run on")


def cgroup_quota(
    proc: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> float:
    """CPUs that the cgroups of this process allow it in the mean, inf if they set no quota.

    A quota holds for all below it, so that the least of a cgroup and those above it counts. In a
    container the path may be the host's, of which only the mounted part exists under `root`.
    """
    try:
        lines = proc.read_text().splitlines()
    except OSError:
        return math.inf
    quotas = [math.inf]
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # version 2
            tops = [root, root / "unified"]
        elif "cpu" in controllers.split(","):
            tops = [root / controllers, root / "cpu"]
        else:
            continue
        folders = [Path(path), *Path(path).parents]
        quotas += [_quota(top / folder.relative_to("/")) for top in tops for folder in folders]
    return min(quotas)


def _quota(folder: Path) -> float:
    """Of one cgroup: version 2 writes '200000 100000' or 'max 100000', version 1 two files."""
    try:
        if (folder / "cpu.max").is_file():
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota = (folder / "cpu.cfs_quota_us").read_text()
            period = (folder / "cpu.cfs_period_us").read_text()
        return int(quota) / int(period) if int(quota) > 0 else math.inf
    except (OSError, ValueError, ZeroDivisionError):  # no such cgroup, or 'max'
        return math.inf
