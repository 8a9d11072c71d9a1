# SPDX-License-Identifier: Apache-2.0
"""A batch without any label has targets of shape (B, 0); no operator is given an empty tensor."""

import re
import sys
from dataclasses import fields

import mindspore as ms
import numpy as np
import pytest
from oracles import random_batch

from mindspore_rnnt import (
    functional,
    rnnt_align,
    rnnt_distillation_loss,
    rnnt_loss,
    rnnt_posteriors,
    tdt_loss,
)
from mindspore_rnnt.kernels import Ops, get_ops
from mindspore_rnnt.kernels.signatures import signatures_of
from mindspore_rnnt.launch import with_a_column


@pytest.mark.parametrize("columns", [0, 1, 3])
def test_only_empty_targets_are_replaced(columns):
    targets = ms.Tensor(np.ones((2, columns), np.int32))
    replaced = with_a_column(targets)
    assert replaced.shape == (2, max(columns, 1))
    assert columns == 0 or replaced is targets


@pytest.mark.parametrize("fused_grad", [True, False])
def test_a_length_that_targets_do_not_have_is_no_label(fused_grad):
    """In a graph nothing looks at the values beforehand."""
    logits, targets = (
        ms.Tensor(np.zeros((2, 3, 2, 5), np.float32)),
        ms.Tensor(np.zeros((2, 0)), ms.int32),
    )
    lengths = [ms.Tensor(values, ms.int32) for values in ([3, 3], [1, 0])]

    def losses(logits):
        return rnnt_loss(logits, targets, *lengths, reduction="none", fused_grad=fused_grad)

    loss = ms.jit(losses)(logits).asnumpy()
    assert np.isnan(loss[0])
    assert loss[1] == pytest.approx(3 * np.log(5))


CALLS = {
    "fused": lambda logits, *batch: rnnt_loss(logits, *batch),
    "two": lambda logits, *batch: rnnt_loss(logits, *batch, fused_grad=False),
    "tdt": lambda logits, *batch: tdt_loss(logits, logits[..., :3], *batch, durations=(0, 1, 2)),
    "distillation": lambda logits, *batch: rnnt_distillation_loss(logits, logits, *batch),
    "align": lambda logits, *batch: rnnt_align(logits, *batch)[2].sum(),
    "posteriors": lambda logits, *batch: rnnt_posteriors(logits, *batch)[0].sum(),
}


@pytest.fixture
def shapes_of_operators(monkeypatch):
    """Shapes of the inputs of each launch, for operators that Ascend has."""
    made, launched = get_ops(), []

    def recorded(name):
        op = getattr(made, name)
        if "Rnnt" + re.sub("(?:^|_)(.)", lambda m: m[1].upper(), name) not in signatures_of(
            "Ascend"
        ):
            return op

        def launch(*inputs):
            launched.append([x.shape for x in inputs])
            return op(*inputs)

        return launch

    ops = Ops(**{field.name: recorded(field.name) for field in fields(made)})
    for name, module in list(sys.modules.items()):
        if name.startswith("mindspore_rnnt") and getattr(module, "get_ops", None) is get_ops:
            monkeypatch.setattr(module, "get_ops", lambda: ops)
    return launched


def launch_without_labels(call, launched):
    logits, targets, T, U = random_batch([(3, 0), (5, 0)], 7).layout(False)
    others = [ms.Tensor(array) for array in (targets, T, U)]
    assert targets.shape == (2, 0)
    if call in ("align", "posteriors"):
        CALLS[call](ms.Tensor(logits), *others)
    else:
        ms.value_and_grad(CALLS[call])(ms.Tensor(logits), *others)
    assert launched
    return any(0 in shape for shapes in launched for shape in shapes)


@pytest.mark.parametrize("call", CALLS)
def test_no_operator_is_given_an_empty_tensor(call, shapes_of_operators):
    assert not launch_without_labels(call, shapes_of_operators)


@pytest.mark.parametrize("call", ["fused", "two"])
def test_an_empty_tensor_would_be_seen(call, shapes_of_operators, monkeypatch):
    monkeypatch.setattr(functional, "with_a_column", lambda targets: targets)
    assert launch_without_labels(call, shapes_of_operators)
