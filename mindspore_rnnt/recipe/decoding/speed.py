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
from .revisions import Revisions
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
    evaluation of the joiner.

    Also how many of the labels that appear are taken back: if all of the best hypothesis were shown
    every PIECE samples, and as `listen` does it, where only settled labels are shown.
    """
    decoder = StreamingDecoder(recogniser, config, biases)  # compiles
    samples, busy = 0, 0.0
    best, settled = Revisions(), Revisions()
    for audio in recordings:
        stream = FeatureStream(LogMel(config.features))
        for start in range(0, len(audio) + PIECE, PIECE):  # the last piece is the end
            piece, before = audio[start : start + PIECE], time.perf_counter()
            ended = decoder.accept(cmvn(stream.accept(piece))) if len(piece) else decoder.finish()
            busy += time.perf_counter() - before
            for segment in ended:
                best.end(segment.found.ids)
                settled.end(segment.found.ids)
            ids = decoder.partial.ids
            best.show(ids)
            settled.show(ids[: decoder.settled])
        samples += len(audio)
    seconds = samples / config.features.sample_rate
    return {
        "seconds": seconds,
        "real-time factor": busy / seconds,
        "decoder steps a second": decoder.steps / seconds,
        "taken back of best hypotheses": best.share,
        "taken back of what is shown": settled.share,
    }
