# SPDX-License-Identifier: Apache-2.0
"""python -m mindspore_rnnt verify: does the loss hold on this machine's device? Every statement
of the conformance suite, execution modes, mixed precision, and a benchmark beside what memory
allows. Writes one report; the exit code is 1 if anything failed, 2 if there is no such
device."""

import argparse
import traceback
from pathlib import Path

from ..requirements import check_requirements
from ..tools.command import NO_DEVICE, prepare_file, use_device


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m mindspore_rnnt verify", description=__doc__)
    parser.add_argument("--device", choices=("Ascend", "CPU"), default="Ascend")
    parser.add_argument("--output", type=Path, default="verify.md", help="the report")
    parser.add_argument("--quick", action="store_true", help="small cases only")
    args = parser.parse_args(arguments)
    check_requirements()
    prepare_file(args.output)

    if not use_device("verify", args.device):
        return NO_DEVICE
    from .report import write_report

    results: list = []
    timings: list = []
    complete = False
    try:
        run(args.device, args.quick, results, timings)
        complete = True
    finally:  # Ctrl-C, too, leaves a report of what was done
        report = write_report(args.device, args.quick, results, timings, complete)
        args.output.write_text(report)
        failed = sum(not result.passed for result in results)
        print(f"{len(results) - failed} of {len(results)} checks passed; report in {args.output}")
    return int(failed > 0)


def run(device: str, quick: bool, results: list, timings: list) -> None:
    """All checks and the benchmark on a device that is set, each result added as it comes. What
    breaks does not stop the rest."""
    from ..bench.device import time_device
    from .checks import CHECKS

    for check in CHECKS:
        _guarded(check.__name__, check, device, quick, results)
    _guarded("benchmark", lambda *args: timings.extend(time_device(*args)), device, quick, results)


def _guarded(name, check, device, quick, results):
    """Adds the results of a check, and one more if it breaks off."""
    from .checks import Result

    try:
        for result in check(device, quick) or ():
            print(" ".join(["ok  " if result.passed else "FAIL", *result[:2], result.detail]))
            results.append(result)
    except Exception as error:
        traceback.print_exc()
        results.append(Result(name, "broke off", False, f"{type(error).__name__}: {error}"))
