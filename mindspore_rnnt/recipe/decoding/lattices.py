# SPDX-License-Identifier: Apache-2.0
"""What a model makes of an utterance whose text is known: its lattice as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor

from mindspore_rnnt import packed_indices, plot, rnnt_align, rnnt_posteriors

from ..data.buckets import SUBSAMPLING
from ..data.text import BLANK, Vocabulary
from .recogniser import Recogniser


def draw(
    recogniser: Recogniser,
    features: np.ndarray,
    text: str,
    vocabulary: Vocabulary,
    hop: float,
    pinyin: Mapping[str, str],
    path: str | Path,
) -> None:
    """The probability of each cell and the best path for `text` in features (n, mels), one every
    `hop` seconds. Characters that the vocabulary lacks are left out."""
    unknown = vocabulary.unknown(text)
    text = "".join(item for item in text if item not in unknown)
    logits = _logits(recogniser, features, vocabulary.encode(text))
    T, U = logits.shape[1], len(text)
    targets = Tensor(vocabulary.encode(text)[np.newaxis])
    batch = logits, targets, Tensor([T], ms.int32), Tensor([U], ms.int32)
    posteriors, alignment = (of(*batch, blank=BLANK) for of in (rnnt_posteriors, rnnt_align))
    font, lacks = plot.font_of(text)
    tokens = [plot.readable(item, lacks, pinyin) for item in text]
    frame_ms = 1000 * SUBSAMPLING * hop
    figure = plot.lattice(posteriors, alignment, tokens=tokens, frame_ms=frame_ms)
    title = " ".join(tokens) if lacks else text
    figure.axes[0].set_title(title, fontsize=11, fontfamily=font)
    figure.savefig(path, dpi=120)


def _logits(recogniser: Recogniser, features: np.ndarray, ids: np.ndarray) -> Tensor:
    """(1, T, U + 1, V) of all cells."""
    frames = recogniser.encode(features[np.newaxis], np.array([len(features)]))
    state, outputs = recogniser.start(1), []
    for token in (BLANK, *ids):
        output, state = recogniser.predict(np.array([token]), state)
        outputs.append(output[0])
    T, U = frames.shape[1], len(ids)
    rows = (Tensor(item) for item in packed_indices([T], [U], T, U))
    logits = recogniser.model.joiner(Tensor(frames), Tensor(np.stack([outputs])), *rows)
    return logits.reshape((1, T, U + 1, -1))
