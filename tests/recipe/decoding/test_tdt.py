# SPDX-License-Identifier: Apache-2.0
"""Greedy search that jumps over frames, against a loop over steps on a joiner made up."""

import numpy as np
import pytest
from recipe_networks import Deaf, network, random_features

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.decoding import search
from mindspore_rnnt.recipe.decoding.found import log_softmax
from mindspore_rnnt.recipe.decoding.greedy import GreedySearch
from mindspore_rnnt.recipe.decoding.recogniser import Recogniser
from mindspore_rnnt.recipe.decoding.streaming import StreamingDecoder

SETS = [(0, 1, 2, 3, 4), (0, 1), (1, 3, 2), (1,), (4, 0, 1)]


class MadeUp(Deaf):
    """Both heads depend on the frame and on all labels so far; half of the tokens are blank."""

    def __init__(self, durations, seed, frames=40, vocabulary=4):
        super().__init__()
        rng = np.random.default_rng(seed)
        sizes = vocabulary, len(durations)
        self.frames = [rng.normal(size=(frames, size)) for size in sizes]
        self.prefixes = [rng.normal(size=(997, size)) for size in sizes]
        self.frames[0][:, 0] += 0.8

    def start(self, rows):
        return (np.zeros(rows, int),)

    def predict(self, tokens, state):
        after = (state[0] * 31 + tokens + 1) % 997
        return after[:, np.newaxis].astype(float), (after,)

    def join_heads(self, frames, outputs):
        t, before = frames[:, 0].astype(int), outputs[:, 0].astype(int)
        return tuple(a[t] + b[before] for a, b in zip(self.frames, self.prefixes))


def step_by_step(network, length, durations, max_symbols):
    """(id, frame, log-probability) of each label, and how often the joiner was asked."""
    t, steps, in_frame, found = 0, 0, 0, []
    output, state = network.predict(np.zeros(1, int), network.start(1))
    while t < length:
        tokens, heads = network.join_heads(np.array([[t]]), output)
        steps += 1
        token, move = int(tokens[0].argmax()), durations[int(heads[0].argmax())]
        if token == 0:
            move = max(move, 1)
        else:
            found.append((token, t, log_softmax(tokens)[0, token]))
            output, state = network.predict(np.array([token]), state)
            in_frame += 1
            if move == 0 and in_frame == max_symbols:
                move = 1
        if move:
            t, in_frame = t + move, 0
    return found, steps


def labels_of(found):
    return list(zip(found.ids, found.frames, found.log_probs))


def frames_of(lengths):
    return np.tile(np.arange(max(lengths), dtype=float).reshape(1, -1, 1), (len(lengths), 1, 1))


@pytest.mark.parametrize("durations", SETS)
@pytest.mark.parametrize("max_symbols", [1, 2, 5])
def test_jumps_are_those_of_a_loop_over_steps(durations, max_symbols):
    labels, lengths = 0, np.array([40, 1, 17, 33])
    for seed in range(5):
        network = MadeUp(durations, seed)
        found = GreedySearch(network, len(lengths), max_symbols, durations)
        found.advance(frames_of(lengths), lengths)
        for row, length in enumerate(lengths):
            expected, steps = step_by_step(network, length, durations, max_symbols)
            assert labels_of(found.best(row)) == expected
            assert found.steps[row] == steps
            labels += len(expected)
    assert labels > 50


def test_a_jump_goes_over_the_end_of_a_piece():
    network, durations = MadeUp((0, 3, 1, 7), 3), (0, 3, 1, 7)
    whole = GreedySearch(network, 1, 2, durations)
    whole.advance(frames_of([40]), np.array([40]))
    for size in (1, 3, 16):
        pieces = GreedySearch(network, 1, 2, durations)
        for start in range(0, 40, size):
            piece = frames_of([40])[:, start : start + size]
            pieces.advance(piece, np.array([piece.shape[1]]))
        assert pieces.best() == whole.best() and pieces.steps == whole.steps
    assert len(whole.best().ids) > 5 and whole.steps < 40


@pytest.mark.parametrize("size", [1, 7, 160])
def test_a_stream_finds_what_the_whole_does(size):
    rules = ["endpoint.no_speech=99", "endpoint.longest=99", "endpoint.silence=99"]
    settings = config.load(None, ["loss=tdt", "decode.max_symbols=2", *rules])
    network, durations = MadeUp(settings.loss.durations, 1), settings.loss.durations
    expected, _ = step_by_step(network, 40, durations, 2)
    decoder = StreamingDecoder(network, settings, [])
    ended, features = [], np.zeros((160, settings.features.mels), np.float32)
    for start in range(0, 160, size):
        ended += decoder.accept(features[start : start + size])
    (segment,) = ended + decoder.finish()
    assert labels_of(segment.found) == expected
    assert segment.seconds == pytest.approx([0.04 * (frame + 1) for _, frame, _ in expected])


def test_a_network_with_two_heads_streams_as_it_hears_the_whole():
    settings, model = network(
        "loss=tdt",
        "train.jit=false",
        "model.blocks=1",
        "decode.max_symbols=2",
        "endpoint.no_speech=99",
        "endpoint.longest=99",
        "endpoint.silence=99",
    )
    output, head = model.joiner.output, model.joiner.duration_output
    for dense in (output, head):
        dense.bias.set_data(dense.bias * 0.0)
        dense.weight.set_data(dense.weight * 8.0)
    recogniser, features = Recogniser(model), random_features(1, 200)
    (found,) = search.decode(recogniser, features, np.array([200]), settings)
    decoder = StreamingDecoder(recogniser, settings, [])
    (segment,) = decoder.accept(features[0]) + decoder.finish()
    assert len(found.ids) > 3 and segment.found[:2] == found[:2]
    moves = np.diff(found.frames)
    assert moves.max() > 1, "no frame was jumped over"


def test_a_beam_is_refused():
    with pytest.raises(ValueError, match=r"'greedy' for a model of loss\.kind 'tdt'") as error:
        config.load(None, ["loss=tdt", "decode.method=beam"])
    assert "\n" not in str(error.value)
    settings = config.load(None, ["loss=tdt"])
    settings.decode.method = "beam"
    with pytest.raises(ValueError, match=r"'greedy' for a model of loss\.kind 'tdt'"):
        search.open_search(MadeUp((0, 1), 0), settings, 1)
