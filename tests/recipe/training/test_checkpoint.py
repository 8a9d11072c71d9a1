# SPDX-License-Identifier: Apache-2.0
"""A run goes on from the newest sound checkpoint, whatever has become of the newest."""

import mindspore as ms
import numpy as np
import pytest
from mindspore import Parameter, Tensor

from mindspore_rnnt.recipe.training.checkpoint import Checkpoints, Position


@pytest.fixture
def three(tmp_path):
    """Checkpoints of updates 1, 2, 3, where a weight is 1, 2, 3; and the weight."""
    weight = Parameter(Tensor(np.zeros(100, np.float32)), name="weight")
    kept = Checkpoints(tmp_path, [weight], keep=3)
    for update in (1, 2, 3):
        weight.set_data(Tensor(np.full(100, update, np.float32)))
        kept.save(Position(update=update))
    weight.set_data(Tensor(np.zeros(100, np.float32)))
    return kept, weight


def cut(path):
    path.write_bytes(path.read_bytes()[:-50])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def empty(path):
    path.write_bytes(b"")


def test_the_newest_is_restored(three):
    kept, weight = three
    assert kept.restore().update == 3 and (weight.asnumpy() == 3).all()


@pytest.mark.parametrize("damage", [cut, flip, empty])
def test_a_damaged_one_is_named_and_passed_over(three, damage, tmp_path):
    kept, weight = three
    damage(kept.saved()[-1])
    with pytest.warns(UserWarning, match=r"step-0000003.ckpt is damaged and passed over"):
        position = kept.restore()
    assert position.update == 2 and (weight.asnumpy() == 2).all()
    with pytest.warns(UserWarning, match="damaged"):
        kept.average(2, ["weight"], tmp_path / "mean.ckpt")
    mean = ms.load_checkpoint(str(tmp_path / "mean.ckpt"))["weight"].asnumpy()
    assert (mean == 1.5).all(), "of 1 and 2"


@pytest.mark.parametrize("place", ["binascii.crc32", "Parameter"])
def test_ctrl_c_is_no_damage(three, place, monkeypatch, tmp_path):
    """MindSpore makes a ValueError of what comes while it reads."""
    kept, _ = three

    def stop(*_, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"mindspore.train.serialization.{place}", stop)
    with pytest.raises(KeyboardInterrupt):
        kept.restore()
    with pytest.raises(KeyboardInterrupt):
        kept.average(2, ["weight"], tmp_path / "mean.ckpt")


def test_only_damaged_ones_are_an_error(three):
    kept, _ = three
    for path in kept.saved():
        empty(path)
    with (
        pytest.warns(UserWarning),
        pytest.raises(ValueError, match="all 3 checkpoints"),
    ):
        kept.restore()
