# SPDX-License-Identifier: Apache-2.0
"""What only MindSpore can do to the tensors of the loss. What the loss means is stated in
mindspore_rnnt/conformance."""

import mindspore as ms
import numpy as np
import pytest
from calls import FORMS, loss_and_gradient, numbers, tensors
from mindspore import Tensor
from oracles import LAYOUTS, TOLERANCE, random_batch, report, rnnt_loss_reference

from mindspore_rnnt import RNNTLoss, rnnt_loss

LENGTHS = [(5, 3), (4, 2), (6, 0), (1, 4)]

both_forms = pytest.mark.parametrize("form", FORMS)


@both_forms
@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_loss_is_float32_in_a_half_precision_cell(mode, form):
    """PyNative casts the inputs of every operator in such a Cell."""
    logits = np.tile(np.float32([0, -3000]), (50, 1))
    layout = (logits, np.zeros((1, 0), np.int32), np.array([50]), np.array([0]))
    ms.set_context(mode=mode)
    try:
        loss_fn = RNNTLoss(fused_grad=FORMS[form]).to_float(ms.float16).set_train()
        loss, gradient = ms.value_and_grad(loss_fn)(*tensors(layout))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert loss.dtype == ms.float32 and gradient.dtype == ms.float32
    assert report("loss", numbers(loss), 150000) == 0


@LAYOUTS
@both_forms
def test_int64_gives_the_same_bits(form, padded):
    layout = random_batch(LENGTHS, V=7).layout(padded)
    narrow = loss_and_gradient(tensors(layout), form=form)
    wide = loss_and_gradient(tensors(layout, ints=np.int64), form=form)
    assert all(np.array_equal(a, b) for a, b in zip(narrow, wide))


def test_non_contiguous_logits():
    layout = random_batch([(4, 2), (4, 2)], V=5).layout(padded=True)
    _, expected = rnnt_loss_reference(*layout, reduction="mean")
    logits, *rest = tensors(layout)
    reversed_axes = Tensor(np.ascontiguousarray(logits.asnumpy().transpose(3, 2, 1, 0)))

    def loss(x):
        return rnnt_loss(x.transpose(3, 2, 1, 0), *rest)

    gradient = numbers(ms.grad(loss)(reversed_axes)).transpose(3, 2, 1, 0)
    assert report("gradient", gradient, expected) <= TOLERANCE["gradient"]["float32"]


def test_more_than_2_31_elements():
    """The padding is virtual memory that nothing touches; only the last sample's cells count."""
    shape = (3, 200, 4, 1_000_000)
    logits = np.zeros(shape, np.float16)
    logits[2, 198:, 1, 999_990:] = 1  # beyond 2^31 elements, read by nobody
    logits[2, :2, :2] = np.linspace(-1, 1, 1_000_000)
    lengths = Tensor([1, 1, 2], ms.int32), Tensor([0, 0, 1], ms.int32)
    targets = Tensor([[0], [0], [999_998]], ms.int32)
    losses = rnnt_loss(
        Tensor.from_numpy(logits), targets, *lengths, reduction="none", fused_grad=False
    )
    expected, _ = rnnt_loss_reference(
        logits[2:, :2, :2], targets.asnumpy()[2:], [2], [1], reduction="none"
    )
    assert np.prod(shape) > 2**31
    assert report("loss", losses.asnumpy()[2:], expected) <= 1e-5
