# SPDX-License-Identifier: Apache-2.0
"""python -m mindspore_rnnt verify, on the device that is here, and its benchmark, which `bench`
shares. In processes of their own: they choose the device, and verify changes the execution mode."""

import subprocess
import sys

import pytest

BREAK = """
import sys
from mindspore_rnnt import verify
from mindspore_rnnt.verify import checks

from mindspore_rnnt.conformance import STATEMENTS
from mindspore_rnnt.conformance.modes import MindSpore

STATEMENTS[:] = [s for s in STATEMENTS if s.name == "one_class"]
right = MindSpore.__call__
MindSpore.__call__ = lambda *args, **kw: [x + {error} for x in right(*args, **kw)]
checks.CHECKS = {checks}
sys.exit(verify.main(["--device", "CPU", "--quick", "--output", "report.md"]))
"""


def run(tmp_path, *command):
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stdout + done.stderr


def test_the_cpu_passes_and_reports(tmp_path):
    code, output = run(
        tmp_path, "-m", "mindspore_rnnt", "verify", "--device", "CPU", "--quick", "--output=r.md"
    )
    report = (tmp_path / "r.md").read_text()
    assert code == 0, output
    assert report.startswith("# mindspore_rnnt verify on CPU: all checks passed")
    for what in (
        "| values | half precision, V=17, dtype=bfloat16, chunked, pynative | passed |",
        "| semantics | fastemit, log_softmax=True, fused, pynative | passed |",
        "| bad_values | more labels than the targets hold, two_op, pynative | passed |",
        "| determinism | packed and padded, dtype=float32, fused, pynative | passed |",
        "| modes | graph_dynamic, two_op | passed |",
        "| modes | double backward | passed | refused |",
        "| chunked | JoinerRNNTLoss, 3 samples | passed |",
        "| durations | TDTLoss, pynative | passed |",
        "| durations | TDTLoss, jit | passed |",
        "| AMP | O2 with loss scale 1024 | passed |",
        "| (4, 200, 50, 50) float32, fused | 8.2 |",
    ):
        assert what in report


NO_DEVICE = """
import sys
import mindspore
from mindspore_rnnt.__main__ import main

def set_device(device):
    raise RuntimeError(f"Unsupported device {device}\\nC++ call stack")

mindspore.set_device = set_device
sys.exit(main(["{command}", "--device", "Ascend"]))
"""


@pytest.mark.parametrize("command", ["verify", "bench"])
def test_a_machine_without_the_device(command, tmp_path):
    code, output = run(tmp_path, "-c", NO_DEVICE.replace("{command}", command))
    assert code == 2 and "Traceback" not in output
    (line,) = [line for line in output.splitlines() if line.startswith(f"{command}: ")]
    assert "cannot use the device Ascend: Unsupported device Ascend (" in line
    assert "mindspore_rnnt doctor" in line


BENCH = """
import sys
from mindspore_rnnt.__main__ import main
from mindspore_rnnt.bench import device, problems

device._problems = lambda *_: [problems.uniform(2, 5, 3, 7)]
sys.exit(main(["bench", "--device", "CPU", "--output", "out"]))
"""


def test_bench_has_the_same_table(tmp_path):
    code, output = run(tmp_path, "-c", BENCH)
    assert code == 0, output
    table = (tmp_path / "out" / "device.md").read_text()
    assert table.strip() in output and "the speed of a plain stream" in table
    for form in ("fused", "two-op"):
        (row,) = [x for x in table.splitlines() if f"(2, 5, 3, 7) float32, {form} |" in x]
        _, size, floor, measured, share = row.strip("| ").split(" | ")
        assert float(size) == 0.0 and 0 <= float(floor) < float(measured) and share.endswith("%")


def test_a_wrong_loss_fails_the_run(tmp_path):
    """1e-4 is far above what the CPU is allowed."""
    code, output = run(tmp_path, "-c", BREAK.format(error=1e-4, checks="(checks.statements,)"))
    assert code == 1, output
    report = (tmp_path / "report.md").read_text()
    assert "**FAILED**" in report and "3 of 3 checks failed" in report


def test_a_check_that_breaks_off_is_a_failure(tmp_path):
    code, output = run(tmp_path, "-c", BREAK.format(error="None", checks="(checks.modes,)"))
    assert code == 1 and "TypeError" in output
    report = (tmp_path / "report.md").read_text()
    assert "| modes | broke off | **FAILED** | TypeError" in report
