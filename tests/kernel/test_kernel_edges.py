# SPDX-License-Identifier: Apache-2.0
"""Magnitudes, processor modes and system failures at the edge of what the kernel can do."""

import ctypes
import platform
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from kernel.launch import FORMS, fused, numbers, poisoned
from oracles import TOLERANCE, random_batch, report, rnnt_loss_reference

from mindspore_rnnt.conformance.cpu_kernel import CpuKernel
from mindspore_rnnt.native import run_op

LENGTHS = [(5, 3), (4, 2), (6, 1)]


@pytest.mark.parametrize("form", FORMS)
def test_a_clamp_below_float32_is_still_a_clamp(level, form):
    gradient = FORMS[form](random_batch(LENGTHS, V=10).layout(False), clamp=1e-50)[1]
    assert np.abs(gradient).max() <= np.finfo(np.float32).tiny


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", 10.0 ** np.arange(2, 20, 2))
def test_one_class_of_any_size(level, form, size):
    """A logit of `size` for a class that is neither blank nor label, in the cell that every path
    ends in: all paths lose the same factor, so other cells keep their gradients. They are right,
    or NaN where log P is too large for float64 to hold them."""
    batch = random_batch([(5, 3), (4, 2)], V=10)
    expected = rnnt_loss_reference(*batch.layout(padded=False), reduction="none")[1]
    unused = next(k for k in range(9) if k not in batch.labels[0])
    batch.samples[0][-1, -1, unused] = size
    loss, gradient = FORMS[form](batch.layout(padded=False))
    assert report("sample 1", gradient[20:], expected[20:]) <= TOLERANCE["gradient"]["float32"]
    if np.isnan(loss[0]):
        assert size > 1e8 and np.isnan(gradient[:20]).all()
    else:
        assert report("loss / size", loss[0] / size, 1) <= 1
        assert report("sample 0", gradient[:19], expected[:19]) <= TOLERANCE["gradient"]["float32"]


def test_log_probs_of_float16_masks(level):
    """-65504, the least float16, in place of -inf on every blank of a long sample: still a loss."""
    logits = np.full((2000, 1, 2), -65504, np.float32)
    lengths = np.array([2000], np.int32), np.array([0], np.int32)
    layout = logits.reshape(-1, 2), np.zeros((1, 0), np.int32), *lengths
    loss, gradient = fused(layout, fused_log_softmax=False)
    assert report("loss", loss, [2000 * 65504]) <= 8
    assert (gradient == np.tile([0, -1], (2000, 1))).all()


@contextmanager
def denormals_are_zero():
    """DAZ and FTZ of this thread, which a host program may set for speed."""
    # The control word in glibc's fenv_t, and the bits in it.
    offset, bits = (28, 0x8040) if platform.machine() == "x86_64" else (0, 1 << 24)
    libm = ctypes.CDLL("libm.so.6")
    saved, changed = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
    libm.fegetenv(saved)
    libm.fegetenv(changed)
    ctypes.c_uint32.from_buffer(changed, offset).value |= bits
    libm.fesetenv(changed)
    try:
        yield
    finally:
        libm.fesetenv(saved)


def test_float16_where_denormals_are_zero(level, set_threads):
    """Every float16 is a normal float32."""
    set_threads(1)
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    y, one = poisoned(65536, np.float16), np.array([1], np.int32)
    with denormals_are_zero():
        run_op("RnntScaleGrad", [x[None], one, 0 * one, np.ones(1, np.float32)], [y[None]])
    assert np.array_equal(numbers(y), numbers(x), equal_nan=True)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_caller_that_flushes_denormals(level, dtype):
    """As MindSpore's threads do in graphs with dynamic shapes. The pool's threads do not, so the
    bits of a row would depend on the thread that computes it."""
    kernel = CpuKernel(level)
    layout = random_batch([(37, 9), (21, 4)], V=129, dtype=dtype, scale=4).layout(False)
    losses, gradient = kernel("two_op", layout, dtype)
    tiny = np.abs(gradient[gradient != 0]) < np.finfo(np.float32).tiny
    assert tiny.any() or dtype == "float16"
    for threads in (1, 3):
        with kernel.workers(threads), denormals_are_zero():
            flushed = kernel("two_op", layout, dtype)
        assert np.array_equal(flushed[0], losses) and np.array_equal(flushed[1], gradient)


OUT_OF_MEMORY = """
import resource, sys
import numpy as np
from mindspore_rnnt.native import pack_params, run_op, set_num_threads
set_num_threads(1)
T, U = 2000, 1000
stats = np.tile(np.float32([0, 2, -1, -1]), (T * (U + 1), 1))
outputs = [np.zeros(1, np.float32), np.zeros((len(stats), 3), np.float32)]
lengths = [np.int32([T]), np.int32([U])]
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (20 << 20),) * 2)
for may_throw in (False, True):
    try:
        run_op("RnntLattice", [stats, *lengths, pack_params(may_throw=may_throw)], outputs)
        print(*outputs[0], np.isnan(outputs[1]).all())
    except RuntimeError as error:
        print("refused", error)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
"""


def run_script(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)


def test_without_memory_all_losses_are_nan():
    """An exception would end a compiled graph for good; in PyNative there is one."""
    done = run_script(OUT_OF_MEMORY)
    assert done.stdout.splitlines() == ["nan True", "refused std::bad_alloc"], done.stderr
    assert "RnntLattice: std::bad_alloc; its outputs are NaN" in done.stderr


FORKS = """
import os, signal, threading, time
import numpy as np
from mindspore_rnnt.native import pack_params, run_op, set_num_threads
def call():
    logits, loss, one = np.zeros((400, 500), np.float32), np.zeros(1, np.float32), np.int32([1])
    inputs = [logits, np.zeros((1, 0), np.int32), 400 * one, 0 * one, pack_params()]
    run_op("RnntFused", inputs, [loss, np.zeros_like(logits)])
    assert abs(loss[0] - 400 * np.log(500)) < 0.01
set_num_threads(4)
first = threading.Thread(target=lambda: [call() for _ in range(20)])
first.start()
for i in range(10):
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that hangs ends with a signal
        call()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
first.join()
print("done")
"""


def test_fork_during_the_first_call():
    done = run_script(FORKS)
    assert done.stdout == "done\n", done.stderr
