# SPDX-License-Identifier: Apache-2.0
"""What tdt_loss, TDTLoss and split_tdt_logits refuse, in their own name."""

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, ops
from oracles import random_batch

from mindspore_rnnt import TDTLoss, split_tdt_logits, tdt_loss
from mindspore_rnnt.tdt.checks import check_tdt_options

NAMES = ("logits", "targets", "logit_lengths", "target_lengths")
HEAD = np.zeros((2, 5, 4, 3), np.float32)


def refused(error, message, duration_logits=HEAD, durations=(0, 1, 2), **changes):
    inputs = dict(zip(NAMES, random_batch([(5, 3), (4, 2)], V=7).layout(padded=True)))
    inputs |= {name: x for name, x in changes.items() if name in NAMES}
    options = {name: x for name, x in changes.items() if name not in NAMES}
    logits, *ints = (Tensor(x) for x in inputs.values())
    head = Tensor(duration_logits) if isinstance(duration_logits, np.ndarray) else duration_logits
    with pytest.raises(error, match=f"^For 'tdt_loss', the {message}"):
        tdt_loss(logits, head, *ints, durations, **options)
    if not set(changes) - set(NAMES) and durations == (0, 1, 2):
        with pytest.raises(error, match=f"^For 'TDTLoss', the {message}"):
            TDTLoss(durations)(logits, head, *ints)


def _int(*values):
    return np.array(values, np.int32)


@pytest.mark.parametrize(
    ("durations", "error", "message"),
    [
        ((0, 1), ValueError, "'durations' must be as many .* got 2 durations"),
        ((0, 1, 1), ValueError, "'durations' must be distinct"),
        ((0, 1, -1), ValueError, r"'durations' must be in \[0, 2147483647\]"),
        ((0, 1, 2**31), ValueError, r"'durations' must be in \[0, 2147483647\]"),
        ((0,), ValueError, "'durations' must be at least one above 0"),
        ((), ValueError, "'durations' must be at least one above 0"),
        ((0, 1.0, 2), TypeError, r"'durations' must be a tuple or list of ints, but got 1\.0 in"),
        ((0, True, 2), TypeError, "'durations' must be a tuple or list of ints"),
        (3, TypeError, "'durations' must be a tuple or list of ints, but got int"),
    ],
    ids=str,
)
def test_durations(durations, error, message):
    refused(error, message, durations=durations)


def test_duration_logits():
    name = "'duration_logits' must be "
    refused(TypeError, f"{name}a Tensor, but got list", duration_logits=[0.0])
    refused(TypeError, f"{name}a Tensor of one of .*Int32", duration_logits=HEAD.astype(np.int32))
    of_shape = rf"{name}of shape \(2, 5, 4, 3\)"
    refused(ValueError, of_shape, duration_logits=HEAD[:, :4])
    refused(ValueError, of_shape, duration_logits=HEAD.reshape(-1, 3))


def test_what_rnnt_loss_refuses():
    refused(TypeError, "'logits' must be .*Int32", logits=np.zeros((5, 7), np.int32))
    refused(ValueError, "'targets' must be of rank 2", targets=_int(1, 2))
    refused(ValueError, r"'blank' must be in \[-7, 7\).* got 7", blank=7)
    refused(ValueError, "'reduction' must be one of", reduction="all")
    refused(TypeError, "'validate' must be a bool, but got int", validate=1)
    refused(ValueError, "'logit_lengths' .* got 6 in sample 1", logit_lengths=_int(5, 6))
    refused(ValueError, "'target_lengths' .* got 4 in sample 0", target_lengths=_int(4, 1))
    refused(ValueError, "'targets' .* got 7 at", targets=_int([1, 2, 7], [1, 2, 3]))


@pytest.mark.parametrize("sigma", [-0.1, np.nan, np.inf])
def test_sigma(sigma):
    refused(ValueError, "'sigma' must be at least 0 and finite", sigma=sigma)
    refused(ValueError, r"'sigma' must be at most .* but got 1e\+39", sigma=1e39)
    refused(TypeError, "'sigma' must be a float, but got str", sigma="0")


def test_when_the_cell_is_made():
    for error, message, options in (
        (ValueError, "'durations' must be distinct", {"durations": (1, 1)}),
        (ValueError, "'sigma' must be", {"sigma": -1.0}),
        (ValueError, "'reduction' must be", {"reduction": "all"}),
        (TypeError, "'blank' must be an int", {"blank": 0.5}),
        (TypeError, "'validate' must be a bool", {"validate": 1}),
    ):
        with pytest.raises(error, match=f"^For 'TDTLoss', the {message}"):
            TDTLoss(**options)


def test_repr():
    assert repr(TDTLoss((0, 2, 1), blank=0, sigma=0.05)).startswith(
        "TDTLoss(durations=(0, 2, 1), blank=0, clamp=-1.0, sigma=0.05, fastemit_lambda=0.0, "
    )


def test_in_a_graph():
    inputs = [Tensor(x) for x in random_batch([(5, 3)], V=7).layout(padded=False)]
    head = ops.zeros((20, 3))

    def call(logits, head, targets, logit_lengths, target_lengths):
        return tdt_loss(logits, head, targets, logit_lengths, target_lengths, (0, 1))

    with pytest.raises(ValueError, match="For 'tdt_loss', the 'durations' must be as many"):
        ms.jit(call)(inputs[0], head, *inputs[1:])


def test_split():
    for error, message, size, D in (
        (TypeError, "'num_durations' must be an int", 5, 1.0),
        (ValueError, "'num_durations' must be at least 1", 5, 0),
        (ValueError, "'logits' must be of more than 5 entries", 5, 5),
    ):
        with pytest.raises(error, match=f"^For 'split_tdt_logits', the {message}"):
            split_tdt_logits(ops.zeros((2, size)), D)


def test_limits_of_ascend(monkeypatch):
    monkeypatch.setattr("mindspore.get_context", lambda key: "Ascend")
    for durations, message in (
        (range(33), "at most 32 on Ascend, but got 33:"),
        ((0, 257), "at most 256 each on Ascend, but got"),
    ):
        with pytest.raises(ValueError, match=f"^For 'tdt_loss', the 'durations' must be {message}"):
            check_tdt_options("tdt_loss", tuple(durations), "mean", 0.0)
    assert check_tdt_options("tdt_loss", [*range(31), 256], "mean", 0.0)[-1] == 256
