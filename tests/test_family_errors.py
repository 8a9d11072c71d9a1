# SPDX-License-Identifier: Apache-2.0
"""The functions beside the losses refuse what rnnt_loss refuses, in their own name."""

from functools import partial

import mindspore as ms
import numpy as np
import pytest
from calls import refused as refused_by
from mindspore import Tensor
from oracles import random_batch

from mindspore_rnnt import expected_frames, rnnt_align, rnnt_posteriors

NAMES = ("logits", "targets", "logit_lengths", "target_lengths")


BATCH = dict(zip(NAMES, random_batch([(5, 3), (4, 2)], V=7).layout(padded=True)))
refused = partial(refused_by, inputs=BATCH)


def _int(*values):
    return np.array(values, np.int32)


@pytest.mark.parametrize("function", [rnnt_align, rnnt_posteriors], ids=lambda f: f.__name__)
def test_refusals(function):
    refused(function, TypeError, "'logits' must be .*Int32", logits=np.zeros((5, 7), np.int32))
    refused(function, ValueError, "'targets' must be of rank 2", targets=_int(1, 2))
    refused(function, ValueError, r"'blank' must be in \[-7, 7\).* got 7", blank=7)
    refused(function, TypeError, "'fused_log_softmax' must be a bool", fused_log_softmax=1)
    refused(function, TypeError, "'validate' must be a bool, but got int", validate=1)
    refused(function, ValueError, "'logit_lengths' .* got 6 in sample 1", logit_lengths=_int(5, 6))
    refused(
        function, ValueError, "'target_lengths' .* got 4 in sample 0", target_lengths=_int(4, 1)
    )
    labels = _int([1, 2, 7], [1, 2, 3])
    refused(function, ValueError, r"'targets' must be in \[0, 7\).* got 7 at", targets=labels)


@pytest.mark.parametrize("function", [rnnt_align, rnnt_posteriors], ids=lambda f: f.__name__)
def test_refusals_in_a_graph(function):
    def call(logits, targets, logit_lengths, target_lengths):
        return function(logits, targets, logit_lengths, target_lengths, blank=9)

    inputs = [Tensor(x) for x in random_batch([(5, 3)], V=7).layout(padded=False)]
    with pytest.raises(ValueError, match=f"For '{function.__name__}', the 'blank' must be in"):
        ms.jit(call)(*inputs)


def test_refusals_of_expected_frames():
    T, U = Tensor(_int(3, 2)), Tensor(_int(1, 1))
    label = Tensor(np.zeros((2, 3, 2), np.float32))
    for posteriors, lengths, error, message in (
        ((None, None, label[:1]), (T, U), ValueError, r"'logit_lengths' must be of .* B = 1"),
        ((None, None, label[0]), (T, U), ValueError, r"'posteriors' must be of shape \(B, max_T, "),
        (
            (None, None, T),
            (T, U),
            TypeError,
            "'posteriors' must be a Tensor of one of .* got Int32",
        ),
        ((None, None, label), (T, U[:1]), ValueError, "'target_lengths' must be of .* B = 2"),
        ((None, None, label), (T, label), TypeError, "'target_lengths' must be a Tensor of one of"),
    ):
        with pytest.raises(error, match=f"^For 'expected_frames', the {message}"):
            expected_frames(posteriors, *lengths)
