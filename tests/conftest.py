# SPDX-License-Identifier: Apache-2.0
"""Shared by all tests: the tolerance table is in `tolerances`, oracles and batches in `oracles`."""

import gc
import sys
from pathlib import Path

import pytest
from tolerances import TOLERANCE

__all__ = ["TOLERANCE"]

TESTS = Path(__file__).parent
sys.path.append(str(TESTS.parent))  # for aot_build; behind the installed package, which is tested
# Folders and files whose tests train, compile C++, start processes or compile many graphs.
SLOW = {
    *("ascend", "package", "parity", "recipe", "twin"),
    *(
        "test_alignment.py",
        "test_bench_family.py",
        "test_chunked_loss.py",
        "test_commands.py",
        "test_copied_sources.py",
        "test_compositions.py",
    ),
    *("test_distillation.py", "test_family_errors.py", "test_first_calls.py"),
    *("test_joiner_loss.py", "test_memory.py", "test_modes.py"),
    *("test_pruned.py", "test_pruned_cell.py", "test_rnnt_loss.py", "test_row_labels.py"),
    *("test_simple.py", "test_tdt.py", "test_tdt_joiner_loss.py", "test_tools.py"),
    "test_training.py",
}


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(TESTS) and item.path.relative_to(TESTS).parts[0] in SLOW:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish():
    """MindSpore collects garbage before it compiles a graph: not among what is loaded by now."""
    gc.collect()
    gc.freeze()
