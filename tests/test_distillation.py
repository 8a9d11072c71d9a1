# SPDX-License-Identifier: Apache-2.0
"""rnnt_distillation_loss against float64."""

from functools import partial

import mindspore as ms
import numpy as np
import pytest
from calls import refused as refused_by
from calls import tensors
from mindspore import Tensor
from modes import MODES, refuse_double_backward, run, run_gradient
from oracles import LAYOUTS, TOLERANCE, Batch, random_batch, report

from mindspore_rnnt import rnnt_distillation_loss
from mindspore_rnnt.divergence import distillation
from mindspore_rnnt.kernels import get_ops
from mindspore_rnnt.native import pack_params
from mindspore_rnnt.reference import rnnt_distillation_loss_reference as reference

LENGTHS = [(6, 3), (4, 2), (3, 0)]
WEIGHTS = [1.0, -2.0, 0.5]


def distillation_batch(padded, V=9, teacher_V=9, dtype="float32", teacher_dtype="float32", seed=0):
    """logits, teacher_logits, targets, lengths; padding is NaN."""
    batch = random_batch(LENGTHS, V=V, dtype=dtype, seed=seed, blank=0)
    teacher = random_batch(LENGTHS, V=teacher_V, dtype=teacher_dtype, seed=seed + 1)
    logits, *rest = batch.layout(padded, 1, 1)
    return logits, teacher.layout(padded, 1, 1)[0], *rest


def assert_equal(batch, got, dtype="float32", weights=WEIGHTS, **options):
    losses, gradient = reference(*batch, **options)
    rows = batch[-2] * (batch[-1] + 1)
    if batch[0].ndim == 2:
        factor = np.repeat(weights, rows)[:, None]
    else:
        factor = np.reshape(weights, (-1, 1, 1, 1))
    assert report("relative loss", got[0] / losses, np.ones(len(losses))) <= 1e-6
    assert report("gradient", got[2], factor * gradient) <= 2 * TOLERANCE["gradient"][dtype]


@LAYOUTS
@pytest.mark.parametrize("mode", MODES)
def test_loss_and_gradient(mode, padded):
    batch = distillation_batch(padded)
    options = {"blank": 0, "temperature": 1.7}
    inputs = [Tensor(x) for x in batch]
    got = run_gradient(
        rnnt_distillation_loss, inputs, (0,), mode, WEIGHTS, reduction="none", **options
    )
    assert_equal(batch, got, **options)


@pytest.mark.parametrize("dtype, other", [("float16", "float32"), ("bfloat16", "float16")])
def test_half_precision_and_another_vocabulary(dtype, other):
    batch = distillation_batch(True, 300, 400, dtype, other)
    logits, teacher = (Tensor(x).astype(getattr(ms, d)) for x, d in zip(batch, (dtype, other)))
    inputs = (logits, teacher, *(x.astype(np.int64) for x in batch[2:]))
    options = {"blank": 0, "temperature": 2.0}
    got = run_gradient(
        rnnt_distillation_loss, inputs, (0,), weights=WEIGHTS, reduction="none", **options
    )
    assert_equal(batch, got, dtype, **options)


@LAYOUTS
def test_a_model_into_itself(padded):
    """Exactly 0 with gradient 0."""
    batch = list(distillation_batch(padded, V=300))
    batch[1] = batch[0]
    loss, _, gradient = run_gradient(rnnt_distillation_loss, batch, (0,), reduction="none")
    assert (loss == 0).all() and (gradient == 0).all()


@pytest.mark.parametrize("V", [1, 2, 3])
def test_few_classes_and_a_label_that_is_the_blank(V):
    rng = np.random.default_rng(0)
    logits, teacher = rng.normal(size=(2, 8, V)).astype(np.float32)
    batch = logits, teacher, np.zeros((1, 3), np.int32), np.int32([2]), np.int32([3])
    for blank in {0, V - 1}:
        losses, gradient = reference(*batch, blank=blank)
        loss, _, got = run_gradient(rnnt_distillation_loss, batch, (0,), blank=blank)
        assert report("loss", loss, losses.mean()) <= 1e-6 * max(1, losses.mean())
        assert report("gradient", got, gradient) <= 2e-6


def test_a_rest_that_is_nearly_nothing():
    """1 - q_blank - q_label would be 2 % wrong at 1e-6, and negative at 1e-8."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(6, 1000)).astype(np.float32)
    teacher = rng.normal(size=(6, 1000)).astype(np.float32)
    logits[:, 0] += 25
    teacher[:, 0] += 20
    batch = logits, teacher, np.int32([[3]]), np.int32([3]), np.int32([1])
    losses, gradient = reference(*batch, blank=0)
    loss, _, got = run_gradient(rnnt_distillation_loss, batch, (0,), blank=0)
    assert abs(loss / losses[0] - 1) <= 1e-4
    # Relative to the largest of a row: the rest's are small, and right.
    assert (
        report(
            "rest",
            got[:, 5:] / np.abs(gradient[:, 5:]).max(),
            gradient[:, 5:] / np.abs(gradient[:, 5:]).max(),
        )
        <= 1e-5
    )


@LAYOUTS
def test_a_bad_sample_is_alone(padded):
    """NaN in the student or the teacher; a class that the student excludes. A weight of 0 drops."""
    student, teacher = (
        random_batch([(3, 2)] * 4, V=5, blank=0),
        random_batch([(3, 2)] * 4, V=5, seed=1),
    )
    options = {"blank": 0, "reduction": "none"}

    def both(weights):
        batch = student.layout(padded)[0], *teacher.layout(padded)
        batch = (*batch[:2], *student.layout(padded)[1:])
        return batch, run_gradient(rnnt_distillation_loss, batch, (0,), weights=weights, **options)

    _, good = both([1, 1, 1, 1])
    student.samples[0][1, 1, 3] = np.nan
    teacher.samples[1][2, 0, 4] = np.nan
    student.samples[2][0, 0, student.labels[2][0]] = -np.inf
    batch, got = both([1, 1, 1, 1])
    losses, gradient = reference(*batch, blank=0)
    assert report("losses", got[0], losses) <= 1e-5
    assert report("gradient", got[2], gradient) <= 2e-6
    rows = slice(36 - 9, 36) if not padded else slice(3, 4)
    assert got[0][3] == good[0][3] and (got[2][rows] == good[2][rows]).all()
    _, dropped = both([0, 0, 1, 1])
    assert np.isfinite(dropped[2]).all()
    assert (dropped[2][: 18 if not padded else 2] == 0).all()


@pytest.mark.parametrize("mode", ["pynative", "graph_dynamic"])
@pytest.mark.parametrize("place, value", [(2, 9), (2, -1), (3, 0), (4, -2), (4, 9)])
def test_unchecked_bad_values_cost_their_sample_only(place, value, mode):
    batch = [x.copy() for x in distillation_batch(True)]
    options = {"reduction": "none", "validate": False, "blank": 0}
    good = run_gradient(rnnt_distillation_loss, batch, (0,), mode, WEIGHTS, **options)
    batch[place][0] = value
    got = run_gradient(rnnt_distillation_loss, batch, (0,), mode, WEIGHTS, **options)
    assert np.isnan(got[0][0]) and (got[2][0] == 0).all()
    assert (got[0][1:] == good[0][1:]).all() and (got[2][1:] == good[2][1:]).all()


@pytest.mark.parametrize("columns", [0, 1])
def test_no_labels_at_all(columns):
    batch = Batch(*[random_batch([(3, 0), (2, 0)], V=5).samples], [np.zeros(0, np.int32)] * 2)
    logits = batch.padded()
    inputs = logits, 2 * logits, np.full((2, columns), 99, np.int32), *batch.layout(True)[2:]
    losses, gradient = reference(*inputs)
    got = run_gradient(rnnt_distillation_loss, inputs, (0,), reduction="none")
    assert report("loss", got[0], losses) <= 1e-6 and report("gradient", got[2], gradient) <= 2e-6


def test_the_teacher_gets_no_gradient():
    inputs = [Tensor(x) for x in distillation_batch(False)]

    def loss(logits, teacher, targets, logit_lengths, target_lengths):
        return rnnt_distillation_loss(logits, teacher, targets, logit_lengths, target_lengths, 0)

    def both(logits, teacher, targets, logit_lengths, target_lengths):
        return ms.grad(loss, (0, 1))(logits, teacher, targets, logit_lengths, target_lengths)

    for call in (both, ms.jit(both)):
        student, teacher = call(*inputs)
        assert np.abs(student.asnumpy()).max() > 0 and (teacher.asnumpy() == 0).all()


def test_refusals():
    names = ("logits", "teacher_logits", "targets", "logit_lengths", "target_lengths")
    inputs = dict(zip(names, distillation_batch(True)))
    refused = partial(refused_by, rnnt_distillation_loss, inputs=inputs)
    _, teacher, targets, _, _ = distillation_batch(True)
    refused(
        ValueError,
        r"'teacher_logits' must be of the layout of 'logits'",
        teacher_logits=teacher[:, 1:],
    )
    refused(TypeError, r"'teacher_logits' must be a Tensor of one of", teacher_logits=targets)
    refused(ValueError, r"'blank' must be in \[0, 7\).* got -1", teacher_logits=teacher[..., :7])
    refused(
        ValueError,
        "'targets' must be in .* 'teacher_logits' has 3",
        teacher_logits=teacher[..., :3],
        blank=0,
    )
    refused(ValueError, "'temperature' must be positive and finite, but got 0", temperature=0)
    between = "'temperature' must be between .* but got "
    # float32 makes them 0, which the operators read as 1, and infinity.
    refused(ValueError, between + "1e-50", temperature=1e-50)
    refused(ValueError, between + r"1e\+39", temperature=1e39)
    refused(TypeError, "'temperature' must be a float, but got str", temperature="1")
    refused(ValueError, "'reduction' must be one of", reduction="max")
    refused(ValueError, r"'blank' must be in \[-9, 9\)", blank=9)
    refused(TypeError, "'validate' must be a bool", validate=1)


def test_double_backward_is_an_error_and_leaves_the_next_call_right():
    inputs = tensors(random_batch(LENGTHS, V=5).layout(padded=False))
    inputs = (inputs[0], inputs[0] * 2, *inputs[1:])
    refuse_double_backward(rnnt_distillation_loss, inputs, "rnnt_distillation_loss")


@LAYOUTS
@pytest.mark.parametrize("mode", ["pynative", "graph_dynamic"])
def test_the_divergence_as_a_composition(mode, padded):
    """For a device without the operator; samples with NaN, with an infinite loss, refused."""
    student, teacher = (
        random_batch([(3, 2)] * 5, V=5, blank=0, seed=0),
        random_batch([(3, 2)] * 5, V=5, blank=0, seed=1),
    )
    teacher.samples[1][2, 0, 4] = np.nan
    student.samples[2][0, 0, student.labels[2][0]] = -np.inf
    logits, targets, *lengths = student.layout(padded)
    targets[3, 1], targets[4, 0] = 77, 0  # no class; the blank
    params = Tensor(pack_params(blank=0, temperature=1.7, rest=True))

    def of(function, logits, teacher_logits, targets, logit_lengths, target_lengths, params):
        batch = targets, logit_lengths, target_lengths
        labels, samples, least_loss = get_ops().row_labels(logits, *batch, params)
        stats = get_ops().row_stats(logits, labels, params)
        teacher_stats = get_ops().row_stats(teacher_logits, labels, params)
        return function(stats, teacher_stats, labels, samples, least_loss, params)

    def composed(*inputs):
        return of(distillation, *inputs)

    def operator(*inputs):
        return of(get_ops().distillation, *inputs)

    inputs = (logits, teacher.layout(padded)[0], targets, *lengths, params)
    got, expected = run(composed, inputs, mode), run(operator, inputs)
    assert np.isnan(expected[0][[1, 3]]).all() and expected[0][2] == np.inf
    assert report("loss", got[0], expected[0]) <= 1e-6
    assert report("coefficients", got[1], expected[1]) <= 1e-7
