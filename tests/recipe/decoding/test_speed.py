# SPDX-License-Identifier: Apache-2.0
"""Steps of the decoder over all utterances of a stream."""

import numpy as np
import pytest

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data.features import Cmvn
from mindspore_rnnt.recipe.decoding.speed import stream_speed


class Talker:
    """Emits label 1 at every fourth frame; with two heads it moves on by three frames."""

    chunk_size = 4

    def open_stream(self):
        return [0]

    def encode_chunk(self, features, stream):
        start, count = stream[0], len(features) // 4
        stream[0] += count
        return np.arange(start, start + count, dtype=float).reshape(1, -1, 1)

    def start(self, rows):
        return ()

    def predict(self, tokens, state):
        return np.asarray(tokens, float)[:, np.newaxis], ()

    def join(self, frames, outputs):
        return np.where(frames % 4 == 0, [[0.0, 1.0]], [[1.0, 0.0]])

    def join_heads(self, frames, outputs):
        return self.join(frames, outputs), np.array([[0.0, 1.0]])


@pytest.mark.parametrize(
    ("kind", "longest", "steps"),
    [
        ("rnnt", 99, 25 + 7),  # a frame with a label is asked again
        ("tdt", 99, 9),  # frames 0, 3, 6, .. of 25
        ("rnnt", 0.4, 2 * 10 + 2 * 3 + 5 + 2),  # an utterance is ten frames long
        ("tdt", 0.4, 4 + 4 + 2),
    ],
)
def test_steps_are_counted_over_all_utterances(kind, longest, steps):
    rules = [
        f"endpoint.longest={longest}",
        "decode.max_symbols=2",
        "endpoint.no_speech=99",
        "endpoint.silence=99",
    ]
    settings = config.load(None, [f"loss={kind}", "loss.durations=[1, 3]", *rules])
    cmvn = Cmvn(np.zeros(80), np.ones(80))
    one_second = 160 * 99 + 400  # samples of 100 frames of features, 25 of the encoder
    found = stream_speed(Talker(), settings, cmvn, [np.zeros(one_second, np.float32)])
    assert found["seconds"] == one_second / 16000
    assert found["decoder steps a second"] * found["seconds"] == pytest.approx(steps)
    assert found["real-time factor"] > 0
