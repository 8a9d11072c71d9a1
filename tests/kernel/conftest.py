# SPDX-License-Identifier: Apache-2.0
"""The kernel alone, through ctypes: no MindSpore here."""

import pytest
from kernel.launch import same_bits

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


@pytest.fixture
def same_with_any_threads(set_threads):
    """A function: the arrays that `compute()` gives, of the same bits on any number of threads."""

    def check(compute):
        set_threads(1)
        expected = compute()
        for threads in (2, 3, 5, 7):
            set_threads(threads)
            assert all(map(same_bits, compute(), expected))
        return expected

    return check
