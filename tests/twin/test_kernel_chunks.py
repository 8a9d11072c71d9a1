# SPDX-License-Identifier: Apache-2.0
"""The phases as operators of their own, over logits that exist a chunk of rows at a time."""

import numpy as np
import pytest
from oracles import TOLERANCE, random_batch, report
from twin import kernel_on_twin as twin

from mindspore_rnnt.conformance.backend import row_labels
from mindspore_rnnt.reference import rnnt_loss_reference

LENGTHS = [(6, 4), (9, 0), (3, 5), (1, 2)]
WEIGHTS = np.array([2.5, -3.0, 0.0, 1.0], np.float32)


def chunked(layout, weights, chunk, dtype="float32", labels=None, cores=7, **params):
    logits, targets, T, U = layout
    if labels is None:
        labels = row_labels(targets, T, U)
    starts = range(0, len(logits), chunk)
    parts = [slice(start, start + chunk) for start in starts]
    stats = [twin.row_stats(logits[p], labels[p], dtype, cores, **params) for p in parts]
    stats = np.concatenate(stats)
    loss, coefficients = twin.lattice(stats, T, U, cores, **params)
    dloss = np.repeat(weights, np.maximum(T, 0) * (U + 1))[: len(logits)]
    grad = [
        twin.row_grad(
            logits[p], labels[p], stats[p], coefficients[p], dloss[p], dtype, cores, **params
        )
        for p in parts
    ]
    return loss, np.concatenate(grad)


@pytest.mark.parametrize("V", [700, 16001])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("options", [{}, {"clamp": 0.1, "fastemit_lambda": 0.1}], ids=str)
def test_logits(V, dtype, options):
    batch = random_batch(LENGTHS if V < 1000 else [(2, 1)] * 4, V, seed=V, dtype=dtype)
    layout = batch.layout(False)
    loss, grad = chunked(layout, WEIGHTS, 13 if V < 1000 else 5, dtype, **options)
    expected_loss, expected = rnnt_loss_reference(*layout, reduction="none", **options)
    assert report("loss", loss, expected_loss) <= 1e-5
    weighted = expected * batch.per_row(WEIGHTS, expected)
    tolerance = 5e-5 + (0 if dtype == "float32" else 3 * TOLERANCE["gradient"][dtype])
    assert report("gradient", grad, weighted) <= tolerance


def test_lengths_that_do_not_add_up():
    logits, targets, T, U = random_batch(LENGTHS, 9).layout(False)
    labels = row_labels(targets, T, U)
    T = T + np.array([0, 0, 1, 0], np.int32)
    loss, grad = chunked((logits, targets, T, U), np.ones(4, np.float32), 12, labels=labels)
    assert np.isnan(loss).all() and (grad == 0).all()


def one_core(batch, dtype="float32"):
    """Every operator on one core, which has all tiles; dloss differs from row to row."""
    logits, targets, T, U = layout = batch.layout(False)
    labels = row_labels(targets, T, U)
    stats = twin.row_stats(logits, labels, dtype, 1)
    loss, coefficients = twin.lattice(stats, T, U, 1)
    dloss = np.linspace(-2, 2, len(logits)).astype(np.float32)
    dloss[::7] = 0
    grad = twin.row_grad(logits, labels, stats, coefficients, dloss, dtype, 1)
    expected_loss, expected = rnnt_loss_reference(*layout, reduction="none")
    assert report("loss", loss, expected_loss) <= 1e-5 * max(1, np.abs(expected_loss).max())
    tolerance = 1e-4 + (0 if dtype == "float32" else 3 * TOLERANCE["gradient"][dtype])
    assert report("gradient", grad, expected * dloss[:, None]) <= tolerance


# Tiles of 128 rows: one less, full, one more, several.
@pytest.mark.parametrize("rows", [127, 128, 129, 255, 256, 257, 385])
def test_tiles_of_one_core(rows):
    one_core(random_batch([(rows, 0)] if rows % 2 else [(rows // 2, 1)], 11, seed=rows))


# Pieces: 120 rows of 128 lanes in row_stats, 64 in row_grad; rows of two pieces beyond 15360 lanes
# and beyond 8192.
@pytest.mark.parametrize(
    "rows, V",
    [
        *((rows, 128) for rows in (63, 64, 65, 119, 120, 121, 241)),
        *((3, V) for V in (8191, 8192, 8193)),
        *((2, V) for V in (15360, 15361)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_pieces_of_one_core(rows, V, dtype):
    one_core(random_batch([(rows, 0)], V, seed=rows, dtype=dtype), dtype)
