# SPDX-License-Identifier: Apache-2.0
"""A few padded lengths for all utterances: a step is compiled once for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SUBSAMPLING = 4  # feature frames of one encoder frame
FRAME_MULTIPLE = 16 * SUBSAMPLING  # padded lengths are multiples of it


def padded_shapes(frames: np.ndarray, buckets: int, longest: int = 0) -> list[int]:
    """At most `buckets` padded lengths, at equal shares of the utterances; the last holds all.

    `frames` may be a draw of random lengths, of which `longest` is the greatest possible.
    """
    shares = np.linspace(0, 1, buckets + 1)[1:]
    edges = np.quantile(frames, shares, method="inverted_cdf")
    edges[-1] = max(edges[-1], longest)
    return sorted({_round_up(int(edge)) for edge in edges})


def shape_of(frames: int, shapes: Sequence[int]) -> int:
    """The least padded length that holds `frames`; beyond all of them a new one."""
    return next((shape for shape in shapes if shape >= frames), _round_up(frames))


def pad(features: Sequence[np.ndarray], frames: int) -> tuple[np.ndarray, np.ndarray]:
    """(B, frames, mels) with zeros behind each item, and the lengths."""
    padded = np.zeros((len(features), frames, features[0].shape[1]), np.float32)
    for row, item in zip(padded, features):
        row[: len(item)] = item
    return padded, np.array([len(item) for item in features], np.int32)


def _round_up(frames: int) -> int:
    return -(-frames // FRAME_MULTIPLE) * FRAME_MULTIPLE
