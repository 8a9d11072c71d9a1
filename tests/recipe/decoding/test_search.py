# SPDX-License-Identifier: Apache-2.0
"""Greedy search on a lattice made by hand; the beam against enumeration of all alignments."""

import itertools

import numpy as np
import pytest
from recipe_networks import network, random_features, report
from tolerances import TOLERANCE

from mindspore_rnnt.recipe.decoding import search
from mindspore_rnnt.recipe.decoding.recogniser import Recogniser


class Scripted:
    """A network whose best character is `script[t][u]`: after u characters at frame t."""

    def __init__(self, script):
        self.script = np.array(script)

    def encode(self, features, frame_lengths):
        frames = np.arange(len(self.script), dtype=np.float32).reshape(1, -1, 1)
        return np.repeat(frames, len(features), axis=0)

    def start(self, rows):
        return (np.full(rows, -1),)

    def predict(self, tokens, state):
        count = state[0] + 1
        return count[:, np.newaxis].astype(np.float32), (count,)

    def join(self, frames, outputs):
        best = self.script[frames[:, 0].astype(int), outputs[:, 0].astype(int)]
        return 20 * np.eye(5)[best]


SCRIPT = [  # blank is 0
    [0, 0, 0, 0, 0, 0],
    [3, 1, 0, 0, 0, 0],  # two characters in one frame
    [9 % 5, 9 % 5, 0, 0, 0, 0],
    [4, 4, 2, 2, 2, 2],  # as many as are let
]


def test_greedy_follows_a_lattice_made_by_hand():
    features = np.zeros((2, 16, 80), np.float32)
    found = search.greedy(Scripted(SCRIPT), features, np.array([16, 8]), max_symbols=3)
    assert found[0] == ([3, 1, 2, 2, 2], [1, 1, 3, 3, 3])
    assert found[1] == ([3, 1], [1, 1]), "frames behind the end do not count"
    once = search.greedy(Scripted(SCRIPT), features, np.array([16, 8]), max_symbols=1)
    assert once[0] == ([3, 4, 2], [1, 2, 3])


@pytest.mark.parametrize("width", [1, 4])
def test_a_beam_finds_what_is_sure_though_a_frame_has_no_room_for_all_of_it(width):
    features = np.zeros((1, 16, 80), np.float32)
    for max_symbols in (1, 2, 3):
        script, lengths = Scripted(SCRIPT), np.array([16])
        found = search.beam(script, features, lengths, width, max_symbols)
        assert found == search.greedy(script, features, lengths, max_symbols)


class RandomNetwork:
    """Scores depend on the frame and on the whole prefix, as those of an LSTM would."""

    def __init__(self, vocabulary, seed):
        rng = np.random.default_rng(seed)
        self.vocabulary = vocabulary
        self.frames = rng.normal(size=(8, vocabulary)) * 2
        self.prefixes = rng.normal(size=(10_000, vocabulary)) * 2

    def encode(self, features, frame_lengths):
        return np.tile(np.arange(8.0).reshape(1, 8, 1), (len(features), 1, 1))

    def start(self, rows):
        return (np.zeros(rows, int),)

    def predict(self, tokens, state):
        after = state[0] * self.vocabulary + tokens + 1
        return after[:, np.newaxis].astype(float), (after,)

    def join(self, frames, outputs):
        rows = outputs[:, 0].astype(int) * 31 % len(self.prefixes)
        return self.frames[frames[:, 0].astype(int)] + self.prefixes[rows]


def enumerate_prefixes(network, frames, max_symbols):
    """log-probability of every character sequence: all alignments, one by one."""
    totals = {}

    def walk(t, emitted, ids, output, state, score):
        if t == frames:
            totals[ids] = np.logaddexp(totals.get(ids, -np.inf), score)
            return
        logits = network.join(np.array([[t]]), output)[0]
        log_probs = logits - np.log(np.exp(logits).sum())
        blank = log_probs[0] if emitted < max_symbols else 0.0  # then the frame ends by itself
        walk(t + 1, 0, ids, output, state, score + blank)
        if emitted < max_symbols:
            for k in range(1, network.vocabulary):
                after = network.predict(np.array([k]), state)
                walk(t, emitted + 1, (*ids, k), *after, score + log_probs[k])

    walk(0, 0, (), *network.predict(np.zeros(1, int), network.start(1)), 0.0)
    return totals


@pytest.mark.parametrize(
    ("frames", "vocabulary", "max_symbols", "seed"),
    [(1, 3, 2, 0), (2, 3, 2, 1), (3, 3, 1, 2), (3, 2, 2, 3), (4, 2, 1, 4), (2, 4, 1, 5)],
)
def test_a_wide_beam_gives_the_exact_sums(frames, vocabulary, max_symbols, seed):
    random = RandomNetwork(vocabulary, seed)
    totals = enumerate_prefixes(random, frames, max_symbols)
    encoded = random.encode(np.zeros((1, 32, 80)), None)
    kept = search.beam_search(random, encoded, np.array([frames]), 2000, max_symbols)[0]
    assert {item.ids for item in kept} == set(totals)
    total = report("sum of all", np.logaddexp.reduce([item.score for item in kept]), 0.0)
    assert total < TOLERANCE["recipe_log_prob"]
    errors = [report(str(item.ids), item.score, totals[item.ids]) for item in kept]
    assert max(errors) < TOLERANCE["recipe_log_prob"]
    assert kept[0].ids == max(totals, key=totals.get)
    assert all(len(item.frames) == len(item.ids) for item in kept)


def test_a_narrow_beam_never_beats_the_truth_and_often_finds_it():
    found = 0
    for seed in range(20):
        random = RandomNetwork(3, seed)
        totals = enumerate_prefixes(random, 3, 2)
        encoded = random.encode(np.zeros((1, 32, 80)), None)
        best = search.beam_search(random, encoded, np.array([3]), 4, 2)[0][0]
        assert best.score <= totals[best.ids] + TOLERANCE["recipe_log_prob"]
        found += best.ids == max(totals, key=totals.get)
    print(f"found the likeliest in {found} of 20")
    assert found >= 15


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_a_batch_is_its_utterances_one_by_one(method):
    settings, model = network(f"decode.method={method}", "decode.max_symbols=2")
    recogniser = Recogniser(model)
    features, lengths = random_features(3, 48), np.array([48, 20, 33])
    together = search.decode(recogniser, features, lengths, settings)
    for row, count in enumerate(lengths):
        one = slice(row, row + 1)
        alone = search.decode(recogniser, features[one, :count], lengths[one], settings)
        assert alone[0] == together[row]
    assert sum(len(ids) for ids, _ in together) > 0
    for (_, frames), count in zip(together, lengths):
        assert list(frames) == sorted(frames) and max(frames, default=0) < count // 4
        assert all(len(list(group)) <= 2 for _, group in itertools.groupby(frames))


def test_unknown_method():
    settings, model = network("decode.max_symbols=2")
    settings.decode.method = "guess"
    with pytest.raises(ValueError, match="'greedy' or 'beam', but got 'guess'"):
        search.decode(Recogniser(model), random_features(1, 16), np.array([16]), settings)
