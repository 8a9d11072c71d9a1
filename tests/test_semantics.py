# SPDX-License-Identifier: Apache-2.0
"""What the loss means at the edges: options, dtypes, blanks, lengths, padding, infinities, NaN."""

import mindspore as ms
import numpy as np
import pytest
from calls import FORMS, loss_and_gradient, numbers, tensors
from mindspore import Tensor, ops
from oracles import TOLERANCE, difference_gradient, random_batch, report, rnnt_loss_reference

from mindspore_rnnt import RNNTLoss, rnnt_loss

LENGTHS = [(5, 3), (4, 2), (6, 0), (1, 4)]

both_forms = pytest.mark.parametrize("form", FORMS)
both_layouts = pytest.mark.parametrize("padded", [False, True], ids=["packed", "padded"])


def _agrees(batch, padded, form, extra=(0, 0), **options):
    """Loss and gradient are the reference's; returns both as ours."""
    layout = batch.layout(padded, *extra)
    expected, expected_gradient = rnnt_loss_reference(*layout, **options)
    loss, gradient = loss_and_gradient(tensors(layout), form=form, reduction="none", **options)
    assert report("loss", loss, expected) <= 1e-5
    assert report("gradient", gradient, expected_gradient) <= TOLERANCE["gradient"]["float32"]
    return loss, gradient


@pytest.mark.parametrize("blank, positive", [(-1, 6), (-7, 0), (-3, 4)])
def test_negative_blank_wraps(blank, positive):
    inputs = tensors(random_batch(LENGTHS, V=7, blank=positive).layout(padded=True))
    for form in FORMS:
        wrapped = loss_and_gradient(inputs, form=form, blank=blank)
        plain = loss_and_gradient(inputs, form=form, blank=positive)
        assert all(np.array_equal(a, b) for a, b in zip(wrapped, plain))


@both_forms
def test_float16_loss_is_float32_and_does_not_overflow(form):
    """Each frame costs 3000: the loss is far above float16's 65504."""
    logits = np.tile(np.float32([0, -3000]), (50, 1))
    layout = (logits, np.zeros((1, 0), np.int32), np.array([50]), np.array([0]))
    loss, _ = loss_and_gradient(tensors(layout, "float16"), form=form, reduction="none")
    assert report("loss", loss, [150000]) == 0


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


@both_layouts
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


@both_forms
@pytest.mark.parametrize("fill", [np.nan, np.inf, -np.inf, 1e38])
def test_padding_is_never_read_and_has_no_gradient(fill, form):
    batch = random_batch(LENGTHS, V=7)
    logits, *rest = batch.layout(padded=True, extra_t=2, extra_u=3)
    mask = batch.padded_mask(2, 3)
    logits[~mask] = fill
    loss, gradient = loss_and_gradient(tensors((logits, *rest)), form=form, reduction="none")
    clean, clean_gradient = _agrees(batch, padded=False, form=form)
    assert (gradient[~mask] == 0).all()
    assert np.array_equal(loss, clean)
    assert np.array_equal(gradient[mask], clean_gradient.ravel())


@both_forms
def test_one_class(form):
    loss, gradient = _agrees(random_batch([(3, 0), (1, 0)], V=1), False, form)
    assert (loss == 0).all() and (gradient == 0).all()


@both_layouts
@both_forms
def test_no_labels_at_all(form, padded):
    batch = random_batch([(3, 0), (5, 0)], V=4)
    assert batch.targets().shape == (2, 0)
    _agrees(batch, padded, form)


@both_forms
@pytest.mark.parametrize("T, U", [(1, 0), (1, 1), (1, 7), (2, 5), (7, 1)])
def test_smallest_and_steepest_lattices(T, U, form):
    _agrees(random_batch([(T, U)], V=6), False, form)


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


@both_layouts
@both_forms
def test_blank_among_the_targets_adds_both_arcs(form, padded):
    """torchaudio drops the label arc's share of the gradient. Finite differences do not."""
    batch = random_batch([(3, 2), (2, 3)], V=4, blank=1)
    for labels in batch.labels:
        labels[0] = 1
    _agrees(batch, padded, form, blank=1)
    logits, *rest = batch.layout(padded=False)
    wanted = difference_gradient(
        lambda x: rnnt_loss_reference(x, *rest, 1, reduction="sum")[0], logits.astype(np.float64)
    )
    _, gradient = loss_and_gradient(tensors((logits, *rest)), form=form, blank=1, reduction="sum")
    assert report("gradient", gradient, wanted) <= TOLERANCE["gradient"]["float32"]


@both_layouts
@both_forms
@pytest.mark.parametrize("fused", [True, False])
def test_minus_infinity_on_one_label_arc(fused, form, padded):
    batch = random_batch(LENGTHS, V=7)
    batch.samples[0][2, 1, batch.labels[0][1]] = -np.inf
    loss, gradient = _agrees(batch, padded, form, fused_log_softmax=fused)
    assert np.isfinite(loss).all() and np.isfinite(gradient).all()


@both_layouts
@both_forms
@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("zero_infinity", [True, False])
def test_impossible_sample(zero_infinity, fused, form, padded):
    batch = random_batch(LENGTHS, V=7)
    batch.samples[1][:, 1, batch.labels[1][1]] = -np.inf  # no second label
    loss, gradient = _agrees(
        batch, padded, form, fused_log_softmax=fused, zero_infinity=zero_infinity
    )
    assert loss[1] == (0 if zero_infinity else np.inf)
    start = int(batch.logit_lengths[0] * (batch.target_lengths[0] + 1))
    rows = slice(start, start + int(batch.logit_lengths[1] * (batch.target_lengths[1] + 1)))
    assert (gradient[1] == 0).all() if padded else (gradient[rows] == 0).all()


POISON = {
    "nan": lambda row, label: row.__setitem__(3, np.nan),
    "inf": lambda row, label: row.__setitem__(3, np.inf),
    "row of -inf": lambda row, label: row.fill(-np.inf),
}


@both_layouts
@both_forms
@pytest.mark.parametrize("poison", POISON)
def test_a_poisoned_sample_is_nan_and_alone(poison, form, padded):
    batch = random_batch(LENGTHS, V=7)
    POISON[poison](batch.samples[1][2, 1], None)
    loss, gradient = _agrees(batch, padded, form)
    assert np.isnan(loss).tolist() == [False, True, False, False]
    clean, clean_gradient = _agrees(random_batch(LENGTHS, V=7), padded, form)
    good = ~np.isnan(gradient)
    assert np.array_equal(loss[[0, 2, 3]], clean[[0, 2, 3]])
    assert np.array_equal(gradient[good], clean_gradient[good])
    assert (~good).sum() == batch.samples[1].size


@both_layouts
@both_forms
def test_a_weight_of_zero_drops_a_poisoned_sample(form, padded):
    batch = random_batch(LENGTHS, V=7)
    batch.samples[1][2, 1, 3] = np.nan
    inputs = tensors(batch.layout(padded))
    loss_fn = RNNTLoss(reduction="none", fused_grad=FORMS[form]).set_train()

    def kept(*inputs):
        losses = loss_fn(*inputs)
        return ops.where(ops.isnan(losses), ops.zeros_like(losses), losses).sum()

    gradient = numbers(ms.grad(kept)(*inputs))
    assert np.isfinite(gradient).all()


@both_layouts
@both_forms
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_log_probs_read_only_blank_and_label(bad, form, padded):
    """Other entries may hold anything; a used one makes its sample NaN."""
    batch = random_batch(LENGTHS, V=7)
    unused = ({*range(6)} - {int(batch.labels[0][1])}).pop()
    batch.samples[0][2, 1, unused] = bad
    loss, _ = _agrees(batch, padded, form, fused_log_softmax=False)
    assert np.isfinite(loss).all()
    batch.samples[0][2, 1, batch.labels[0][1]] = bad
    loss, _ = _agrees(batch, padded, form, fused_log_softmax=False)
    assert np.isnan(loss).tolist() == [True, False, False, False]


@both_forms
@pytest.mark.parametrize("fused", [True, False])
def test_fastemit(fused, form):
    batch = random_batch(LENGTHS, V=7)
    plain, plain_gradient = _agrees(batch, False, form, fused_log_softmax=fused)
    zero, zero_gradient = _agrees(batch, False, form, fused_log_softmax=fused, fastemit_lambda=0.0)
    assert np.array_equal(plain, zero) and np.array_equal(plain_gradient, zero_gradient)
    loss, gradient = _agrees(batch, False, form, fused_log_softmax=fused, fastemit_lambda=0.5)
    assert np.array_equal(loss, plain) and not np.array_equal(gradient, plain_gradient)
    if fused:
        assert report("row sums", gradient.sum(-1), np.zeros(len(gradient))) <= 1e-6


@both_forms
def test_clamp_comes_before_weights_and_mean(form):
    batch = random_batch(LENGTHS, V=7)
    layout = batch.layout(padded=False)
    _, unit = rnnt_loss_reference(*layout, clamp=0.01)
    assert np.abs(unit).max() == 0.01
    _, gradient = loss_and_gradient(tensors(layout), weights=-8.0, form=form, clamp=0.01)
    assert report("gradient", gradient, unit * -8 / len(LENGTHS)) <= 4e-6


@both_forms
def test_loss_is_never_negative(form):
    for seed in range(5):
        batch = random_batch([(4, 2), (1, 3), (9, 1)], V=3, seed=seed, scale=20)
        loss, _ = loss_and_gradient(
            tensors(batch.layout(padded=False)), form=form, reduction="none"
        )
        assert (loss >= 0).all()


@both_forms
def test_gradient_scales_with_the_loss(form):
    """Other bindings lose loss scale and weights. Zero gives exact zeros."""
    layout = random_batch([(5, 3), (4, 2)], V=7).layout(padded=False)
    _, unit = rnnt_loss_reference(*layout)
    factors = np.repeat([1.0, -3.0], [20, 12])[:, None]
    for scale in (1.0, 7.0, -2.0, 0.0):
        weights = [scale, -3.0 * scale]
        _, gradient = loss_and_gradient(
            tensors(layout), weights=weights, form=form, reduction="none"
        )
        assert report(f"x {scale}", gradient, scale * factors * unit) <= 5e-5
        assert scale != 0 or (gradient == 0).all()
