# SPDX-License-Identifier: Apache-2.0
"""The encoder: what a frame may see, lengths, padding, both kinds of subsampling."""

import numpy as np
import pytest
from mindspore import Tensor
from recipe_networks import network, random_features, report
from tolerances import TOLERANCE

KINDS = ["stack", "conv2d"]


def encode(model, features, lengths):
    return model.encoder(Tensor(features), Tensor(np.array(lengths, np.int32))).asnumpy()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("chunk", "left"), [(4, -1), (4, 1), (3, 0), (-1, -1)])
def test_a_frame_sees_its_chunk_and_what_is_allowed_before_it(kind, chunk, left):
    _, model = network(
        f"model.subsampling={kind}", f"model.chunk_size={chunk}", f"model.left_chunks={left}"
    )
    features = random_features(1, 64)
    before = encode(model, features, [64])[0]
    for frame in (0, 5, 11, 15):
        changed = features.copy()
        changed[0, 4 * frame : 4 * frame + 4] += 1.0
        differs = np.any(encode(model, changed, [64])[0] != before, axis=1)
        first = 0 if chunk < 0 else frame // chunk * chunk
        assert not differs[:first].any(), "a frame has seen a later chunk"
        assert differs[first : frame + 1].all(), "a frame has not seen its own chunk"


@pytest.mark.parametrize("left", [0, 1, 2])
def test_attention_forgets_what_is_beyond_the_left_context(left):
    """One block whose convolution sees one frame: then only attention looks far back."""
    _, model = network(
        "model.blocks=1", "model.conv_kernel=1", f"model.left_chunks={left}", "model.chunk_size=4"
    )
    features = random_features(1, 80)
    changed = features.copy()
    changed[0, :12] += 1.0  # frames 0 .. 3 by themselves and by the features that are stacked
    before, after = (encode(model, item, [80])[0] for item in (features, changed))
    differs = np.any(before != after, axis=1)
    seen = 4 * (1 + left)
    assert differs[:seen].all() and not differs[seen:].any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chunk", [4, -1])
def test_padding_and_neighbours_do_not_matter(kind, chunk):
    _, model = network(f"model.subsampling={kind}", f"model.chunk_size={chunk}")
    features = random_features(2, 64)
    both = encode(model, features, [64, 40])
    poisoned = features.copy()
    poisoned[1, 40:] = 1e4
    assert np.array_equal(encode(model, poisoned, [64, 40])[1, :10], both[1, :10])
    alone = encode(model, features[1:, :40], [40])[0]
    assert report("alone", alone, both[1, :10]) < TOLERANCE["recipe_encoder"]


def test_any_length_of_stack_has_a_quarter_of_the_frames():
    _, model = network()
    for frames in (4, 8, 20, 64):
        assert encode(model, random_features(1, frames), [frames]).shape == (1, frames // 4, 32)


def test_dropout_factors_scale_the_branches():
    _, model = network()
    features, lengths = Tensor(random_features(2, 32)), Tensor(np.array([32, 32], np.int32))
    ones, zeros = (Tensor(np.full((8, 2, 1, 32), v, np.float32)) for v in (1, 0))
    plain = model.encoder(features, lengths).asnumpy()
    assert np.array_equal(model.encoder(features, lengths, ones).asnumpy(), plain)
    # Without any branch a block is its last LayerNorm.
    x, _ = model.encoder.subsampling(features, model.encoder.subsampling.silence(features))
    for block in model.encoder.blocks:
        x = block.norm(x)
    dropped = model.encoder(features, lengths, zeros).asnumpy()
    assert report("dropped", dropped, x.asnumpy()) == 0.0


def test_wrong_settings_say_what_is_wrong():
    with pytest.raises(ValueError, match=r"encoder_dim 30 must be a multiple of model.heads 4"):
        network("model.encoder_dim=30")
