# SPDX-License-Identifier: Apache-2.0
"""Inputs of RnntTdtLattice made by NumPy, and what it must make of them in float64."""

import numpy as np
from oracles import random_batch, report
from tdt import duration_logits
from twin import kernel_on_twin as twin

from mindspore_rnnt.reference.tdt import tdt_posteriors

OUTPUTS = ("loss", "coefficients", "duration_posteriors")
LOSS, POSTERIOR = 1e-6, 2e-6  # relative; absolute
SUM = 3.0  # row_sum of every row
LOG_SUM = np.log(SUM)


class TdtProblem:
    """A batch with random heads. `tokens` has the log-probs of blank and label of each sample,
    `heads` those of the durations, float64; changes to them and to `T` and `U` count."""

    def __init__(self, lengths, durations, seed=0, scale=1.0):
        batch = random_batch(lengths, 6, seed, scale=scale)
        self.durations = durations
        self.T, self.U = batch.logit_lengths, batch.target_lengths
        self.shapes = [sample.shape[:2] for sample in batch.samples]
        self.tokens, self.heads = [], []
        for sample, labels in zip(batch.samples, batch.labels):
            log_probs = log_softmax(sample)
            label = np.full(log_probs.shape[:2], -np.inf)
            columns = np.arange(len(labels))
            label[:, :-1] = log_probs[:, columns, labels]
            gaps = np.stack([log_probs[..., -1], label], -1) + LOG_SUM
            self.tokens.append(rounded(gaps) - LOG_SUM)
            head = duration_logits(sample.shape[:2], len(durations), seed)
            self.heads.append(rounded(log_softmax(scale * head)))

    def inputs(self, padded=False, fill=np.nan):
        """Stats (.., 4) and log-probs (.., D). Padding holds `fill`."""
        stats = []
        for tokens in self.tokens:
            row = np.broadcast_to([0.5, SUM], tokens.shape)
            stats.append(np.concatenate([row, tokens + LOG_SUM], -1))
        return [self.layout(rows, padded, fill) for rows in (stats, self.heads)]

    def layout(self, samples, padded=False, fill=0.0):
        width = samples[0].shape[-1]
        if not padded:
            rows = [sample.reshape(-1, width) for sample in samples]
            return np.concatenate(rows).astype(np.float32)
        frames, cells = (max(sizes) + 1 for sizes in zip(*self.shapes))
        whole = np.full((len(samples), frames, cells, width), fill, np.float32)
        for plane, sample in zip(whole, samples):
            plane[: sample.shape[0], : sample.shape[1]] = sample
        return whole

    def run(self, padded=False, **options):
        result = twin.tdt_lattice(*self.inputs(padded), self.T, self.U, self.durations, **options)
        return [result.outputs[name] for name in OUTPUTS]

    def expected(self, padded=False, sigma=0.0, fastemit_lambda=0.0):
        losses, coefficients, posteriors = [], [], []
        for tokens, head in zip(self.tokens, self.heads):
            with np.errstate(invalid="ignore"):
                blank, label = (tokens[..., i, None] + head - sigma for i in range(2))
            if not ((head < np.inf).all() and (tokens < np.inf).all()):
                loss, blank, label = np.nan, blank * np.nan, label * np.nan
            else:
                loss, blank, label = tdt_posteriors(blank, label, self.durations)
            label = label * (1 + fastemit_lambda)
            sums = [blank.sum(-1), label.sum(-1)]
            losses.append(loss)
            coefficients.append(np.stack([sum(sums), *sums], -1))
            posteriors.append(blank + label)
        return [np.array(losses), *(self.layout(x, padded) for x in (coefficients, posteriors))]

    def check(self, padded=False, tolerance=1.0, **options):
        """The launch against float64, `tolerance` times the usual limits."""
        expected_options = {
            name: options[name] for name in ("sigma", "fastemit_lambda") if name in options
        }
        got, expected = self.run(padded, **options), self.expected(padded, **expected_options)
        scale = np.where(np.isfinite(expected[0]), np.maximum(np.abs(expected[0]), 1), 1)
        error = report("loss, relative", got[0] / scale, expected[0] / scale)
        assert error <= tolerance * LOSS
        for name, one, other in zip(OUTPUTS[1:], got[1:], expected[1:]):
            assert report(name, one, other) <= tolerance * POSTERIOR
        return got


def rounded(values):
    """What float32 holds of them, so that the kernel gets the same numbers."""
    return values.astype(np.float32).astype(np.float64)


def log_softmax(logits):
    shifted = np.asarray(logits, np.float64)
    shifted = shifted - shifted.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def same(one, other):
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other))
