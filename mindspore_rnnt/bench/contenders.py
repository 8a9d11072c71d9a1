# SPDX-License-Identifier: Apache-2.0
"""Who is measured. A contender makes, for a problem, a function that does the whole work once and
waits until it is done; what it keeps is freed with it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from .. import native
from .problems import Problem

OURS = ("two-op", "fused", "evaluation")


def available(peers: list[str]) -> list[str]:
    """Of these, what this machine has."""
    return [peer for peer in peers if peer == "stream" or find_spec(peer)]


def make(contenders: list[str], problem: Problem, threads: int) -> dict[str, Callable[[], None]]:
    """A contender is a peer's name or "<form> <mode>"; all forms of ours read the same tensors."""
    native.set_threads(threads)
    calls, inputs = {}, None
    for contender in contenders:
        if contender in _PEERS:
            calls[contender] = _PEERS[contender](problem, threads)
        else:
            inputs = inputs or our_inputs(problem)
            calls[contender] = _ours(inputs, *contender.split())
    return calls


def memory_bytes(contender: str, problem: Problem) -> int:
    """About the most that a contender holds; half precision is float32 while it is made."""
    if contender == "stream":
        return 2 * problem.bytes
    if contender in _PEERS:  # logits, gradient, gradient times upstream
        return 3 * 4 * problem.padded_entries
    return 3 * 4 * problem.rows * problem.V


def our_inputs(problem: Problem):
    import mindspore as ms

    logits = ms.Tensor(problem.packed()).astype(getattr(ms, problem.dtype))
    ints = (problem.targets, problem.logit_lengths, problem.target_lengths)
    return logits, *(ms.Tensor(x) for x in ints)


def our_call(form: str, mode: str) -> Callable:
    """loss, gradient = call(logits, targets, logit_lengths, target_lengths); or the loss alone."""
    import mindspore as ms

    from .. import rnnt_loss

    fused = form == "fused"

    def loss(logits, targets, logit_lengths, target_lengths):
        return rnnt_loss(
            logits, targets, logit_lengths, target_lengths, reduction="sum", fused_grad=fused
        )

    whole = loss if form == "evaluation" else ms.value_and_grad(loss)
    if mode == "pynative":
        return whole

    def compiled(logits, targets, logit_lengths, target_lengths):
        return whole(logits, targets, logit_lengths, target_lengths)

    return ms.jit(compiled)


def _ours(inputs, form, mode):
    import mindspore as ms

    call = our_call(form, mode)

    def once():
        result = call(*inputs)
        ms.runtime.synchronize()
        return result

    return once


def _torchaudio(problem, threads):
    import torch
    import torchaudio

    if threads:
        torch.set_num_threads(threads)
    logits = torch.from_numpy(problem.padded()).to(getattr(torch, problem.dtype))
    logits.requires_grad_(True)
    ints = (problem.targets, problem.logit_lengths, problem.target_lengths)
    ints = [torch.from_numpy(x) for x in ints]

    def once():
        logits.grad = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torchaudio.functional.rnnt_loss(logits, *ints, reduction="sum").backward()

    return once


def _fast_rnnt(problem, threads):
    import fast_rnnt
    import torch

    if threads:
        torch.set_num_threads(threads)
    logits = torch.from_numpy(problem.padded()).to(getattr(torch, problem.dtype))
    logits.requires_grad_(True)
    symbols = torch.from_numpy(problem.targets).long()
    boundary = torch.zeros((len(problem.lengths), 4), dtype=torch.int64)
    boundary[:, 2] = torch.from_numpy(problem.target_lengths)
    boundary[:, 3] = torch.from_numpy(problem.logit_lengths)

    def once():
        logits.grad = None
        loss = fast_rnnt.rnnt_loss(
            logits, symbols, problem.V - 1, boundary=boundary, reduction="sum"
        )
        loss.backward()

    return once


def _stream(problem, threads):
    """Read S, then read S and write S, into memory that is there: what the bus allows."""
    source = np.ones(problem.bytes, np.uint8)
    target = np.empty_like(source)
    return lambda: native.stream_seconds(source, target)


_PEERS = {"torchaudio": _torchaudio, "fast_rnnt": _fast_rnnt, "stream": _stream}
