# SPDX-License-Identifier: Apache-2.0
"""The picture of an utterance's lattice is that of the network's own logits."""

import numpy as np
import pytest
from mindspore import Tensor
from recipe_networks import network, random_features

from mindspore_rnnt import plot
from mindspore_rnnt.recipe.data.text import Vocabulary
from mindspore_rnnt.recipe.decoding import lattices
from mindspore_rnnt.recipe.decoding.recogniser import Recogniser


def test_the_lattice_of_what_was_said_is_drawn(tmp_path, monkeypatch):
    _, model = network("train.jit=false", "model.blocks=1", "model.predictor=lstm")
    features, drawn = random_features(1, 40)[0], []
    vocabulary, path = Vocabulary("abcdef"), tmp_path / "lattice.png"
    draw = plot.lattice
    monkeypatch.setattr(plot, "lattice", lambda *a, **k: drawn.append((a, k)) or draw(*a, **k))
    lattices.draw(Recogniser(model), features, "caXf", vocabulary, 0.01, {}, path)
    assert path.stat().st_size > 5000
    (((posteriors, alignment), options),) = drawn
    assert options == {"tokens": ["c", "a", "f"], "frame_ms": pytest.approx(40)}
    blank, label = posteriors[1].asnumpy()[0], posteriors[2].asnumpy()[0]
    assert blank.shape == label.shape == (10, 4)
    assert blank.sum() == pytest.approx(10, abs=1e-3) and label.sum() == pytest.approx(3, abs=1e-3)
    loss = training_loss(model, features, np.int32([[3, 1, 6]]))
    assert posteriors[0].asnumpy()[0] == pytest.approx(loss, rel=1e-5)
    assert (np.diff(alignment[0].asnumpy()[0]) >= 0).all()


def training_loss(model, features, targets):
    """By the model as it is trained, all steps of the predictor at once."""
    from mindspore_rnnt import packed_indices

    lengths = [10], [targets.shape[1]]
    rows = packed_indices(*lengths, 10, targets.shape[1])
    batch = features[np.newaxis], np.int32([40]), np.int32([10]), targets, np.int32(lengths[1])
    return float(model(*(Tensor(item) for item in (*batch, *rows))))
