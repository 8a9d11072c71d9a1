# SPDX-License-Identifier: Apache-2.0
"""A stream finds what the whole utterance does, however it is cut."""

import itertools

import numpy as np
import pytest
from recipe_networks import Deaf, network, random_features, report
from tolerances import TOLERANCE

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.decoding import search
from mindspore_rnnt.recipe.decoding.endpoint import Endpoint
from mindspore_rnnt.recipe.decoding.recogniser import ROOM_CHUNKS, Recogniser
from mindspore_rnnt.recipe.decoding.streaming import StreamingDecoder

CASES = [  # chunk size, left chunks, blocks
    (4, -1, 2, "model.predictor=stateless", "model.subsampling=stack"),
    (4, 0, 1, "model.predictor=lstm", "model.subsampling=stack"),
    (4, 2, 2, "model.predictor=lstm", "model.subsampling=conv2d"),
    (3, 1, 1, "model.predictor=stateless", "model.subsampling=conv2d"),
    (1, 5, 1, "model.predictor=stateless", "model.subsampling=stack"),
]


@pytest.mark.parametrize("case", CASES)
def test_a_stream_is_the_whole_utterance(case):
    chunk, left, blocks, *kinds = case
    settings, model = network(
        f"model.chunk_size={chunk}",
        f"model.left_chunks={left}",
        f"model.blocks={blocks}",
        "decode.max_symbols=2",
        "endpoint.no_speech=99",
        "endpoint.longest=99",
        "endpoint.silence=99",
        *kinds,
    )
    output = model.joiner.output
    output.bias.set_data(output.bias * 0.0)  # else untrained weights may say blank everywhere
    output.weight.set_data(output.weight * 8.0)
    recogniser = Recogniser(model)
    count = 4 * chunk * (ROOM_CHUNKS + 3) + 9  # beyond the first room; the last chunk is partial
    features = random_features(1, count + 3)
    features[:, count:] = 1e3  # never heard
    whole = recogniser.encode(features, np.array([count]))[0, : count // 4]

    stream, pieces = recogniser.open_stream(), []
    for start in range(0, count, 4 * chunk):
        pieces.append(
            recogniser.encode_chunk(
                features[0, start : start + 4 * chunk][: count - start], stream
            )[0]
        )
    streamed = np.concatenate(pieces)
    assert streamed.shape == whole.shape
    assert report("frames", streamed, whole) < TOLERANCE["recipe_encoder"]

    (found,) = search.decode(recogniser, features, np.array([count]), settings)
    assert len(set(found.ids)) > 1
    decoder = StreamingDecoder(recogniser, settings, [])
    (segment,) = feed(decoder, features[0, :count], [1, 2, 60, 7, 3])
    assert segment.found[:2] == found[:2] and segment.reason is Endpoint.STREAM_OVER
    assert segment.found.log_probs == pytest.approx(found.log_probs, abs=1e-3)
    assert segment.seconds == pytest.approx([(frame + 1) * 0.04 for frame in found.frames])
    assert (segment.begin, segment.end) == pytest.approx(
        (found.frames[0] * 0.04, (found.frames[-1] + 1) * 0.04)
    )


def feed(decoder, features, sizes):
    """The utterances of a stream that comes in pieces of these sizes, again and again."""
    ended, start = [], 0
    for size in itertools.cycle(sizes):
        ended += decoder.accept(features[start : start + size])
        start += size
        if start >= len(features):
            return ended + decoder.finish()


class Switch(Deaf):
    """Its one label, 1, is emitted at each frame with a loud first feature."""

    def encode_chunk(self, features, stream):
        return features[np.newaxis, : len(features) // 4 * 4 : 4, :1]

    def join(self, frames, outputs):
        loud = frames[:, 0] > 0.5
        return np.stack([~loud, loud], axis=1) * 9.0


def spoken(*frames, length):
    features = np.zeros((4 * length, 80), np.float32)
    features[[4 * frame for frame in frames]] = 1.0
    return features


HANDS_FREE = ["decode.max_symbols=1", "endpoint.silence=0.4", "endpoint.no_speech=0.8"]


@pytest.mark.parametrize("sizes", [[16], [1, 2, 60, 7, 3], [400]])
@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_two_commands_in_one_stream_are_two_utterances(method, sizes):
    """Labels at frames 5, 6 and, after 16 blanks, at 23 and 30; ten blanks end an utterance."""
    rules = [*HANDS_FREE, f"decode.method={method}", "endpoint.overlap=0.12"]
    decoder = StreamingDecoder(Switch(), config.load(None, rules), [])
    first, second = feed(decoder, spoken(5, 6, 23, 30, length=50), sizes)
    assert [first.reason, second.reason] == [Endpoint.SILENCE] * 2
    assert first.seconds == pytest.approx([0.24, 0.28])
    assert second.seconds == pytest.approx([0.96, 1.24])
    assert (first.begin, first.end) == pytest.approx((0.2, 0.28))
    assert first.heard == pytest.approx((0.0, 17 * 0.04))
    assert second.heard == pytest.approx((14 * 0.04, 41 * 0.04)), "three frames are heard again"


def test_silence_is_no_utterance_and_a_long_one_is_cut():
    decoder = StreamingDecoder(Switch(), config.load(None, [*HANDS_FREE, "endpoint.longest=1"]), [])
    assert feed(decoder, spoken(length=200), [16]) == []
    decoder = StreamingDecoder(Switch(), config.load(None, [*HANDS_FREE, "endpoint.longest=1"]), [])
    ended = feed(decoder, spoken(*range(0, 60, 3), length=60), [16])
    assert [item.reason for item in ended[:2]] == [Endpoint.LONGEST] * 2
    seconds = [second for item in ended for second in item.seconds]
    assert seconds == pytest.approx([(frame + 1) * 0.04 for frame in range(0, 60, 3)])


def test_an_utterance_is_what_its_features_alone_give():
    """Encoder and search begin anew with it."""
    rules = ["endpoint.silence=0.2", "endpoint.longest=0.6", "endpoint.overlap=0.08"]
    settings, model = network("decode.max_symbols=1", "train.jit=false", "model.blocks=1", *rules)
    recogniser, features = Recogniser(model), random_features(1, 200)[0]
    ended = feed(StreamingDecoder(recogniser, settings, []), features, [50])
    assert len(ended) > 2
    for segment in ended:
        begin, end = (round(100 * second) for second in segment.heard)
        chunks = -(-(end - begin) // 16) * 16  # the last chunk was heard to its end
        alone = features[np.newaxis, begin : begin + chunks]
        (found,) = search.decode(recogniser, alone, np.array([alone.shape[1]]), settings)
        count = sum(frame < (end - begin) // 4 for frame in found.frames)
        assert (found.ids[:count], found.frames[:count]) == segment.found[:2]


def test_what_is_settled_stays_and_comes_as_soon_as_a_chunk_is_full():
    decoder = StreamingDecoder(Switch(), config.load(None, [*HANDS_FREE]), [])
    features = spoken(0, 3, 6, 7, length=16)
    shown = []
    for start in range(0, 64, 8):
        assert decoder.accept(features[start : start + 8]) == []
        partial = decoder.partial
        assert decoder.settled == len(partial.ids) >= len(shown)
        assert [frame for frame in (0, 3, 6, 7) if frame < (start + 8) // 16 * 4] == list(
            partial.frames
        )
        shown = partial.ids


def test_all_is_compiled_before_the_first_speech():
    settings, model = network("model.chunk_size=4", "model.blocks=1", "decode.max_symbols=2")
    recogniser, seen = Recogniser(model), set()

    def watch(name):
        call = getattr(recogniser, name)

        def watched(first, *others):
            seen.add((name, first.shape))  # a compile for each
            return call(first, *others)

        setattr(recogniser, name, watched)

    for name in ("_encode_chunk", "_predict", "_join"):
        watch(name)
    decoder = StreamingDecoder(recogniser, settings, [])
    before = set(seen)
    assert {name for name, _ in before} == {"_encode_chunk", "_predict", "_join"}
    decoder.accept(random_features(1, 100)[0])
    decoder.finish()
    assert seen == before


def test_a_chunk_costs_the_same_however_long_the_stream_has_run():
    """Shapes are what time and memory follow from: none depends on how much has been heard."""
    settings, model = network("train.jit=false", "model.blocks=1", "model.chunk_size=4")
    left, encoder = settings.model.left_chunks, model.encoder
    assert left > 0, "bounded unless the user asks for more"
    recogniser = Recogniser(model)
    stream, seen = recogniser.open_stream(), []
    step = recogniser._encode_chunk

    def watched(features, frames, past, cache):
        seen.append([item.shape for item in (features, *cache)])
        return step(features, frames, past, cache)

    recogniser._encode_chunk = watched
    for chunk in range(5 * left):
        recogniser.encode_chunk(random_features(1, 16, chunk)[0], stream)
    assert all(shapes == seen[0] for shapes in seen)
    assert stream.past == 4 * left
    assert encoder._distance(4, 4 * left + 4).shape == (4, 4, 4 * left + 4), "a row for each frame"


def test_full_context_cannot_stream():
    settings, model = network("model.chunk_size=-1")
    with pytest.raises(ValueError, match=r"streaming needs .* model.chunk_size is -1"):
        StreamingDecoder(Recogniser(model), settings, [])
