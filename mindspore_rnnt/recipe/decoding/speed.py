# SPDX-License-Identifier: Apache-2.0
"""How much work a stream of speech is."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import numpy as np

from ..data.features import Cmvn, FeatureStream, LogMel
from ..settings import Config
from .bias import Bias
from .recogniser import Recogniser
from .streaming import StreamingDecoder

PIECE = 1600  # samples


def stream_speed(
    recogniser: Recogniser,
    config: Config,
    cmvn: Cmvn,
    recordings: Iterable[np.ndarray],
    biases: Sequence[Bias] = (),
) -> dict[str, float]:
    """Of recordings heard one by one as an open microphone would: seconds of audio, seconds of work
    for one of them (the real-time factor), and steps of the decoder for one of them. A step is one
    evaluation of the joiner."""
    decoder = StreamingDecoder(recogniser, config, biases)  # compiles
    samples, busy = 0, 0.0
    for audio in recordings:
        stream, before = FeatureStream(LogMel(config.features)), time.perf_counter()
        for start in range(0, len(audio), PIECE):
            decoder.accept(cmvn(stream.accept(audio[start : start + PIECE])))
        decoder.finish()
        busy += time.perf_counter() - before
        samples += len(audio)
    seconds = samples / config.features.sample_rate
    return {
        "seconds": seconds,
        "real-time factor": busy / seconds,
        "decoder steps a second": decoder.steps / seconds,
    }
