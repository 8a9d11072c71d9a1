# SPDX-License-Identifier: Apache-2.0
"""Who is measured. A contender makes, for a problem, a function that does the whole work once and
waits until it is done; what it keeps is freed with it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from math import prod

import numpy as np

from .. import native
from .problems import Problem

PEERS = ("torchaudio", "fast_rnnt")
FORMS = ("two-op", "fused", "evaluation")  # of ours
MODES = ("pynative", "jit")
DTYPES = ("float32", "float16", "bfloat16")


def available(peers: list[str]) -> list[str]:
    """Of these, what this machine has."""
    return [peer for peer in peers if peer == "stream" or find_spec(peer)]


def make(contenders: list[str], problem: Problem, threads: int) -> dict[str, Callable[[], object]]:
    """A contender is a peer's name, "stream" or "<form> <mode>" of ours; all of ours read the same
    tensors."""
    native.set_num_threads(threads)
    calls, inputs = {}, None
    for contender in contenders:
        if is_ours(contender):
            inputs = inputs or our_inputs(problem)
            calls[contender] = caller(our_call(*contender.split()), inputs)
        else:
            calls[contender] = _OTHERS[contender](problem, threads)
    return calls


def is_ours(contender: str) -> bool:
    return contender not in _OTHERS


def memory_bytes(contenders: list[str], problem: Problem) -> int:
    """About the most that they hold together. Ours share their logits and run one at a time, so
    any number of them needs what one does; half precision is float32 while it is made."""
    needs = {"ours": 3 * 4 * problem.rows * problem.V}  # logits, gradient, gradient times upstream
    needs |= dict.fromkeys(PEERS, 3 * 4 * prod(problem.padded_shape))
    needs["stream"] = 2 * problem.bytes
    return sum(needs[name] for name in {"ours" if is_ours(c) else c for c in contenders})


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


def caller(call: Callable, inputs: tuple) -> Callable[[], object]:
    """A call with these inputs that waits for its results."""
    import mindspore as ms

    on_cpu = ms.get_context("device_target") == "CPU"

    def once():
        result = call(*inputs)
        outputs = result if isinstance(result, tuple) else (result,)
        if not on_cpu or any(x.dtype == ms.bfloat16 for x in outputs):  # NumPy cannot read that
            ms.runtime.synchronize()
        else:  # waits asleep, where synchronize() spins on a core that the kernels could use
            for output in outputs:
                output.asnumpy()
        return result

    return once


def _torchaudio(problem, threads):
    import torch
    import torchaudio

    logits = _torch_logits(problem, threads)
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

    logits = _torch_logits(problem, threads)
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


def _torch_logits(problem, threads):
    """For a call with so many threads, or torch's default."""
    import torch

    default = _default_torch_threads()  # of a process that has not set any
    torch.set_num_threads(threads or default)
    return torch.from_numpy(problem.padded()).to(getattr(torch, problem.dtype)).requires_grad_(True)


@cache
def _default_torch_threads():
    import torch

    return torch.get_num_threads()


def _stream(problem, threads):
    """Read S, then read S and write S, into memory that is there: what the bus allows."""
    source = np.ones(problem.bytes, np.uint8)
    target = np.empty_like(source)
    return lambda: native.stream_seconds(source, target)


_OTHERS = {"torchaudio": _torchaudio, "fast_rnnt": _fast_rnnt, "stream": _stream}
