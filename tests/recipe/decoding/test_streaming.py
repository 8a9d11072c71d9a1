# SPDX-License-Identifier: Apache-2.0
"""A stream finds what the whole utterance does, however it is cut."""

import numpy as np
import pytest
from recipe_networks import network, random_features, report
from tolerances import TOLERANCE

from mindspore_rnnt.recipe.decoding import search
from mindspore_rnnt.recipe.decoding.recogniser import ROOM_CHUNKS, Recogniser
from mindspore_rnnt.recipe.decoding.streaming import StreamingDecoder

CASES = [
    (4, -1, "model.predictor=stateless", "model.subsampling=stack"),
    (4, 0, "model.predictor=lstm", "model.subsampling=stack"),
    (4, 2, "model.predictor=lstm", "model.subsampling=conv2d"),
    (3, 1, "model.predictor=stateless", "model.subsampling=conv2d"),
    (1, 5, "model.predictor=stateless", "model.subsampling=stack"),
]


@pytest.mark.parametrize("case", CASES)
def test_a_stream_is_the_whole_utterance(case):
    chunk, left, *kinds = case
    settings, model = network(
        f"model.chunk_size={chunk}", f"model.left_chunks={left}", "decode.max_symbols=2", *kinds
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

    ids, frames = search.greedy(recogniser, features, np.array([count]), 2)[0]
    assert len(set(ids)) > 1
    decoder, streamed_ids, start = StreamingDecoder(recogniser, settings), [], 0
    for size in [1, 2, 60, 7, 3] * count:
        streamed_ids += decoder.accept(features[0, start : min(start + size, count)])
        start += size
        if start >= count:
            break
    streamed_ids += decoder.finish()
    assert streamed_ids == ids
    assert decoder.seconds == pytest.approx([(frame + 1) * 0.04 for frame in frames])


def test_characters_come_as_soon_as_their_chunk_is_full():
    settings, model = network("model.chunk_size=4", "decode.max_symbols=1")
    decoder = StreamingDecoder(Recogniser(model), settings)
    features = random_features(1, 64)[0]
    found = []
    for start in range(0, 64, 8):
        found += decoder.accept(features[start : start + 8])
        heard = (start + 8) // 16 * 16
        assert all(second <= heard / 100 for second in decoder.seconds)
    assert decoder.finish() == [] and found == decoder.ids


def test_all_is_compiled_before_the_first_speech():
    settings, model = network("model.chunk_size=4", "decode.max_symbols=2")
    recogniser, seen = Recogniser(model), set()

    def watch(name):
        call = getattr(recogniser, name)

        def watched(first, *others):
            seen.add((name, first.shape))  # a compile for each
            return call(first, *others)

        setattr(recogniser, name, watched)

    for name in ("_encode_chunk", "_predict", "_join"):
        watch(name)
    decoder = StreamingDecoder(recogniser, settings)
    before = set(seen)
    assert {name for name, _ in before} == {"_encode_chunk", "_predict", "_join"}
    decoder.accept(random_features(1, 100)[0])
    decoder.finish()
    assert seen == before


def test_a_chunk_costs_the_same_however_long_the_stream_has_run():
    """Shapes are what time and memory follow from: none depends on how much has been heard."""
    settings, model = network("train.jit=false", "model.chunk_size=4")
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
        StreamingDecoder(Recogniser(model), settings)
