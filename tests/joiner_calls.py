# SPDX-License-Identifier: Apache-2.0
"""The losses with a joiner: batches, and what `modes.gradients` gives of them in float64."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn
from oracles import UNREAD_LABELS, rnnt_loss_reference

from mindspore_rnnt import (
    JoinerRNNTLoss,
    JoinerTDTLoss,
    PackedJoiner,
    PrunedRNNTLoss,
    RNNTLoss,
    packed_indices,
    tdt_loss,
)
from mindspore_rnnt.reference import tdt_loss_reference

DE, DP, J = 6, 5, 8
LENGTHS = [(6, 3), (4, 2), (3, 4)]
WEIGHTS = [1.0, -3.0, 0.5]


def budget(rows, entries):
    """Bytes for this many rows in flight; entries are classes and durations."""
    return 4 * (2 * entries + 8 * J) * rows


def joiner_of(V, activation="relu", durations=()):
    ms.set_seed(0)
    return PackedJoiner(DE, DP, J, V, activation, len(durations))


class OneOutput(nn.Cell):
    """A joiner with one output layer: its rows are the classes, then the durations."""

    def __init__(self, entries):
        super().__init__()
        ms.set_seed(0)
        self.encoder_proj = nn.Dense(DE, J)
        self.predictor_proj = nn.Dense(DP, J, has_bias=False)
        self.activation = nn.ReLU()
        self.output = nn.Dense(J, entries)


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


class Plain(nn.Cell):
    """The unchunked path."""

    def __init__(self, joiner, durations=(), **options):
        super().__init__()
        self.joiner, self.durations, self.options = joiner, durations, options
        self.loss_fn = None if durations else RNNTLoss(**options)

    def construct(
        self, encoder_out, predictor_out, targets, logit_lengths, target_lengths, frames, labels
    ):
        logits = self.joiner(encoder_out, predictor_out, frames, labels)
        batch = targets, logit_lengths, target_lengths
        if self.durations:
            return tdt_loss(*logits, *batch, self.durations, **self.options)
        return self.loss_fn(logits, *batch)


@dataclass(frozen=True)
class Kind:
    """A loss with a joiner; `form` is that of joiner_peak.py."""

    loss: type
    durations: tuple = ()
    form: str = ""

    def __str__(self):
        return self.loss.__name__

    def joiner(self, V, activation="relu"):
        return joiner_of(V, activation, self.durations)

    def batch(self, lengths, V, seed=0):
        batch = joiner_batch(lengths, V, seed)
        return batch[:5] if self.loss is PrunedRNNTLoss else batch

    def __call__(self, joiner, V, rows=20, **options):
        """The loss of this joiner of V classes, with `rows` rows in flight."""
        memory_budget = budget(rows, V + len(self.durations))
        if self.loss is PrunedRNNTLoss:
            options |= {"vocab_size": V, "prune_range": 3}
        elif self.durations:
            options |= {"durations": self.durations}
        return self.loss(joiner, memory_budget=memory_budget, **options)

    def reference(self, joiner, batch, weights=1.0, **options):
        return reference(joiner, batch, weights, self.durations, **options)


RNNT = Kind(JoinerRNNTLoss, form="chunked")
TDT = Kind(JoinerTDTLoss, (0, 1, 2), "chunked_tdt")
PRUNED = Kind(PrunedRNNTLoss)


def reference(joiner, batch, weights, durations=(), **options):
    """What `modes.gradients` returns, in float64; for a joiner with relu and biases."""
    encoder_out, predictor_out, targets, T, U, frame_rows, step_rows = batch
    We, be, Wp, *heads = (p.asnumpy().astype(np.float64) for p in joiner.trainable_params())
    Wo, bo = np.concatenate(heads[0::2]), np.concatenate(heads[1::2])
    enc, pred = encoder_out.reshape(-1, DE), predictor_out.reshape(-1, DP)
    frames, steps = enc @ We.T + be, pred @ Wp.T
    hidden = np.maximum(frames[frame_rows] + steps[step_rows], 0)
    logits, options = hidden @ Wo.T + bo, {"reduction": "none"} | options
    if durations:
        V = logits.shape[1] - len(durations)
        of_heads = logits[:, :V], logits[:, V:]
        losses, *of_heads = tdt_loss_reference(*of_heads, targets, T, U, durations, **options)
        dlogits = np.concatenate(of_heads, axis=1)
    else:
        losses, dlogits = rnnt_loss_reference(logits, targets, T, U, **options)
    weights = np.broadcast_to(weights, losses.shape)
    dlogits *= weights[step_rows // predictor_out.shape[1], None]
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
