# SPDX-License-Identifier: Apache-2.0
"""The same input gives the same bits: again, alone or in a batch, in any layout and form."""

from __future__ import annotations

import numpy as np

from .batches import Batch, random_batch
from .statement import WHOLE_FORMS, statement

LENGTHS = [(37, 9), (21, 4), (1, 0), (30, 17), (2, 30)]
WEIGHTS = np.array([0.25, -3.0, 1e-3, 0.0, 7.0], np.float32)
DTYPES = ("float32", "float16", "bfloat16")


@statement(dtype=DTYPES)
def twice(run, dtype):
    layout = random_batch(LENGTHS, V=129, dtype=dtype).layout(False)
    run.same_bits("twice", run(layout, dtype), run(layout, dtype))


@statement(dtype=DTYPES, V=(9, 129))
def alone_and_in_any_order(run, dtype, V):
    batch = random_batch(LENGTHS, V, dtype=dtype)
    losses, gradient = run(batch.layout(False), dtype)
    rows = np.split(np.arange(len(gradient)), np.cumsum(batch.row_counts)[:-1])
    for order in ([4, 3, 2, 1, 0], [1], [3], [4]):
        other = Batch([batch.samples[b] for b in order], [batch.labels[b] for b in order])
        expected = losses[order], gradient[np.concatenate([rows[b] for b in order])]
        run.same_bits(f"samples {order}", run(other.layout(False), dtype), expected)


@statement(dtype=DTYPES, forms=WHOLE_FORMS)
def packed_and_padded(run, dtype):
    batch = random_batch(LENGTHS, V=50, dtype=dtype)
    losses, gradient = run(batch.layout(True, 3, 2), dtype)
    packed = losses, gradient[batch.padded_mask(3, 2)].reshape(-1, 50)
    run.same_bits("padded", packed, run(batch.layout(False), dtype))


@statement(
    V=(37, 257, 16001),
    padded=(False, True),
    log_softmax=(True, False),
    forms=("two_op", "chunked"),
)
def every_form(run, V, padded, log_softmax):
    """In half precision the fused form rounds once more, so there it need not agree."""
    lengths = LENGTHS if V < 1000 else [(3, 2), (2, 1), (1, 0), (1, 1), (2, 0)]
    layout = random_batch(lengths, V, seed=1).layout(padded, 1, 2)
    options = {"clamp": 0.3, "fastemit_lambda": 0.1, "fused_log_softmax": log_softmax}
    for dloss in (None, WEIGHTS):
        got = run(layout, dloss=dloss, **options)
        run.same_bits("fused", run(layout, dloss=dloss, form="fused", **options), got)


@statement(V=(50, 257), padded=(False, True))
def any_number_of_workers(run, V, padded):
    """Threads, or cores."""
    layout = random_batch(LENGTHS, V).layout(padded)
    results = []
    for count in run.backend.worker_counts:
        with run.backend.workers(count):
            results.append(run(layout))
    for count, result in zip(run.backend.worker_counts, results):
        run.same_bits(f"{count} of {run.backend.worker_counts}", result, results[0])
