# SPDX-License-Identifier: Apache-2.0
"""The network as a whole: names of its weights, precision to deploy in, compiled or not."""

import mindspore as ms
import numpy as np
import pytest
from recipe_networks import VOCABULARY, network, random_features, report
from tolerances import TOLERANCE

from mindspore_rnnt.recipe.decoding.recogniser import Recogniser
from mindspore_rnnt.recipe.model import transducer


def stream(recogniser, features):
    """All frames of (n, mels), chunk by chunk."""
    state, size = recogniser.open_stream(), 4 * recogniser.chunk_size
    chunks = (features[start : start + size] for start in range(0, len(features), size))
    return np.concatenate([recogniser.encode_chunk(chunk, state)[0] for chunk in chunks])


def test_weights_have_the_same_names_and_order_with_a_memory_budget():
    plain, chunked = network()[1], network("train.memory_budget=1MB")[1]
    names = [item.name for item in plain.get_parameters()]
    assert names == [item.name for item in chunked.get_parameters()]
    assert names == [item.name for item in chunked.trainable_params()]
    assert "joiner.output.weight" in names and len(set(names)) == len(names)
    for ours, theirs in zip(plain.get_parameters(), chunked.get_parameters()):
        assert np.array_equal(ours.asnumpy(), theirs.asnumpy()), ours.name


@pytest.mark.parametrize("kind", ["stack", "conv2d"])
def test_what_was_trained_in_float16_streams_as_it_hears_the_whole(kind):
    kinds = ("model.blocks=1", f"model.subsampling={kind}")
    settings, trained = network("train.dtype=float16", *kinds)
    deployed = transducer.build_deployed(settings, VOCABULARY)
    assert settings.train.dtype == "float16", "the caller's configuration stays"
    values = {item.name: item for item in trained.get_parameters()}
    assert ms.load_param_into_net(deployed, values) == ([], [])
    features, lengths = random_features(1, 128), np.array([128])
    recogniser = Recogniser(deployed)
    whole = recogniser.encode(features, lengths)[0]
    streamed = stream(recogniser, features[0])
    assert report("streamed", streamed, whole) < TOLERANCE["recipe_encoder"]
    _, single = network(*kinds)
    assert np.array_equal(whole, Recogniser(single).encode(features, lengths)[0])


def test_without_jit_nothing_is_compiled(monkeypatch):
    features, lengths = random_features(1, 64), np.array([64])
    compiled = Recogniser(network()[1])
    expected = compiled.encode(features, lengths)[0]
    monkeypatch.setattr(ms, "jit", None)
    eager = Recogniser(network("train.jit=false")[1])
    assert report("whole", eager.encode(features, lengths)[0], expected) < 1e-5
    assert report("streamed", stream(eager, features[0]), expected) < 1e-5
    tokens, state = np.array([1]), eager.start(1)
    (ours, _), (theirs, _) = (item.predict(tokens, state) for item in (eager, compiled))
    assert np.array_equal(ours, theirs)
    ours, theirs = (item.join(expected[:1], ours) for item in (eager, compiled))
    assert report("logits", ours, theirs) < 1e-5
