# SPDX-License-Identifier: Apache-2.0
"""A batch without any label has targets of shape (B, 0); no operator is given an empty tensor."""

import mindspore as ms
import numpy as np
import pytest
from oracles import TOLERANCE, random_batch, report, rnnt_loss_reference

from mindspore_rnnt import rnnt_loss
from mindspore_rnnt.launch import with_a_column


@pytest.mark.parametrize("compiled", [False, True], ids=["pynative", "jit"])
@pytest.mark.parametrize("fused_grad", [True, False])
def test_loss_and_gradient(compiled, fused_grad):
    batch = random_batch([(3, 0), (5, 0)], 7)
    logits, targets, T, U = batch.layout(True)
    assert targets.shape == (2, 0)
    others = [ms.Tensor(array) for array in (targets, T, U)]

    def losses(logits):
        return rnnt_loss(logits, *others, reduction="sum", fused_grad=fused_grad)

    step = ms.value_and_grad(losses)
    loss, grad = (ms.jit(step) if compiled else step)(ms.Tensor(np.nan_to_num(logits)))
    expected_loss, expected = rnnt_loss_reference(logits, targets, T, U, reduction="none")
    assert report("loss", loss.asnumpy(), expected_loss.sum()) <= 1e-5
    assert report("gradient", grad.asnumpy(), expected) <= TOLERANCE["gradient"]["float32"]


@pytest.mark.parametrize("columns", [0, 1, 3])
def test_only_empty_targets_are_replaced(columns):
    targets = ms.Tensor(np.ones((2, columns), np.int32))
    replaced = with_a_column(targets)
    assert replaced.shape == (2, max(columns, 1))
    assert columns == 0 or replaced is targets
