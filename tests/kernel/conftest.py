# SPDX-License-Identifier: Apache-2.0
"""The kernel alone, through ctypes: no MindSpore here."""

import pytest

from mindspore_rnnt import native


@pytest.fixture(params=native.cpu_levels())
def level(request):
    """Each SIMD level that this machine has."""
    before = native.cpu_level()
    native.select_cpu_level(request.param)
    yield request.param
    native.select_cpu_level(before)


@pytest.fixture
def set_threads():
    yield native.set_num_threads
    native.set_num_threads(0)
