# SPDX-License-Identifier: Apache-2.0
"""Greedy search on a lattice made by hand; the beam against enumeration of all alignments."""

import itertools

import numpy as np
import pytest
from recipe_networks import Deaf, network, random_features, report
from tolerances import TOLERANCE

from mindspore_rnnt.recipe.decoding import search
from mindspore_rnnt.recipe.decoding.beam import BeamSearch
from mindspore_rnnt.recipe.decoding.greedy import GreedySearch
from mindspore_rnnt.recipe.decoding.recogniser import Recogniser


class Scripted(Deaf):
    """A network whose best character is `script[t][u]`: after u characters at frame t."""

    def __init__(self, script):
        super().__init__()
        self.script = np.array(script)

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


def greedy(network, features, lengths, max_symbols):
    found = GreedySearch(network, len(features), max_symbols)
    found.advance(network.encode(features, lengths), lengths // 4)
    return [found.best(row) for row in range(len(features))]


def beam(network, frames, lengths, width, max_symbols, biases=()):
    found = BeamSearch(network, len(frames), width, max_symbols, biases)
    found.advance(frames, lengths)
    return found


def test_greedy_follows_a_lattice_made_by_hand():
    features = np.zeros((2, 16, 80), np.float32)
    found = greedy(Scripted(SCRIPT), features, np.array([16, 8]), max_symbols=3)
    assert found[0][:2] == ((3, 1, 2, 2, 2), (1, 1, 3, 3, 3))
    assert found[1][:2] == ((3, 1), (1, 1)), "frames behind the end do not count"
    sure = 20 - np.log(np.exp(20) + 4)  # of the one logit of 20 among 5
    assert found[0].log_probs == pytest.approx([sure] * 5)
    once = greedy(Scripted(SCRIPT), features, np.array([16, 8]), max_symbols=1)
    assert once[0][:2] == ((3, 4, 2), (1, 2, 3))


def test_pieces_of_frames_are_the_whole():
    frames = Scripted(SCRIPT).encode(np.zeros((1, 16, 80)), None)
    for kind, more in ((GreedySearch, (2,)), (BeamSearch, (2, 2))):
        whole, pieces = (kind(Scripted(SCRIPT), 1, *more) for _ in range(2))
        whole.advance(frames, np.array([4]))
        for t in range(4):
            pieces.advance(frames[:, t : t + 1], np.array([1]))
        assert pieces.best() == whole.best() and whole.best().ids == (3, 1, 2, 2)


@pytest.mark.parametrize("width", [1, 4])
def test_a_beam_finds_what_is_sure_though_a_frame_has_no_room_for_all_of_it(width):
    features = np.zeros((1, 16, 80), np.float32)
    for max_symbols in (1, 2, 3):
        script, lengths = Scripted(SCRIPT), np.array([16])
        found = beam(script, script.encode(features, lengths), lengths // 4, width, max_symbols)
        best = found.best()._replace(share=None)
        assert [best] == greedy(script, features, lengths, max_symbols)


class RandomNetwork(Deaf):
    """Scores depend on the frame and on the whole prefix, as those of an LSTM would."""

    def __init__(self, vocabulary, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.vocabulary = vocabulary
        self.frames = rng.normal(size=(8, vocabulary)) * 2
        self.prefixes = rng.normal(size=(10_000, vocabulary)) * 2

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
    kept = beam(random, encoded, np.array([frames]), 2000, max_symbols).kept[0]
    assert {item.ids for item in kept} == set(totals)
    total = report("sum of all", np.logaddexp.reduce([item.score for item in kept]), 0.0)
    assert total < TOLERANCE["recipe_log_prob"]
    errors = [report(str(item.ids), item.score, totals[item.ids]) for item in kept]
    assert max(errors) < TOLERANCE["recipe_log_prob"]
    assert kept[0].ids == max(totals, key=totals.get)
    assert all(len(item.frames) == len(item.ids) for item in kept)


def test_the_share_of_the_best_is_its_part_of_all_that_is_kept():
    """With a beam that drops nothing: its probability, as all alignments together have 1."""
    for seed in range(5):
        random = RandomNetwork(3, seed)
        totals = enumerate_prefixes(random, 3, 1)
        encoded = random.encode(np.zeros((1, 32, 80)), None)
        best = beam(random, encoded, np.array([3]), 2000, 1).best()
        expected = np.exp(max(totals.values()))
        assert report("share", best.share, expected) < TOLERANCE["recipe_log_prob"]
        three = beam(random, encoded, np.array([3]), 3, 1)
        scores = np.exp([item.score for item in three.kept[0]])
        assert three.best().share == pytest.approx(scores[0] / scores.sum())


@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_bias_that_may_help_is_never_cut_off_too_early(width):
    """A bound far too high gives the same prefixes: the right one leaves nothing out."""

    class Careful(Unlike):
        most = 1e9

    for seed in range(10):
        random = RandomNetwork(4, seed)
        encoded = random.encode(np.zeros((1, 32, 80)), None)
        sharp, loose = (
            beam(random, encoded, np.array([8]), width, 2, [kind()]).kept[0]
            for kind in (Unlike, Careful)
        )
        assert [(item.ids, item.score) for item in sharp] == [
            (item.ids, item.score) for item in loose
        ]


def test_a_narrow_beam_never_beats_the_truth_and_often_finds_it():
    found = 0
    for seed in range(20):
        random = RandomNetwork(3, seed)
        totals = enumerate_prefixes(random, 3, 2)
        encoded = random.encode(np.zeros((1, 32, 80)), None)
        best = beam(random, encoded, np.array([3]), 4, 2).kept[0][0]
        assert best.score <= totals[best.ids] + TOLERANCE["recipe_log_prob"]
        found += best.ids == max(totals, key=totals.get)
    print(f"found the likeliest in {found} of 20")
    assert found >= 15


class Unlike:
    """A bias with a state: label 1 loses 3, and label 2 gains 1 after it."""

    most = 1.0

    def start(self):
        return False

    def step(self, state, label):
        return label == 1, {1: -3.0, 2: 1.0 if state else 0.0}.get(label, 0.0)


def test_a_bias_adds_to_the_exact_sum_of_each_prefix():
    random = RandomNetwork(3, 7)
    totals = enumerate_prefixes(random, 3, 1)
    for ids in totals:
        pairs = zip((0, *ids), ids)
        totals[ids] += sum(-3.0 if k == 1 else float(before == 1) for before, k in pairs)
    encoded = random.encode(np.zeros((1, 32, 80)), None)
    kept = beam(random, encoded, np.array([3]), 2000, 1, [Unlike()]).kept[0]
    errors = [report(str(item.ids), item.score, totals[item.ids]) for item in kept]
    assert len(kept) == len(totals) and max(errors) < TOLERANCE["recipe_log_prob"]
    assert kept[0].ids == max(totals, key=totals.get)


def test_what_is_settled_is_never_taken_back():
    settled_early = 0
    for seed in range(10):
        random = RandomNetwork(4, seed)
        frames = random.encode(np.zeros((1, 32, 80)), None)
        found, shown = BeamSearch(random, 1, 3, 2), ()
        for t in range(8):
            found.advance(frames[:, t : t + 1], np.array([1]))
            settled = found.best().ids[: found.settled()]
            assert settled[: len(shown)] == shown
            settled_early += len(settled) if t < 7 else 0
            shown = settled
    assert settled_early > 0


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_a_batch_is_its_utterances_one_by_one(method):
    settings, model = network(f"decode.method={method}", "decode.max_symbols=2")
    recogniser = Recogniser(model)
    features, lengths = random_features(3, 48), np.array([48, 20, 33])
    together = search.decode(recogniser, features, lengths, settings)
    for row, count in enumerate(lengths):
        one = slice(row, row + 1)
        alone = search.decode(recogniser, features[one, :count], lengths[one], settings)
        assert alone[0].ids == together[row].ids and alone[0].frames == together[row].frames
        # A matmul of another size rounds in another order.
        difference = np.subtract(alone[0].log_probs, together[row].log_probs)
        assert np.abs(difference).max(initial=0) <= TOLERANCE["recipe_encoder"]
    assert sum(len(found.ids) for found in together) > 0
    for (_, frames, *_), count in zip(together, lengths):
        assert list(frames) == sorted(frames) and max(frames, default=0) < count // 4
        assert all(len(list(group)) <= 2 for _, group in itertools.groupby(frames))


def test_unknown_method():
    settings, model = network("decode.max_symbols=2")
    settings.decode.method = "guess"
    with pytest.raises(ValueError, match="'greedy' or 'beam', but got 'guess'"):
        search.decode(Recogniser(model), random_features(1, 16), np.array([16]), settings)
