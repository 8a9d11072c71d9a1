# SPDX-License-Identifier: Apache-2.0
"""Loss and gradients of a joiner, in a process of its own: the peak of a process never falls.

python joiner_peak.py chunked|plain pynative|graph|graph_dynamic rows V J budget calls
prints the most memory beside the inputs and parameters, the size of the logits (both in bytes) and
the median time of a call in seconds.
"""

import statistics
import sys
import time
from pathlib import Path

import mindspore as ms
import numpy as np
from joiner_calls import Plain, Step, set_dynamic
from mindspore import Tensor

from mindspore_rnnt import JoinerRNNTLoss, PackedJoiner, packed_indices

B, U, WIDTH = 8, 49, 256


def inputs_of(rows, V):
    """8 samples of 49 labels whose frames make up the rows."""
    rng = np.random.default_rng(0)
    T, labels = rows // (B * (U + 1)), rng.integers(1, V, (B, U)).astype(np.int32)
    lengths = np.full(B, T, np.int32), np.full(B, U, np.int32)
    features = [rng.standard_normal((B, n, WIDTH)).astype(np.float32) for n in (T, U + 1)]
    return [Tensor(x) for x in (*features, labels, *lengths, *packed_indices(*lengths))]


def measure(form, mode, rows, V, J, budget, calls):
    joiner = PackedJoiner(WIDTH, WIDTH, J, V)
    step = Step(JoinerRNNTLoss(joiner, budget) if form == "chunked" else Plain(joiner))
    inputs, small = inputs_of(rows, V), inputs_of(2 * B * (U + 1), V)
    if mode != "pynative":
        ms.set_context(mode=ms.GRAPH_MODE)
    if mode == "graph_dynamic":
        set_dynamic(step, inputs)
    if mode == "graph":
        step.compile(*inputs)
    else:
        step(*small)
    ms.runtime.synchronize()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before, seconds = status("VmRSS"), []
    for _ in range(calls):
        start = time.perf_counter()
        result = step(*inputs)
        ms.runtime.synchronize()
        seconds.append(time.perf_counter() - start)
    assert np.isfinite(result[0].asnumpy())
    return status("VmHWM") - before, 4 * rows * V, statistics.median(seconds)


def status(key):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {key}")


if __name__ == "__main__":
    print(*measure(*sys.argv[1:3], *map(int, sys.argv[3:6]), sys.argv[6], int(sys.argv[7])))
