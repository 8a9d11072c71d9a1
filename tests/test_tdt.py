# SPDX-License-Identifier: Apache-2.0
"""tdt_loss and TDTLoss against float64, in every layout and mode."""

import mindspore as ms
import numpy as np
import pytest
from calls import tensors
from mindspore import Tensor, nn
from modes import MODES, refuse_double_backward, run_gradient
from oracles import LAYOUTS, TOLERANCE, random_batch, report, round_to
from tdt import DURATION_SETS, SMALL, TdtBatch

from mindspore_rnnt import TDTLoss, split_tdt_logits, tdt_loss
from mindspore_rnnt.duration_head import duration_grad, duration_log_probs
from mindspore_rnnt.kernels import get_ops
from mindspore_rnnt.native import pack_params
from mindspore_rnnt.reference import tdt_loss_reference

LENGTHS = [(6, 3), (4, 2), (3, 4), (5, 0)]
DURATIONS = (0, 1, 2)
SOME = ("pynative", "graph_dynamic")


class Case(TdtBatch):
    def run(self, padded, mode="pynative", weights=1.0, function=tdt_loss, **options):
        """Losses, and gradients of both heads."""
        options = {"reduction": "none"} | options
        inputs = self.inputs(padded)
        options |= {"durations": self.durations, "blank": self.blank}
        loss, _, *gradients = run_gradient(function, inputs, (0, 1), mode, weights, **options)
        return loss, *gradients


def check(got, expected):
    loss, scale = expected[0], np.maximum(np.where(np.isfinite(expected[0]), expected[0], 1), 1)
    assert report("loss, relative", got[0] / scale, loss / scale) <= 1e-6
    for what, a, b in zip(("tokens", "durations"), got[1:], expected[1:]):
        assert report(what, a, b) <= TOLERANCE["gradient"]["float32"]


@LAYOUTS
@pytest.mark.parametrize("mode", MODES)
def test_all_modes(mode, padded):
    case, weights = Case(LENGTHS, DURATIONS, V=9, blank=2), np.array([0.5, 0, -2, 1])
    loss, *gradients = case.reference(padded, sigma=0.05)
    expected = loss, *(case.batch.per_row(weights, g) * g for g in gradients)
    check(case.run(padded, mode, weights, sigma=0.05), expected)


@pytest.mark.parametrize("durations", DURATION_SETS, ids=str)
def test_any_durations(durations):
    """The reference is compared with all paths of these lattices in test_tdt_reference.py."""
    case = Case(SMALL, durations, V=5)
    check(case.run(False, sigma=0.05), case.reference(False, sigma=0.05))


@LAYOUTS
@pytest.mark.parametrize(
    "options",
    [{"sigma": 0.3}, {"fastemit_lambda": 0.5}, {"clamp": 0.05}, {"clamp": 0.05, "sigma": 1.0}],
    ids=str,
)
def test_options(options, padded):
    case = Case([(12, 5), (3, 0), (30, 9)], (0, 1, 2, 3, 4))
    check(case.run(padded, **options), case.reference(padded, **options))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_reductions(reduction):
    case = Case(LENGTHS, DURATIONS)
    check(case.run(True, reduction=reduction), case.reference(True, reduction=reduction))


@LAYOUTS
@pytest.mark.parametrize("of_tokens", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("of_durations", ["float32", "float16", "bfloat16"])
def test_dtypes(of_tokens, of_durations, padded):
    case = Case(LENGTHS, DURATIONS, V=50)
    case.batch = random_batch(LENGTHS, 50, dtype=of_tokens)
    case.heads = [round_to(head, of_durations) for head in case.heads]
    logits, head, *ints = case.inputs(padded)
    inputs = (*tensors((logits,), of_tokens), *tensors((head,), of_durations), *map(Tensor, ints))
    options = {"durations": DURATIONS, "reduction": "none"}
    loss, _, *gradients = run_gradient(tdt_loss, inputs, (0, 1), **options)
    expected = case.reference(padded)
    assert report("loss", loss / expected[0], np.ones(len(loss))) <= 1e-6
    for dtype, a, b in zip((of_tokens, of_durations), gradients, expected[1:]):
        assert report(dtype, a, b) <= TOLERANCE["gradient"][dtype]


def test_a_large_batch():
    case = Case([(150, 30), (90, 41), (70, 0)], (0, 1, 2, 3, 4), V=100)
    check(case.run(False), case.reference(False))


@pytest.mark.parametrize("mode", SOME)
def test_padding_gives_exact_zero(mode):
    case = Case(LENGTHS, DURATIONS)
    for gradient in case.run(True, mode)[1:]:
        padding = gradient[~case.mask]
        assert len(padding) and (padding == 0).all() and np.isfinite(gradient).all()


@LAYOUTS
@pytest.mark.parametrize("mode", SOME)
@pytest.mark.parametrize(
    ("durations", "T", "U"), [((2,), 3, 0), ((1,), 3, 3), ((1,), 3, 4), ((5, 0), 4, 1)], ids=str
)
def test_no_path(durations, T, U, mode, padded):
    """Infinite, or 0; the gradient is 0, and the other sample is as it is alone."""
    case = Case([(T, U), (10, 1)], durations)
    check(case.run(padded, mode), case.reference(padded))
    loss, *gradients = case.run(padded, mode, zero_infinity=True)
    assert loss[0] == 0
    for gradient in gradients:
        assert (gradient[0 if padded else slice(T * (U + 1))] == 0).all()


@LAYOUTS
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("head", ["tokens", "durations"])
def test_a_bad_sample_is_alone_and_an_upstream_gradient_of_0_drops_it(head, value, padded):
    case = Case(LENGTHS, DURATIONS)
    good = case.run(padded)
    (case.batch.samples if head == "tokens" else case.heads)[1][2, 1, 0] = value
    rows = [0, *np.cumsum([T * (U + 1) for T, U in LENGTHS])]
    bad = 1 if padded else slice(rows[1], rows[2])
    for mode in SOME:
        loss, *gradients = case.run(padded, mode)
        assert np.isnan(loss).tolist() == [False, True, False, False]
        dropped = case.run(padded, mode, weights=np.array([1.0, 0, 1, 1]))
        cells = case.mask[1] if padded else slice(None)
        for a, b, c in zip(gradients, dropped[1:], good[1:]):
            assert np.isnan(a[bad][cells]).all() and (b[bad] == 0).all()
            for x in (a, b):
                x[bad] = c[bad]
                assert (x == c).all()


@LAYOUTS
@pytest.mark.parametrize("mode", SOME)
@pytest.mark.parametrize("label", [-2, 7])
def test_an_unchecked_bad_label_costs_its_sample_only(label, mode, padded):
    case = Case(LENGTHS, DURATIONS)
    good = case.run(padded, mode)
    case.batch.labels[1][1] = label
    loss, *gradients = case.run(padded, mode, validate=False)
    assert np.isnan(loss[1]) and (loss[[0, 2, 3]] == good[0][[0, 2, 3]]).all()
    for gradient, other in zip(gradients, good[1:]):
        rows = slice(24, 36)
        bad = gradient[1] if padded else gradient[rows]
        assert (bad == 0).all()
        keep = [0, 2, 3] if padded else slice(0, 24)
        assert (gradient[keep] == other[keep]).all()


@pytest.mark.parametrize("place, value", [(3, 99), (3, 0), (3, -(2**31)), (4, 9), (4, -1)])
@LAYOUTS
def test_unchecked_bad_lengths_are_harmless(padded, place, value):
    case = Case(LENGTHS, DURATIONS)
    inputs = [x.copy() for x in case.inputs(padded)]
    inputs[place][1] = value
    options = {"durations": DURATIONS, "reduction": "none", "validate": False}
    for mode in SOME:
        loss, _, *gradients = run_gradient(tdt_loss, inputs, (0, 1), mode, **options)
        assert np.isnan(loss[1]) and (padded or np.isnan(loss).all())
        for gradient in gradients:
            assert (gradient[1] == 0).all() if padded else (gradient == 0).all()


def test_a_blank_label_has_paths_that_coincide():
    """The loss may be below 0 there, and is not cut."""
    logits = np.full((1, 2, 2, 2), -20, np.float32)
    logits[..., 1] = 20
    head = np.zeros((1, 2, 2, 1), np.float32)
    ints = np.ones((1, 1), np.int32), np.array([2], np.int32), np.array([1], np.int32)
    expected = tdt_loss_reference(logits, head, *ints, (1,), reduction="none")
    options = {"durations": (1,), "reduction": "none"}
    got = run_gradient(tdt_loss, (logits, head, *ints), (0, 1), **options)
    assert report("loss", got[0], expected[0]) <= 1e-6
    assert report("tokens", got[2], expected[1]) <= 2e-6


@pytest.mark.parametrize("mode", MODES)
def test_one_output_with_both_heads(mode):
    """As NeMo's joint network writes them; its gradient is that of both parts side by side."""
    case = Case(LENGTHS, DURATIONS)
    logits, head, *ints = case.inputs(True)

    def of_one(joint, targets, logit_lengths, target_lengths):
        heads = split_tdt_logits(joint, 3)
        lengths = logit_lengths, target_lengths
        return tdt_loss(*heads, targets, *lengths, durations=(0, 1, 2), reduction="none")

    joint = np.concatenate([logits, head], -1)
    loss, _, gradient = run_gradient(of_one, (joint, *ints), (0,), mode)
    check((loss, gradient[..., :7], gradient[..., 7:]), case.reference(True))


@LAYOUTS
@pytest.mark.parametrize("mode", SOME)
def test_the_cell_has_the_bits_of_the_function(mode, padded):
    case = Case(LENGTHS, DURATIONS)
    options = {"sigma": 0.1, "fastemit_lambda": 0.2, "clamp": 0.3, "reduction": "none"}
    expected = case.run(padded, mode, **options)
    cell = TDTLoss(DURATIONS, **options)
    got = run_gradient(cell, case.inputs(padded), (0, 1), mode)
    for a, b in zip((got[0], *got[2:]), expected):
        assert (a == b).all()


def test_mixed_precision_of_a_cell_around_it():
    """to_float casts no statistics and no loss."""
    case = Case(LENGTHS, DURATIONS)
    loss_fn = TDTLoss(DURATIONS, reduction="none")
    expected = loss_fn(*map(Tensor, case.inputs(False)))

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.loss_fn = loss_fn

        def construct(self, *inputs):
            return self.loss_fn(*inputs)

    loss = Net().to_float(ms.float16)(*map(Tensor, case.inputs(False)))
    assert loss.dtype == ms.float32
    assert report("loss", loss.asnumpy(), expected.asnumpy()) <= 0.02


def test_double_backward_is_an_error_and_leaves_the_next_call_right():
    case = Case([(3, 2), (4, 1)], DURATIONS)
    inputs, expected = case.inputs(False), case.reference(False)[1] / 2
    refuse_double_backward(tdt_loss, inputs, "tdt_loss", expected, durations=DURATIONS)


def test_a_gradient_of_0_stays_0_under_an_upstream_gradient_that_is_not_finite():
    """Of a sample without a path; the upstream gradient is infinite for both."""
    case = Case([(3, 4), (5, 1)], (1, 2))

    gradients = case.run(True, weights=np.array([np.inf, np.inf]))[1:]
    for gradient in gradients:
        assert (gradient[0] == 0).all() and (gradient[1][~case.mask[1]] == 0).all()
        assert np.isinf(gradient[1]).any()


@pytest.mark.parametrize("clamp", [-1.0, 0.01])
def test_the_duration_head_as_a_composition(clamp):
    """For a device without its operators."""
    rng = np.random.default_rng(0)
    logits, posteriors = rng.standard_normal((2, 3, 7, 5)).astype(np.float32)
    labels = Tensor(rng.integers(-2, 4, (3, 7)).astype(np.int32))
    coefficients, dloss = rng.random((3, 7, 3)), rng.choice([0, 1, -2.0], (3, 7))
    rest = [Tensor(x, ms.float32) for x in (coefficients, posteriors, dloss)]
    rest += [Tensor(pack_params(clamp=clamp))]
    logits[labels.asnumpy() == -2] = np.nan
    for dtype in (ms.float32, ms.float16):
        x = Tensor(logits).astype(dtype)
        got = duration_log_probs(x, labels), duration_grad(x, labels, *rest)
        of_operators = get_ops().duration_log_probs, get_ops().duration_grad
        expected = of_operators[0](x, labels), of_operators[1](x, labels, *rest)
        for a, b in zip(got, expected):
            assert a.dtype == b.dtype
            limit = 2e-6 if a.dtype == ms.float32 else 1e-3
            assert report("head", a.asnumpy(), b.asnumpy()) <= limit
