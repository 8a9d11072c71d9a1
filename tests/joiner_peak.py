# SPDX-License-Identifier: Apache-2.0
"""Loss and gradients of a joiner, in a process of its own: the peak of a process never falls.

python joiner_peak.py FORM pynative|graph|graph_dynamic rows V J budget calls
prints the most memory of a call beside the inputs and parameters, the size of the logits (both in
bytes) and the median time of a call in seconds. FORM is chunked or plain, the loss of RNN-T without
or with its logits, or chunked_tdt or plain_tdt, with 5 durations.
"""

import statistics
import sys
import time

import mindspore as ms
import numpy as np
from joiner_calls import Plain
from mindspore import Tensor
from modes import set_dynamic, step_of

from mindspore_rnnt import JoinerRNNTLoss, JoinerTDTLoss, PackedJoiner, packed_indices
from mindspore_rnnt.bench.memory import peak_of_call

B, U, WIDTH = 8, 49, 256
DURATIONS = (0, 1, 2, 3, 4)


def loss_of(form, V, J, budget):
    if form.endswith("tdt"):
        joiner = PackedJoiner(WIDTH, WIDTH, J, V, num_durations=len(DURATIONS))
        if form == "plain_tdt":
            return Plain(joiner, DURATIONS)
        return JoinerTDTLoss(joiner, DURATIONS, budget)
    joiner = PackedJoiner(WIDTH, WIDTH, J, V)
    return JoinerRNNTLoss(joiner, budget) if form == "chunked" else Plain(joiner)


def inputs_of(rows, V):
    """8 samples of 49 labels whose frames make up the rows."""
    rng = np.random.default_rng(0)
    T, labels = rows // (B * (U + 1)), rng.integers(1, V, (B, U)).astype(np.int32)
    lengths = np.full(B, T, np.int32), np.full(B, U, np.int32)
    features = [rng.standard_normal((B, n, WIDTH)).astype(np.float32) for n in (T, U + 1)]
    return [Tensor(x) for x in (*features, labels, *lengths, *packed_indices(*lengths))]


def measure(form, mode, rows, V, J, budget, calls):
    step = step_of(loss_of(form, V, J, budget))
    inputs, small = inputs_of(rows, V), inputs_of(2 * B * (U + 1), V)
    if mode != "pynative":
        ms.set_context(mode=ms.GRAPH_MODE)
    if mode == "graph_dynamic":
        set_dynamic(step, inputs)
    if mode == "graph":
        step.compile(*inputs)
    else:
        step(*small)
    peaks, seconds = [], []
    for _ in range(calls):
        start = time.perf_counter()
        peak, result = peak_of_call(step, inputs)
        seconds.append(time.perf_counter() - start)
        peaks.append(peak)
        assert np.isfinite(result[0].asnumpy())
    return max(peaks), 4 * rows * V, statistics.median(seconds)


if __name__ == "__main__":
    print(*measure(*sys.argv[1:3], *map(int, sys.argv[3:6]), sys.argv[6], int(sys.argv[7])))
