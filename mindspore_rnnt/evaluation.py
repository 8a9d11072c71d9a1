# SPDX-License-Identifier: Apache-2.0
"""What rnnt_align and rnnt_posteriors share: row_stats and one operator on the stats, without a
gradient."""

from collections.abc import Callable
from typing import Any, NoReturn

from mindspore import Tensor, nn, ops

from .kernels import get_ops
from .kernels.gradients import refuse_gradient
from .launch import checked_batch, is_compiled, launch, params_tensor


def evaluate(
    phases: "EvaluationPhases",
    named: Callable,
    inputs: tuple[Tensor, Tensor, Tensor, Tensor],
    blank: int,
    fused_log_softmax: bool,
    validate: bool,
) -> Any:
    """What `phases` make of the four `inputs` of rnnt_loss, as a named tuple or, in a graph, as a
    plain one."""
    compiled = is_compiled(ops.clamp)
    options = (blank, -1.0, fused_log_softmax, 0.0, False)
    batch = checked_batch(phases.caller, *inputs, options, validate, compiled)
    results = launch(phases, *batch, params_tensor(options, False))
    return results if compiled else named(*results)


class EvaluationPhases(nn.Cell):
    """A subclass has `results(stats, batch, params)`, in which `batch` is targets, both lengths and
    least_loss (B,): NaN for a sample with a length or label that does not fit."""

    def __init__(self, caller: str) -> None:
        super().__init__()
        self.caller = caller

    def construct(
        self,
        logits: Tensor,
        targets: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        params: Tensor,
    ) -> tuple[Tensor, ...]:
        batch = targets, logit_lengths, target_lengths
        labels, _, least_loss = get_ops().row_labels(logits, *batch, params)
        stats = get_ops().row_stats(logits, labels, params)
        return self.results(stats, (*batch, least_loss), params)

    def bprop(
        self,
        logits: Tensor,
        targets: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        params: Tensor,
        out: Any,
        dout: Any,
    ) -> NoReturn:
        refuse_gradient(self.caller)
