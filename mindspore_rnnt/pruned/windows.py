# SPDX-License-Identifier: Apache-2.0
"""Between the windows (B, max_T, S) and the lattice (B, max_T, max_U1) of their cells.

Window cell (t, i) is the lattice's cell (t, u), u = starts[t] + i. Cells of no sample have the step
max_U1, one column that the lattice does not have: whatever is put there has no effect.
"""

import mindspore as ms
from mindspore import Tensor, ops

from ..row_labels import NO_CELL


def window_steps(
    starts: Tensor, logit_lengths: Tensor, target_lengths: Tensor, S: int, max_u1: int
) -> Tensor:
    """The step of each window cell, (B, max_T, S) int32."""
    u = ops.expand_dims(starts, 2) + ops.range(0, S, 1).astype(ms.int32)
    frames = ops.range(0, starts.shape[1], 1) < ops.expand_dims(logit_lengths, 1)
    U = target_lengths.reshape((-1, 1, 1))
    inside = ops.logical_and(u >= 0, ops.logical_and(u <= U, u < max_u1))
    return ops.where(ops.logical_and(inside, ops.expand_dims(frames, 2)), u, max_u1)


def with_no_cell(labels: Tensor) -> Tensor:
    """Labels of steps (B, max_U1 + 1), NO_CELL in the last column."""
    return ops.cat((labels, ops.full((labels.shape[0], 1), NO_CELL, dtype=ms.int32)), 1)


def to_lattice(stats: Tensor, cells: Tensor, shape: tuple) -> Tensor:
    """Stats of rows (n, 4) in their cells of a lattice of this shape, (.., 4); 0, no arc, where no
    row is. Of several rows in one cell, all are 0."""
    rows = shape[0] * shape[1] * shape[2]
    lattice = ops.zeros((rows, 4), ms.float32)
    lattice = ops.tensor_scatter_update(lattice, ops.expand_dims(cells, 1), stats)
    return lattice.reshape((*shape, 4))


def from_lattice(coefficients: Tensor, cells: Tensor) -> Tensor:
    """Coefficients of the rows (n, 3) from their cells in the lattice (.., 3)."""
    return ops.gather(coefficients.reshape((-1, 3)), cells, 0)
