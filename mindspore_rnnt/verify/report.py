# SPDX-License-Identifier: Apache-2.0
"""The report of a verification, as Markdown."""

import platform
import time

from .. import __version__
from ..ascend.status import ascend_status
from ..bench.device import floor_table
from ..requirements import mindspore_version


def write_report(device, quick, results, timings, complete=True) -> str:
    failed = [result for result in results if not result.passed]
    verdict = f"{len(failed)} of {len(results)} checks failed" if failed else "all checks passed"
    if not complete:
        verdict = f"stopped before the end; of {len(results)} checks {len(failed)} failed"
    return "\n".join(
        [
            f"# mindspore_rnnt verify on {device}: {verdict}",
            "",
            *_environment(device, quick),
            "",
            "| check | case | result | detail |",
            "|---|---|---|---|",
            *(
                f"| {r.check} | {r.what} | {'passed' if r.passed else '**FAILED**'} | {r.detail} |"
                for r in results
            ),
            "",
            *floor_table(device, timings),
            "",
        ]
    )


def _environment(device, quick):
    lines = [
        f"- {time.strftime('%Y-%m-%d %H:%M')}{', quick' if quick else ''}",
        f"- mindspore_rnnt {__version__}, MindSpore {mindspore_version()}, "
        f"Python {platform.python_version()}, {platform.platform()}",
    ]
    if device == "Ascend":
        lines += [f"- {finding.what}: {finding.value}" for finding in ascend_status()]
    return lines
