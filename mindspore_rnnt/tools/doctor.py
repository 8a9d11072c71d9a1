# SPDX-License-Identifier: Apache-2.0
"""python -m mindspore_rnnt doctor: every line is something found, or something missing and the
command that helps. The exit code is 1 if the loss cannot run on the CPU."""

import argparse
import platform

import numpy as np

from .. import __version__
from ..ascend.status import Finding, ascend_status
from ..conformance.oracles import closed_form
from ..requirements import check_requirements, mindspore_version


def main(arguments: list[str]) -> int:
    argparse.ArgumentParser("python -m mindspore_rnnt doctor", description=__doc__).parse_args(
        arguments
    )
    cpu = [*_versions(), *_library(), _loss()]
    _show("CPU", cpu)
    _show("Ascend", ascend_status())
    return int(any(finding.remedy for finding in cpu))


def _versions() -> list[Finding]:
    remedy = ""
    try:
        check_requirements()
    except ImportError as error:
        remedy = str(error)
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return [
        Finding("mindspore_rnnt", f"{__version__} on {system}"),
        Finding("MindSpore", f"{mindspore_version()} with numpy {np.__version__}", remedy),
    ]


def _library() -> list[Finding]:
    from .. import native

    try:
        path, version = native.library_path(), native.version()
        level, levels = native.cpu_level(), native.cpu_levels()
    except (OSError, RuntimeError) as error:
        return [Finding("CPU library", "cannot be used", str(error))]
    return [
        Finding("CPU library", f"{version} in {path}"),
        Finding("SIMD level", f"{level} (of {', '.join(levels)})"),
        Finding("threads", f"{native.get_num_threads()} ({native.thread_source()})"),
    ]


def _loss() -> Finding:
    """Whether the loss of equal logits is the closed form."""
    T, U, V = 3, 2, 5
    expected = closed_form(T, U, V)
    try:
        import mindspore as ms

        from .. import rnnt_loss

        logits = ms.Tensor(np.zeros((1, T, U + 1, V), np.float32))
        targets, frames, labels = (ms.Tensor(x, ms.int32) for x in ([[1, 2]], [T], [U]))
        loss = float(rnnt_loss(logits, targets, frames, labels))
    except Exception as error:  # whatever it is, the user wants to read it here
        return Finding("rnnt_loss", "does not run", f"{type(error).__name__}: {error}")
    good = abs(loss - expected) < 1e-5
    return Finding(
        "rnnt_loss",
        f"runs: {loss:.6f}, expected {expected:.6f}",
        "" if good else "the loss is wrong: please report this output",
    )


def _show(title: str, findings: list[Finding]) -> None:
    print(title)
    for finding in findings:
        print(f"  {'ok' if not finding.remedy else '--'}  {finding.what:18} {finding.value}")
        if finding.remedy:
            print(f"      {'':18} {finding.remedy}")
