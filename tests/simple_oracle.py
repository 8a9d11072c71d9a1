# SPDX-License-Identifier: Apache-2.0
"""Batches of the simple joiner; its loss in float64 torch, differentiated automatically."""

import numpy as np
import torch
from oracles import round_to

from mindspore_rnnt.reference import rnnt_loss_simple_reference


def simple_batch(V=9, seed=0, extra=1, dtype="float32"):
    """am, lm, targets, lengths; `extra` frames and steps of padding, which is NaN."""
    rng = np.random.default_rng(seed)
    T, U = np.array([7, 3, 5], np.int32), np.array([2, 4, 0], np.int32)
    am = rng.normal(size=(3, 7 + extra, V)).astype(np.float32) * 2
    lm = rng.normal(size=(3, 5 + extra, V)).astype(np.float32)
    for b in range(3):
        am[b, T[b] :], lm[b, U[b] + 1 :] = np.nan, np.nan
    targets = np.resize(np.array((99999, -1, -100), np.int32), (3, 4 + extra))
    for b in range(3):
        targets[b, : U[b]] = rng.integers(0, V - 1, U[b])
    return round_to(am, dtype), round_to(lm, dtype), targets, T, U


def peaked_batch():
    """am and lm peak at different classes, in all cells, in some, and in none."""
    am, lm, targets, T, U = simple_batch(extra=0)
    am[0] = lm[0] = 0
    am[0, :, 3], lm[0, :, 5] = 100, 100
    am[1, 1, 2], lm[1, 1:3, 4] = 90, 80
    return am, lm, targets, T, U


def simple_gradients(am, lm, targets, T, U, weights, blank=-1, lm_only_scale=0, am_only_scale=0):
    """Losses (B,), and the gradients of sum(weights * losses) with respect to am and lm."""
    scales = lm_only_scale, am_only_scale
    am, lm = (torch.tensor(np.float64(x), requires_grad=True) for x in (am, lm))
    losses = [
        _loss(am[b, : T[b]], lm[b, : U[b] + 1], targets[b, : U[b]], blank, *scales)
        for b in range(len(T))
    ]
    losses = torch.stack(losses)
    (losses * torch.tensor(np.float64(weights))).sum().backward()
    values, _, _ = rnnt_loss_simple_reference(
        *(x.detach() for x in (am, lm)),
        targets,
        T,
        U,
        blank,
        lm_only_scale=lm_only_scale,
        am_only_scale=am_only_scale,
    )
    assert np.abs(values - losses.detach().numpy()).max() < 1e-10
    return values, am.grad.numpy(), lm.grad.numpy()


def _loss(am, lm, labels, blank, lm_only, am_only):
    scores = 0
    if lm_only + am_only < 1:
        combined = torch.log_softmax(am[:, None] + lm[None], -1)
        scores = scores + (1 - lm_only - am_only) * combined
    if lm_only:
        scores = scores + lm_only * torch.log_softmax(lm, -1)[None].expand(len(am), -1, -1)
    if am_only:
        log_mean = torch.logsumexp(torch.log_softmax(lm, -1), 0) - np.log(len(lm))
        alone = torch.log_softmax(am + log_mean, -1)[:, None].expand(-1, len(lm), -1)
        scores = scores + am_only * alone
    alpha = {(0, 0): torch.zeros((), dtype=torch.float64)}
    for t in range(len(am)):
        for u in range(len(lm)):
            arrivals = []
            if t:
                arrivals.append(alpha[t - 1, u] + scores[t - 1, u, blank])
            if u:
                arrivals.append(alpha[t, u - 1] + scores[t, u - 1, int(labels[u - 1])])
            if arrivals:
                alpha[t, u] = torch.logsumexp(torch.stack(arrivals), 0)
    return -(alpha[len(am) - 1, len(lm) - 1] + scores[-1, -1, blank])
