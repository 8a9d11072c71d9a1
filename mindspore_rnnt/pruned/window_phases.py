# SPDX-License-Identifier: Apache-2.0
"""The chunked phases on windows: rows that are cells here and there in the lattice."""

from mindspore import Tensor

from ..joiner.chunks import ChunkedPhases
from .windows import from_lattice, to_lattice


class WindowPhases(ChunkedPhases):
    """Each sample has one step more than the predictor, of no cell: its label is NO_CELL."""

    def lattice_of(
        self,
        stats: Tensor,
        frames: Tensor,
        steps: Tensor,
        frame_rows: Tensor,
        step_rows: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
    ) -> tuple:
        B = logit_lengths.shape[0]
        max_t, columns = frames.shape[0] // B, steps.shape[0] // B
        cells = frame_rows * columns + step_rows % columns
        lattice = to_lattice(stats, cells, (B, max_t, columns))
        lengths = logit_lengths, target_lengths
        loss, coefficients = self.lattice(lattice, *lengths, self.params())
        return loss, from_lattice(coefficients, cells)
