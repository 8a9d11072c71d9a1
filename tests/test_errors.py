# SPDX-License-Identifier: Apache-2.0
"""Errors name the argument, what it must be and what came; the next call is right."""

import mindspore as ms
import numpy as np
import pytest
from calls import loss_and_gradient, numbers, tensors
from mindspore import Tensor
from oracles import random_batch, report, rnnt_loss_reference

from mindspore_rnnt import RNNTLoss, rnnt_loss

LENGTHS = [(5, 3), (4, 2), (3, 1)]
NAMES = ("logits", "targets", "logit_lengths", "target_lengths")


def _inputs(padded=False, **changes):
    inputs = dict(zip(NAMES, random_batch(LENGTHS, V=7).layout(padded)))
    return {name: Tensor(changes.get(name, value)) for name, value in inputs.items()}


def _int(*values):
    return np.array(values, np.int32)


def _with_label(position, label):
    """The batch's targets with one label of sample 1 changed."""
    targets = random_batch(LENGTHS, V=7).targets()
    targets[1, position] = label
    return targets


WRONG_TENSORS = [
    ({"logits": np.zeros((36, 7))}, TypeError, "'logits' must be a Tensor of one of .*Float64"),
    ({"logits": np.zeros((36, 7), np.int32)}, TypeError, "'logits' must be .*Int32"),
    ({"targets": np.zeros((3, 3), np.float32)}, TypeError, "'targets' must be .*Float32"),
    ({"logit_lengths": np.zeros(3, np.int16)}, TypeError, "'logit_lengths' must be .*Int16"),
    ({"logits": np.zeros((1, 36, 7), np.float32)}, ValueError, r"rank 2 or 4.*\(1, 36, 7\)"),
    ({"targets": _int(1, 2, 3)}, ValueError, r"'targets' must be of rank 2.*\(3,\)"),
    ({"target_lengths": _int([3, 2, 1])}, ValueError, r"'target_lengths' must be of rank 1"),
    ({"target_lengths": _int(3, 2)}, ValueError, "'target_lengths' must be of 3 samples.*got 2"),
    ({"targets": np.zeros((2, 3), np.int32)}, ValueError, "'targets' must be of 3 samples.*got 2"),
    ({"logits": np.zeros((36, 0), np.float32)}, ValueError, "'logits' must be of at least 1 class"),
    (
        {"logit_lengths": np.zeros(0, np.int32), "target_lengths": np.zeros(0, np.int32)},
        ValueError,
        "'logit_lengths' must be of at least 1 sample",
    ),
]


@pytest.mark.parametrize("changes, error, message", WRONG_TENSORS, ids=lambda x: str(x)[:30])
def test_wrong_tensors_are_refused_before_the_launch(changes, error, message):
    inputs = _inputs(**changes)

    def in_graph(logits, targets, logit_lengths, target_lengths):
        return rnnt_loss(logits, targets, logit_lengths, target_lengths)

    for call in (rnnt_loss, RNNTLoss(), ms.jit(in_graph)):
        caller = "RNNTLoss" if isinstance(call, RNNTLoss) else "rnnt_loss"
        with pytest.raises(error, match=f"^For '{caller}', the .*{message}"):
            call(*inputs.values())


def test_padded_logits_of_another_batch_size():
    inputs = _inputs(padded=True)
    inputs["logits"] = inputs["logits"][:2]
    with pytest.raises(ValueError, match=r"'logits' must be of 3 samples.*but got 2 samples"):
        rnnt_loss(*inputs.values())


@pytest.mark.parametrize("shape", [(3, 0, 4, 7), (3, 5, 0, 7), (3, 5, 4, 0)])
def test_padded_logits_without_an_entry(shape):
    inputs = _inputs(padded=True, logits=np.zeros(shape, np.float32))
    with pytest.raises(ValueError, match="'logits' must be of at least 1 frame, predictor step"):
        rnnt_loss(*inputs.values())


def test_no_tensor():
    inputs = _inputs()
    with pytest.raises(TypeError, match="'targets' must be a Tensor, but got list"):
        rnnt_loss(inputs["logits"], [[1]], inputs["logit_lengths"], inputs["target_lengths"])


WRONG_OPTIONS = [
    ({"blank": 7}, ValueError, r"'blank' must be in \[-7, 7\).*but got 7"),
    ({"blank": -8}, ValueError, r"'blank' must be in \[-7, 7\).*but got -8"),
    ({"blank": 0.0}, TypeError, "'blank' must be an int, but got float"),
    ({"blank": True}, TypeError, "'blank' must be an int, but got bool"),
    ({"clamp": "1"}, TypeError, "'clamp' must be a float, but got str"),
    ({"clamp": float("nan")}, ValueError, "'clamp' must be a number, but got nan"),
    ({"fused_log_softmax": 1}, TypeError, "'fused_log_softmax' must be a bool, but got int"),
    ({"fastemit_lambda": -0.1}, ValueError, "'fastemit_lambda' must be at least 0.*got -0.1"),
    ({"fastemit_lambda": 1e300}, ValueError, "'fastemit_lambda' must be .* at most 1e.30.*1e.300"),
    # Not a float32, in which options travel; of 2**24 + 4 classes it is -3.
    ({"blank": 2**24 + 1}, ValueError, r"'blank' must be in \[-16777216, 16777216\], from the end"),
    ({"zero_infinity": None}, TypeError, "'zero_infinity' must be a bool, but got NoneType"),
    ({"fused_grad": "no"}, TypeError, "'fused_grad' must be a bool, but got str"),
    ({"validate": 0}, TypeError, "'validate' must be a bool, but got int"),
    ({"reduction": "avg"}, ValueError, "'reduction' must be .*avg"),
]


@pytest.mark.parametrize("options, error, message", WRONG_OPTIONS, ids=lambda x: str(x)[:30])
def test_wrong_options(options, error, message):
    inputs = _inputs().values()
    with pytest.raises(error, match=f"^For 'rnnt_loss', the {message}"):
        rnnt_loss(*inputs, **options)
    with pytest.raises(error, match=message.replace("'reduction' must be ", "'reduction' must be")):
        RNNTLoss(**options)(*inputs)


# What is wrong, in which layout, and the error. (Unchecked: conformance/bad_values.py)
WRONG_VALUES = [
    (
        {"logit_lengths": _int(5, 0, 3)},
        True,
        r"'logit_lengths' must be in \[1, 5\].*got 0 in sample 1",
    ),
    ({"logit_lengths": _int(5, -2, 3)}, True, r"\[1, 5\].*got -2 in sample 1"),
    ({"logit_lengths": _int(5, 6, 3)}, True, r"\[1, 5\].*'logits'.*got 6 in sample 1"),
    (
        {"target_lengths": _int(3, -1, 1)},
        True,
        r"'target_lengths' must be in \[0, 3\].*got -1 in s",
    ),
    ({"target_lengths": _int(3, 4, 1)}, True, r"\[0, 3\].*'targets'.*got 4 in sample 1"),
    (
        {"targets": _with_label(1, 7)},
        True,
        r"'targets' must be in \[0, 7\).*got 7 at position 1 of",
    ),
    ({"targets": _with_label(0, -1)}, False, r"\[0, 7\).*got -1 at position 0 of sample 1"),
]


@pytest.mark.parametrize("changes, padded, message", WRONG_VALUES, ids=lambda x: str(x)[:40])
def test_wrong_values_in_pynative(changes, padded, message):
    with pytest.raises(ValueError, match=message):
        rnnt_loss(*_inputs(padded, **changes).values())


def test_rows_that_do_not_add_up():
    with pytest.raises(
        ValueError, match=r"'logits' must be of as many rows .* 39, but got 38 rows"
    ):
        rnnt_loss(
            *_inputs(logits=np.zeros((38, 7), np.float32), logit_lengths=_int(5, 5, 2)).values()
        )


@pytest.mark.parametrize("name, value", [("logit_lengths", 2**32 + 4), ("targets", 2**33)])
@pytest.mark.parametrize("mode", ["pynative", "jit", "graph"])
def test_int64_is_checked_before_it_is_cast(mode, name, value):
    """2^32 + 4 as int32 would be 4, a good length."""
    inputs = {n: x.astype(ms.int64) if n != "logits" else x for n, x in _inputs(True).items()}
    wide = inputs[name].asnumpy()
    wide.reshape(3, -1)[1, 0] = value
    inputs[name] = Tensor(wide)
    with pytest.raises(ValueError, match=f"got {value} "):
        rnnt_loss(*inputs.values())
    loss, gradient = loss_and_gradient(
        tuple(inputs.values()), mode, reduction="none", validate=False
    )
    assert np.isnan(loss).tolist() == [False, True, False] and (gradient[1] == 0).all()


def test_the_graph_goes_on_working_after_a_bad_batch():
    loss_fn = RNNTLoss(reduction="none")

    @ms.jit
    def call(logits, targets, logit_lengths, target_lengths):
        return loss_fn(logits, targets, logit_lengths, target_lengths)

    good, bad = _inputs(True), _inputs(True, logit_lengths=_int(5, 6, 3))
    before = numbers(call(*good.values()))
    assert np.isnan(numbers(call(*bad.values()))).tolist() == [False, True, False]
    assert np.array_equal(numbers(call(*good.values())), before)


BAD_IN_A_GRADIENT = [
    {"targets": _with_label(1, 7)},
    {"logits": np.zeros((36, 7))},
    {"target_lengths": _int([3, 2, 1])},
]


@pytest.mark.parametrize("fused_grad", [True, False])
@pytest.mark.parametrize("changes", BAD_IN_A_GRADIENT, ids=lambda x: str(x)[:30])
def test_an_error_inside_a_gradient_leaves_the_next_call_right(changes, fused_grad):
    """Without care MindSpore's recorder stays on, and the next compiled gradient fails."""
    layout = random_batch(LENGTHS, V=7).layout(padded=False)
    _, expected = rnnt_loss_reference(*layout, reduction="mean")

    def loss(logits, targets, logit_lengths, target_lengths):
        return rnnt_loss(logits, targets, logit_lengths, target_lengths, fused_grad=fused_grad)

    def gradient(logits, targets, logit_lengths, target_lengths):
        return ms.grad(loss)(logits, targets, logit_lengths, target_lengths)

    def nested(logits, targets, logit_lengths, target_lengths):
        inner = ms.grad(loss)(logits, targets, logit_lengths, target_lengths)
        return (inner * logits).sum()

    bad = _inputs(**changes).values()
    for failing in (gradient, ms.grad(nested)):
        with pytest.raises((ValueError, TypeError), match="For 'rnnt_loss', the"):
            failing(*bad)
        for call in (ms.jit(gradient), gradient):
            assert report("gradient", numbers(call(*tensors(layout))), expected) <= 2e-6
