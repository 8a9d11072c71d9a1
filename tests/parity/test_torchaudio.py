# SPDX-License-Identifier: Apache-2.0
"""torchaudio 2.8.0 live: its call replaced word for word gives the same loss and gradient, wherever
torchaudio is right. (Where it is not: tests/test_semantics.py, with values of its own.)"""

import inspect
import warnings

import mindspore as ms
import numpy as np
import pytest
import torch
import torchaudio
from calls import numbers, tensors
from oracles import TOLERANCE, random_batch, report
from pairwise import name, pairwise

from mindspore_rnnt import RNNTLoss, rnnt_loss

NAMES = ("logits", "targets", "logit_lengths", "target_lengths")


def _torchaudio(layout, dtype="float32", **options):
    logits, *ints = (torch.from_numpy(x) for x in layout)
    logits = logits.to(getattr(torch, dtype)).requires_grad_(True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loss = torchaudio.functional.rnnt_loss(logits, *ints, **options)
    loss.sum().backward()
    return loss.detach().float().numpy(), logits.grad.float().numpy()


def _ours(layout, dtype="float32", **options):
    def loss(logits, targets, logit_lengths, target_lengths):
        losses = rnnt_loss(logits, targets, logit_lengths, target_lengths, **options)
        return losses.sum(), losses

    inputs = tensors(layout, dtype)
    (_, losses), gradient = ms.value_and_grad(loss, has_aux=True)(*inputs)
    return numbers(losses), numbers(gradient)


GRID = pairwise(
    allowed=lambda c: c["B"] * c["T"] * (c["U"] + 1) * c["V"] <= 2_000_000,
    B=(1, 2, 5),
    T=(1, 2, 37, 120),
    U=(0, 1, 5, 40),
    V=(2, 3, 16, 31, 129, 1023),
    dtype=("float32", "float16"),
    blank=(-1, 0),
    clamp=(-1, 0.03),
    reduction=("none", "mean", "sum"),
    fused_log_softmax=(True, False),
)


@pytest.mark.parametrize("case", GRID, ids=name)
def test_grid(case):
    B, T, U, V, dtype = (case.pop(key) for key in ("B", "T", "U", "V", "dtype"))
    lengths = [(max(1, T - T * b // 8), max(0, U - U * b // 8)) for b in range(B)]
    batch = random_batch(lengths, V, dtype=dtype, blank=case["blank"])
    if not case["fused_log_softmax"]:
        batch.samples = [-np.abs(s) for s in batch.samples]
    layout = batch.layout(padded=True)
    layout[1][layout[1] > V] = layout[1][layout[1] < 0] = 0  # it reads labels behind the length
    expected, expected_gradient = _torchaudio(layout, dtype, **case)
    loss, gradient = _ours(layout, dtype, **case)
    limit = TOLERANCE["torchaudio_loss_relative"][dtype] * max(1, np.abs(expected).max())
    assert report("loss", loss, expected) <= limit
    assert (
        report("gradient", gradient, expected_gradient) <= TOLERANCE["torchaudio_gradient"][dtype]
    )


def test_the_call_is_the_same():
    """Names, order and defaults of the positional part, of the function and of the class."""
    theirs = inspect.signature(torchaudio.functional.rnnt_loss)
    ours = list(inspect.signature(rnnt_loss).parameters.values())
    for mine, other in zip(ours, theirs.parameters.values()):
        assert (mine.name, mine.default) == (other.name, other.default)
    theirs = inspect.signature(torchaudio.transforms.RNNTLoss)
    for mine, other in zip(
        inspect.signature(RNNTLoss).parameters.values(), theirs.parameters.values()
    ):
        assert (mine.name, mine.default) == (other.name, other.default)


def test_word_for_word():
    layout = random_batch([(5, 3), (4, 2)], V=7).layout(padded=True)
    layout[1][1, 2] = 0
    calls = [
        lambda f, x: f(*x),
        lambda f, x: f(*x, 2, 0.5, "sum", False),
        lambda f, x: f(*x, blank=0, clamp=-1, reduction="none", fused_log_softmax=True),
        lambda f, x: f(**dict(zip(NAMES, x)), blank=-2),
    ]
    for call in calls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = call(torchaudio.functional.rnnt_loss, [torch.from_numpy(x) for x in layout])
        loss = call(rnnt_loss, tensors(layout))
        assert report("loss", numbers(loss), expected.numpy()) <= 1e-4


def test_ours_is_nearer_to_the_truth_on_long_utterances():
    """A float32 lattice against a closed form: why parity is not asked for there."""
    from oracles import closed_form

    T, U, V = 1000, 300, 16
    layout = random_batch([(T, U)], V, scale=0).layout(padded=True)
    expected = closed_form(T, U, V)
    theirs = report("torchaudio", _torchaudio(layout)[0], expected)
    ours = report("ours", _ours(layout)[0], expected)
    assert ours <= np.spacing(np.float32(expected)) < theirs
