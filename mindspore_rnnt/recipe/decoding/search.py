# SPDX-License-Identifier: Apache-2.0
"""From features to labels by the configured method.

All rows of a batch go through the network together, in arrays of one size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..data.buckets import SUBSAMPLING
from ..settings import NO_BEAM, Config
from .beam import BeamSearch
from .bias import Bias
from .found import Found
from .greedy import GreedySearch
from .recogniser import Recogniser


def decode(
    recogniser: Recogniser,
    features: np.ndarray,
    frame_lengths: np.ndarray,
    config: Config,
    biases: Sequence[Bias] = (),
) -> list[Found]:
    """What is found in each of the whole utterances: features (B, T, mels), lengths (B,)."""
    search = open_search(recogniser, config, len(features), biases)
    search.advance(recogniser.encode(features, frame_lengths), frame_lengths // SUBSAMPLING)
    return [search.best(row) for row in range(len(features))]


def open_search(
    recogniser: Recogniser, config: Config, rows: int, biases: Sequence[Bias] = ()
) -> GreedySearch | BeamSearch:
    """A search that has heard nothing yet, for `rows` streams. Greedy search takes no bias."""
    options = config.decode
    durations = config.loss.durations if config.loss.kind == "tdt" else ()
    if options.method == "greedy":
        return GreedySearch(recogniser, rows, options.max_symbols, durations)
    if options.method == "beam" and durations:
        raise ValueError(NO_BEAM)
    if options.method == "beam":
        return BeamSearch(recogniser, rows, options.beam, options.max_symbols, biases)
    raise ValueError(f"decode.method must be 'greedy' or 'beam', but got {options.method!r}")
