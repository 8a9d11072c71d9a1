# SPDX-License-Identifier: Apache-2.0
"""Every line of the semantics on the AscendC kernel, against enumerated paths or float64."""

import sys
from pathlib import Path

import numpy as np
import pytest
from oracles import TOLERANCE, Batch, enumerate_paths, ramp, random_batch, report

sys.path.insert(0, str(Path(__file__).resolve().parent))

import kernel_on_twin as twin

from mindspore_rnnt.reference import rnnt_loss_reference

SMALL = [(3, 2), (4, 0), (1, 3), (4, 4), (2, 1)]
LAYOUTS = pytest.mark.parametrize("padded", [False, True], ids=["packed", "padded"])


def near(got, expected, tolerance=TOLERANCE["ascend_small"], what=""):
    assert report(what, got, expected) <= tolerance


def split(batch, grad, padded):
    """The samples' own rows of a gradient, and the rest."""
    if padded:
        own = [grad[b, : s.shape[0], : s.shape[1]] for b, s in enumerate(batch.samples)]
        rest = grad[
            ~batch.padded_mask(
                grad.shape[1] - batch.logit_lengths.max(),
                grad.shape[2] - 1 - batch.target_lengths.max(),
            )
        ]
        return own, rest
    ends = np.cumsum([s.shape[0] * s.shape[1] for s in batch.samples])
    parts = np.split(grad, ends[:-1])
    return [p.reshape(s.shape) for p, s in zip(parts, batch.samples)], grad[:0]


@LAYOUTS
@pytest.mark.parametrize("fused", [True, False], ids=["logits", "log_probs"])
@pytest.mark.parametrize("blank", [0, 2, -1])
def test_equals_path_enumeration(padded, fused, blank):
    batch = random_batch(SMALL, 5, seed=1, blank=blank)
    layout = batch.layout(padded, 2, 1) if padded else batch.layout(False)
    loss, grad, _ = twin.fused(layout, blank=blank, fused_log_softmax=fused)
    own, rest = split(batch, grad, padded)
    assert (rest == 0).all()
    for b, (sample, labels) in enumerate(zip(batch.samples, batch.labels)):
        expected = enumerate_paths(sample, labels, blank, fused)
        near(loss[b], expected[0], what=f"loss {b}")
        near(own[b], expected[1], what=f"gradient {b}")


@pytest.mark.parametrize("attributes", [True, False])
def test_ramp_values(attributes):
    batch = Batch([ramp(2, 3, 5).astype(np.float32)], [np.array([1, 2], np.int32)])
    options = {"blank": 0, "fused_log_softmax": 1, "clamp": -1.0}
    loss, grad, _ = twin.fused(batch.layout(False), attributes=attributes, **options)
    near(loss, [5.859677375], what="loss")
    near(grad[0], [-0.116986, -0.598768, 0.291710, 0.160094, 0.263950], what="gradient")


def test_blank_among_the_labels_adds_both_arcs():
    batch = Batch([ramp(2, 3, 5).astype(np.float32)], [np.array([1, 2], np.int32)])
    loss, grad, _ = twin.fused(batch.layout(False), blank=1)
    near(loss, [5.119183898], what="loss")
    near(grad[0], [0.107314, -0.823069, 0.291710, 0.160094, 0.263950], what="gradient")


@LAYOUTS
@pytest.mark.parametrize(
    "options",
    [
        {"clamp": 0.05},
        {"fastemit_lambda": 0.3},
        {"fastemit_lambda": 0.3, "clamp": 0.1},
        {"clamp": 0.05, "fused_log_softmax": False},
        {"fastemit_lambda": 0.3, "fused_log_softmax": False},
    ],
    ids=str,
)
def test_options(padded, options):
    batch = random_batch([(6, 4), (9, 2), (3, 0)], 19, seed=2)
    layout = batch.layout(padded)
    loss, grad, _ = twin.fused(layout, **options)
    expected_loss, expected = rnnt_loss_reference(*layout, reduction="none", **options)
    near(loss, expected_loss, what="loss")
    near(grad, expected, what="gradient")


def test_one_class_only():
    batch = random_batch([(3, 0), (2, 2)], 1)
    loss, grad, _ = twin.fused(batch.layout(False))
    expected = rnnt_loss_reference(*batch.layout(False))
    near(loss, expected[0], what="loss")
    near(grad, expected[1], what="gradient")


def test_a_sample_without_any_labels_in_the_batch():
    batch = random_batch([(3, 0), (5, 0)], 7)
    assert batch.targets().shape == (2, 0)
    for padded in (False, True):
        loss, grad, _ = twin.fused(batch.layout(padded))
        expected = rnnt_loss_reference(*batch.layout(padded))
        near(loss, expected[0], what="loss")
        near(grad, expected[1], what="gradient")


@LAYOUTS
@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("fused", [True, False], ids=["logits", "log_probs"])
def test_impossible_sample(padded, zero_infinity, fused):
    batch = random_batch([(3, 2), (4, 2), (3, 1)], 6, seed=3)
    batch.samples[1][:, 1, batch.labels[1][1]] = -np.inf  # the second label can be nowhere
    layout = batch.layout(padded)
    loss, grad, _ = twin.fused(layout, zero_infinity=zero_infinity, fused_log_softmax=fused)
    expected = rnnt_loss_reference(*layout, fused_log_softmax=fused, zero_infinity=zero_infinity)
    assert expected[0][1] == (0 if zero_infinity else np.inf)
    near(loss, expected[0], what="loss")
    near(grad, expected[1], what="gradient")


@pytest.mark.parametrize("fused", [True, False], ids=["logits", "log_probs"])
def test_minus_infinity_on_some_arcs(fused):
    batch = random_batch([(5, 3), (4, 2)], 8, seed=4)
    batch.samples[0][1:3, 1, batch.labels[0][1]] = -np.inf
    batch.samples[0][0, :2, -1] = -np.inf  # blanks
    batch.samples[1][2, 1, 3] = -np.inf
    loss, grad, _ = twin.fused(batch.layout(False), fused_log_softmax=fused)
    expected = rnnt_loss_reference(*batch.layout(False), fused_log_softmax=fused)
    near(loss, expected[0], what="loss")
    near(grad, expected[1], what="gradient")


@LAYOUTS
@pytest.mark.parametrize("poison", [np.nan, np.inf, "row"], ids=str)
@pytest.mark.parametrize("vocab", [9, 700])
def test_bad_logits_stay_in_their_sample(padded, poison, vocab):
    batch = random_batch([(3, 2), (4, 3), (3, 1)], vocab, seed=5)
    clean = batch.layout(padded)
    expected = rnnt_loss_reference(*clean)
    if poison == "row":
        batch.samples[1][2, 1] = -np.inf
    else:
        batch.samples[1][3, 0, 4] = poison
    loss, grad, _ = twin.fused(batch.layout(padded))
    own, rest = split(batch, grad, padded)
    expected_own, _ = split(batch, expected[1], padded)
    assert np.isnan(loss[1]) and np.isnan(own[1]).all() and (rest == 0).all()
    for b in (0, 2):
        near(loss[b], expected[0][b], what=f"loss {b}")
        near(own[b], expected_own[b], what=f"gradient {b}")


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["blank", "label", "elsewhere", "dead_blank"])
def test_log_probs_that_are_no_numbers(value, where):
    batch = random_batch([(3, 2), (4, 3)], 9, seed=6)
    t, u = (3, 1) if where == "dead_blank" else (2, 1)
    column = {"label": batch.labels[1][1], "elsewhere": (set(range(8)) - {*batch.labels[1]}).pop()}
    batch.samples[1][t, u, column.get(where, 8)] = value
    loss, grad, _ = twin.fused(batch.layout(False), fused_log_softmax=False)
    expected = rnnt_loss_reference(*batch.layout(False), fused_log_softmax=False)
    assert np.isnan(loss[1]) == (where != "elsewhere")
    near(loss, expected[0], what="loss")
    near(grad, expected[1], what="gradient")


BAD_SAMPLES = {
    "no frame": (lambda T, U, y: (0, U, y)),
    "negative frames": (lambda T, U, y: (-7, U, y)),
    "too many frames": (lambda T, U, y: (2**31 - 1, U, y)),
    "negative labels": (lambda T, U, y: (T, -1, y)),
    "least length": (lambda T, U, y: (-(2**31), -(2**31), y)),
    "too many labels": (lambda T, U, y: (T, 2**31 - 1, y)),
    "label is V": (lambda T, U, y: (T, U, [*y[:-1], 9])),
    "label below 0": (lambda T, U, y: (T, U, [-1, *y[1:]])),
    "wild label": (lambda T, U, y: (T, U, [2**31 - 1, *y[1:]])),
    "wild negative label": (lambda T, U, y: (T, U, [*y[:-1], -(2**31)])),
}


@pytest.mark.parametrize("fused", [True, False], ids=["logits", "log_probs"])
@pytest.mark.parametrize("bad", BAD_SAMPLES)
def test_bad_values_in_padded_batches(bad, fused):
    batch = random_batch([(3, 2), (4, 3), (3, 1)], 9, seed=7)
    logits, targets, T, U = batch.layout(True)
    expected = rnnt_loss_reference(logits, targets, T, U, fused_log_softmax=fused)
    T[1], U[1], targets[1, :3] = BAD_SAMPLES[bad](T[1], U[1], targets[1, :3])
    loss, grad, _ = twin.fused((logits, targets, T, U), fused_log_softmax=fused)
    assert np.isnan(loss[1]) and (grad[1] == 0).all()
    near(loss[[0, 2]], expected[0][[0, 2]], what="loss")
    near(grad[[0, 2]], expected[1][[0, 2]], what="gradient")


@pytest.mark.parametrize(
    "bad", [name for name in BAD_SAMPLES if "label" in name and "s" not in name]
)
def test_bad_labels_in_packed_batches(bad):
    batch = random_batch([(3, 2), (4, 3), (3, 1)], 9, seed=7)
    logits, targets, T, U = batch.layout(False)
    expected = rnnt_loss_reference(logits, targets, T, U)
    targets[1, :3] = BAD_SAMPLES[bad](T[1], U[1], targets[1, :3])[2]
    loss, grad, _ = twin.fused((logits, targets, T, U))
    own, _ = split(batch, grad, False)
    expected_own, _ = split(batch, expected[1], False)
    assert np.isnan(loss[1]) and (own[1] == 0).all()
    near(loss[[0, 2]], expected[0][[0, 2]], what="loss")
    near(own[0], expected_own[0], what="gradient 0")
    near(own[2], expected_own[2], what="gradient 2")


@pytest.mark.parametrize("change", [-1, 1, 2**31 - 5, -(2**31)])
def test_packed_lengths_that_do_not_add_up(change):
    logits, targets, T, U = random_batch([(3, 2), (4, 3), (3, 1)], 9).layout(False)
    T = T.astype(np.int64)
    T[1] = np.clip(T[1] + change, -(2**31), 2**31 - 1)
    loss, grad, _ = twin.fused((logits, targets, T.astype(np.int32), U))
    assert np.isnan(loss).all() and (grad == 0).all()


def test_packed_sample_with_more_labels_than_targets_has_only_its_own_rows():
    """Its rows are known, so the other samples are right."""
    batch = random_batch([(3, 2), (4, 3), (3, 1)], 9)
    logits, targets, T, U = batch.layout(False)
    expected = rnnt_loss_reference(logits, targets, T, U)
    loss, grad, _ = twin.fused((logits, np.ascontiguousarray(targets[:, :2]), T, U))
    own, _ = split(batch, grad, False)
    expected_own, _ = split(batch, expected[1], False)
    assert np.isnan(loss[1]) and (own[1] == 0).all()
    near(own[0], expected_own[0], what="gradient 0")
    near(own[2], expected_own[2], what="gradient 2")


@pytest.mark.parametrize("blank", [9, -10, 1e9, np.nan, -np.inf])
def test_blank_that_is_no_class(blank):
    loss, grad, _ = twin.fused(random_batch([(3, 2), (4, 3)], 9).layout(False), blank=blank)
    assert np.isnan(loss).all() and (grad == 0).all()


def test_fused_loss_is_never_negative():
    logits = np.full((12, 4), -40.0, np.float32)
    logits[:, 3] = 40.0
    batch = Batch([logits.reshape(12, 1, 4)], [np.zeros(0, np.int32)])
    loss, _, _ = twin.fused(batch.layout(False))
    assert loss[0] == 0.0


def test_large_and_shifted_logits():
    batch = random_batch([(6, 3), (5, 4)], 11, seed=8)
    expected = rnnt_loss_reference(*batch.layout(False))
    for b in range(2):
        batch.samples[b] = batch.samples[b].astype(np.float64) + 64.0
        batch.samples[b] = batch.samples[b].astype(np.float32)
    loss, grad, _ = twin.fused(batch.layout(False))
    near(loss, expected[0], 5e-5, "loss")
    near(grad, expected[1], 5e-5, "gradient")
