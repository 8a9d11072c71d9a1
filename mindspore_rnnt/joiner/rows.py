# SPDX-License-Identifier: Apache-2.0
"""Whether the rows of a joiner are those of its padded inputs.

The two vectors hold b * max_t + t and b * max_u1 + u. Made for another max_t or max_u, they point
to other frames, mostly of other samples, and no shape tells. The samples that they belong to do:
both vectors name the same one, each sample but the first begins with its cell (0, 0), and the last
sample is reached. Within a sample rows may have any order.
"""

from collections.abc import Sequence
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

from ..checks import refuse


def check_rows(
    caller: str,
    encoder_shape: Sequence[int],
    predictor_shape: Sequence[int],
    frame_rows: np.ndarray,
    step_rows: np.ndarray,
) -> None:
    """Of NumPy arrays: a ValueError that names the first row which does not belong there."""
    (B, max_t, _), max_u1 = encoder_shape, predictor_shape[1]
    start = np.full(1, -1, frame_rows.dtype)
    before = np.concatenate((start, frame_rows[:-1]))
    wrong = np.logical_not(_belongs(frame_rows, step_rows, before, B, max_t, max_u1))
    wrong[-1] |= frame_rows[-1] // max_t != B - 1
    if wrong.any():
        row = int(wrong.argmax())
        (b, t), (step_b, u) = divmod(frame_rows[row], max_t), divmod(step_rows[row], max_u1)
        refuse(
            caller,
            ValueError,
            "frame_rows",
            "with 'step_rows' what packed_indices(logit_lengths, target_lengths, "
            f"max_t={max_t}, max_u={max_u1 - 1}) returns for encoder_out of {max_t} frames and "
            f"predictor_out of {max_u1} steps",
            f"frame {t} of sample {b} and step {u} of sample {step_b} in row {row}",
        )


def rows_belong(
    encoder_shape: Sequence[int],
    predictor_shape: Sequence[int],
    frame_rows: Tensor,
    step_rows: Tensor,
) -> Tensor:
    """Of Tensors, in a graph: one bool of shape (1,), whether all rows belong where they point. A
    wrong row tells that all were made for other sizes, also those that fit by chance."""
    B, max_t, max_u1 = encoder_shape[0], encoder_shape[1], predictor_shape[1]
    before = ops.cat((ops.full((1,), -1, dtype=ms.int32), frame_rows[:-1]))
    good = _belongs(frame_rows, step_rows, before, B, max_t, max_u1)
    return ops.logical_and(good.all(), frame_rows[-1:] // max_t == B - 1)


def _belongs(frames: Any, steps: Any, frames_before: Any, B: int, max_t: int, max_u1: int) -> Any:
    """For NumPy arrays and Tensors alike. -1 stands before the first row."""
    sample, sample_before = frames // max_t, frames_before // max_t
    begins = (sample == 0) | ((frames % max_t == 0) & (steps % max_u1 == 0))
    in_order = (sample == sample_before) | ((sample == sample_before + 1) & begins)
    return (sample == steps // max_u1) & (frames >= 0) & (sample < B) & in_order
