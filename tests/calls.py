# SPDX-License-Identifier: Apache-2.0
"""RNNTLoss and its gradient, in every mode of MindSpore."""

from functools import lru_cache

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor
from modes import run_gradient

from mindspore_rnnt import RNNTLoss

FORMS = {"fused": True, "two-op": False}


def tensors(layout, dtype="float32", ints=np.int32):
    """(logits, targets, logit_lengths, target_lengths) as Tensors."""
    logits, *rest = layout
    return Tensor(logits).astype(getattr(ms, dtype)), *(Tensor(x.astype(ints)) for x in rest)


def numbers(x):
    """A Tensor of any float dtype as float32 NumPy."""
    return x.astype(ms.float32).asnumpy()


def refused(function, error, message, *, inputs, **changes):
    """`function` of `inputs`, which have names, but for `changes` of these or of its options raises
    `error` in its own name."""
    tensors = (changes.pop(name, x) for name, x in inputs.items())
    tensors = [x if x is None else Tensor(x) for x in tensors]
    with pytest.raises(error, match=f"^For '{function.__name__}', the {message}"):
        function(*tensors, **changes)


def loss_and_gradient(inputs, mode="pynative", weights=None, form="fused", **options):
    """The loss, and the gradient of its sum (weighted per sample) with respect to the logits."""
    loss_fn = _loss_of(FORMS[form], tuple(options.items()))
    weights = np.float32(1.0 if weights is None else weights)
    loss, total, gradient = run_gradient(loss_fn, inputs, (0,), mode, weights)
    assert np.isnan(total) == np.isnan((loss * weights).sum())
    return loss, gradient


@lru_cache(maxsize=4)
def _loss_of(fused_grad, options):
    """The same object for the same options, as each has graphs of its own."""
    return RNNTLoss(**dict(options), fused_grad=fused_grad).set_train()
