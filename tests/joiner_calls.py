# SPDX-License-Identifier: Apache-2.0
"""JoinerRNNTLoss and JoinerTDTLoss: batches, their gradients in every mode, and the same in float64
NumPy."""

import subprocess
import sys
from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn
from oracles import UNREAD_LABELS, rnnt_loss_reference

from mindspore_rnnt import PackedJoiner, RNNTLoss, packed_indices, tdt_loss
from mindspore_rnnt.reference import tdt_loss_reference

DE, DP, J = 6, 5, 8
LENGTHS = [(6, 3), (4, 2), (3, 4)]
ROWS = 51
WEIGHTS = [1.0, -3.0, 0.5]
MODES = ("pynative", "jit", "graph", "graph_dynamic")
RESULTS = (
    "loss",
    "encoder_out",
    "predictor_out",
    "encoder weight",
    "encoder bias",
    "predictor weight",
    "output weight",
    "output bias",
    "durations weight",
    "durations bias",
)


def budget(rows, entries):
    """Bytes for this many rows in flight; entries are classes and durations."""
    return 4 * (2 * entries + 8 * J) * rows


def joiner_of(V, activation="relu", durations=()):
    ms.set_seed(0)
    return PackedJoiner(DE, DP, J, V, activation, len(durations))


def joiner_batch(lengths, V, seed=0, extra=1):
    """The seven inputs as NumPy arrays, with `extra` frames and labels of padding."""
    rng = np.random.default_rng(seed)
    T, U = (np.array(x, np.int32) for x in zip(*lengths))
    B, max_t, max_u = len(T), T.max() + extra, U.max() + extra
    targets = np.resize(np.array(UNREAD_LABELS, np.int32), (B, max_u))
    for row, u in zip(targets, U):
        row[:u] = rng.integers(1, V, u)
    encoder_out = rng.standard_normal((B, max_t, DE)).astype(np.float32)
    predictor_out = rng.standard_normal((B, max_u + 1, DP)).astype(np.float32)
    return encoder_out, predictor_out, targets, T, U, *packed_indices(T, U, max_t, max_u)


def gradients(net, batch, mode="pynative", weights=1.0):
    """[loss, gradients of encoder_out, predictor_out and every parameter] of the weighted sum."""
    inputs = [Tensor(x) for x in batch]
    step = Step(net, weights)
    if mode == "pynative":
        return flat(step(*inputs))
    if mode == "jit":

        def call(a, b, c, d, e, f, g):
            return step(a, b, c, d, e, f, g)

        return flat(ms.jit(call)(*inputs))
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        if mode == "graph_dynamic":
            set_dynamic(step, inputs)
        return flat(step(*inputs))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def set_dynamic(cell, inputs):
    """No size is known but those of the features."""
    shapes = [(None,) * (x.ndim - 1) + (x.shape[-1] if x.ndim == 3 else None,) for x in inputs]
    cell.set_inputs(*(Tensor(shape=s, dtype=x.dtype) for s, x in zip(shapes, inputs)))


def flat(result):
    loss, (of_inputs, of_parameters) = result
    return [x.astype(ms.float32).asnumpy() for x in (loss, *of_inputs, *of_parameters)]


class Step(nn.Cell):
    def __init__(self, net, weights=1.0):
        super().__init__()
        weights = Tensor(weights, ms.float32)
        self.value_and_grad = ms.value_and_grad(
            _Weighted(net, weights), (0, 1), ms.ParameterTuple(net.trainable_params())
        )

    def construct(self, a, b, c, d, e, f, g):
        return self.value_and_grad(a, b, c, d, e, f, g)


class _Weighted(nn.Cell):
    def __init__(self, net, weights):
        super().__init__()
        self.net = net
        self.weights = weights

    def construct(self, a, b, c, d, e, f, g):
        return (self.net(a, b, c, d, e, f, g) * self.weights).sum()


class Plain(nn.Cell):
    """The unchunked path."""

    def __init__(self, joiner, **options):
        super().__init__()
        self.joiner = joiner
        self.loss_fn = RNNTLoss(**options)

    def construct(
        self, encoder_out, predictor_out, targets, logit_lengths, target_lengths, frames, labels
    ):
        logits = self.joiner(encoder_out, predictor_out, frames, labels)
        return self.loss_fn(logits, targets, logit_lengths, target_lengths)


class PlainTDT(nn.Cell):
    """The unchunked path of a joiner that predicts durations."""

    def __init__(self, joiner, durations, **options):
        super().__init__()
        self.joiner, self.durations, self.options = joiner, durations, options

    def construct(
        self, encoder_out, predictor_out, targets, logit_lengths, target_lengths, frames, labels
    ):
        heads = self.joiner(encoder_out, predictor_out, frames, labels)
        lengths = logit_lengths, target_lengths
        return tdt_loss(*heads, targets, *lengths, self.durations, **self.options)


def reference(joiner, batch, weights, durations=None, **options):
    """What `gradients` returns, in float64; for a joiner with relu and biases."""
    encoder_out, predictor_out, targets, T, U, frame_rows, step_rows = batch
    We, be, Wp, *heads = (p.asnumpy().astype(np.float64) for p in joiner.trainable_params())
    Wo, bo = np.concatenate(heads[0::2]), np.concatenate(heads[1::2])
    enc, pred = encoder_out.reshape(-1, DE), predictor_out.reshape(-1, DP)
    frames, steps = enc @ We.T + be, pred @ Wp.T
    hidden = np.maximum(frames[frame_rows] + steps[step_rows], 0)
    logits, options = hidden @ Wo.T + bo, {"reduction": "none"} | options
    if durations is None:
        losses, dlogits = rnnt_loss_reference(logits, targets, T, U, **options)
    else:
        V = logits.shape[1] - len(durations)
        of_heads = logits[:, :V], logits[:, V:]
        losses, *of_heads = tdt_loss_reference(*of_heads, targets, T, U, durations, **options)
        dlogits = np.concatenate(of_heads, axis=1)
    dlogits *= np.asarray(weights)[step_rows // predictor_out.shape[1], None]
    dsum = dlogits @ Wo * (hidden > 0)
    dframes, dsteps = np.zeros_like(frames), np.zeros_like(steps)
    np.add.at(dframes, frame_rows, dsum)
    np.add.at(dsteps, step_rows, dsum)
    of_heads = []
    for columns in np.split(dlogits, np.cumsum([len(b) for b in heads[1::2]])[:-1], axis=1):
        of_heads += columns.T @ hidden, columns.sum(0)
    return [
        losses @ weights,
        (dframes @ We).reshape(encoder_out.shape),
        (dsteps @ Wp).reshape(predictor_out.shape),
        dframes.T @ enc,
        dframes.sum(0),
        dsteps.T @ pred,
        *of_heads,
    ]


def peak_in_logits(form, mode):
    """Peak memory of `joiner_peak.py` on 40 000 rows, in units of the logits that are not held."""
    child = Path(__file__).with_name("joiner_peak.py")
    command = [sys.executable, str(child), form, mode, "40000", "4096", "32", "48MB", "2"]
    out = subprocess.run(command, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    peak, logits, _ = map(float, out.stdout.split()[-3:])
    print(f"{peak / 1e6:.0f} MB beside the inputs, {peak / logits:.3f} of the logits")
    return peak / logits


def refused(loss, options, error, message, **changes):
    """`loss` of `options` on a good batch of 11 classes, but for `changes` of either, raises
    `error` in its own name."""
    names = ("encoder_out", "predictor_out", "targets", "logit_lengths", "target_lengths")
    names += ("frame_rows", "step_rows")
    inputs = dict(zip(names, joiner_batch(LENGTHS, 11)))
    inputs |= {n: x for n, x in changes.items() if n in names}
    options = options | {n: x for n, x in changes.items() if n not in names}
    with pytest.raises(error, match=f"^For '{loss.__name__}', the {message}"):
        loss(**options)(*(Tensor(x) for x in inputs.values()))


def relative_errors(got, expected):
    """In norm, for the loss and each gradient; prints them."""
    assert len(got) == len(expected)
    errors = []
    for name, a, b in zip(RESULTS, got, expected):
        assert np.shape(a) == np.shape(b), name
        errors.append(float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30)))
    print({name: f"{error:.1e}" for name, error in zip(RESULTS, errors)})
    return errors
