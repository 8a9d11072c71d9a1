# SPDX-License-Identifier: Apache-2.0
"""Steps of the decoder over all utterances of a stream."""

import numpy as np
import pytest
from recipe_networks import Deaf

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data.features import Cmvn
from mindspore_rnnt.recipe.decoding.revisions import Revisions
from mindspore_rnnt.recipe.decoding.speed import stream_speed


class Talker(Deaf):
    """Emits label 1 at every fourth frame; with two heads it moves on by three frames."""

    def join(self, frames, outputs):
        return np.where(frames % 4 == 0, [[0.0, 1.0]], [[1.0, 0.0]])

    def join_heads(self, frames, outputs):
        return self.join(frames, outputs), np.array([[0.0, 1.0]])


class Waverer(Deaf):
    """Hears 1 or 2 in frame 0, 1 a little sooner; frame 5, a chunk later, fits 2 much better."""

    def join(self, frames, outputs):
        rows = []
        for frame, last in zip(frames[:, 0], outputs[:, 0]):
            if frame == 0 and last == 0:
                rows.append([0.0, 0.6, 0.4])
            elif frame == 5 and last == 1:
                rows.append([0.1, 0.45, 0.45])
            else:
                rows.append([1.0, 0.0, 0.0])
        return np.log(np.maximum(rows, 1e-12))


@pytest.mark.parametrize(("method", "share"), [("beam", 1 / 2), ("greedy", 0.0)])
def test_what_a_best_hypothesis_takes_back_is_counted(method, share):
    rules = [f"endpoint.{rule}=99" for rule in ("silence", "no_speech", "longest")]
    settings = config.load(None, [f"decode.method={method}", "decode.beam=2", *rules])
    cmvn = Cmvn(np.zeros(80), np.ones(80))
    audio = np.zeros(160 * 59 + 400, np.float32)  # 15 frames of the encoder
    found = stream_speed(Waverer(), settings, cmvn, [audio, audio])
    # With the beam 1 is shown first, of probability 0.6 to 0.4; after frame 5 it is 0.06 to 0.4,
    # so 1 goes and 2 comes: one of two labels. Greedy search stays with 1 and goes on from there.
    assert found["taken back of best hypotheses"] == pytest.approx(share)
    assert found["taken back of what is shown"] == 0.0


def test_revisions_are_labels_behind_the_first_difference():
    seen = Revisions()
    for ids in ([], [1, 2], [1, 2, 3], [1, 4], [1, 4, 5]):
        seen.show(ids)
    seen.end([1, 4, 5, 6])
    assert (seen.shown, seen.taken_back) == (2 + 1 + 1 + 1 + 1, 2)
    seen.show([9])  # another utterance
    seen.end([9])
    assert (seen.shown, seen.taken_back, seen.share) == (7, 2, 2 / 7)
    assert Revisions().share == 0.0


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
