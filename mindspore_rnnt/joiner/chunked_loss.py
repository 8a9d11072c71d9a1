# SPDX-License-Identifier: Apache-2.0
"""A loss of a joiner on packed rows, without the logits: checks, chunked phases, reduction."""

import math
from collections.abc import Sequence
from typing import Any

import mindspore as ms
from mindspore import Tensor, ops

from ..kernels.recorder import in_given_precision
from ..launch import as_int32, dtypes_and_shapes, is_compiled, reduce_losses
from ..row_labels import step_labels
from .checks import LOSS_INPUTS, check_batch, check_tensors
from .protocol import OwnsJoiner
from .rows import rows_belong


class ChunkedLoss(OwnsJoiner):
    """What JoinerRNNTLoss and JoinerTDTLoss share. They set `phases`, which give the loss of each
    sample first, and `described`, their options."""

    def construct(
        self,
        encoder_out: Tensor,
        predictor_out: Tensor,
        targets: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        frame_rows: Tensor,
        step_rows: Tensor,
    ) -> Tensor:
        batch = (targets, logit_lengths, target_lengths, frame_rows, step_rows)
        inputs = (encoder_out, predictor_out, *batch)
        dtypes, shapes = dtypes_and_shapes(self.caller, LOSS_INPUTS, inputs)
        _check_tensors(self.caller, dtypes, shapes, self.widths)
        if is_compiled(ops.clamp):
            return self.loss(*inputs)
        if self.validate:
            sizes = encoder_out.shape[1], predictor_out.shape[1] - 1, self.classes
            check_batch(self.caller, *sizes, *[x.asnumpy() for x in batch])
        return in_given_precision(self.loss, *inputs)

    def extend_repr(self) -> str:
        return f"{self.described}, reduction={self.reduction!r}, validate={self.validate}"

    def loss(
        self,
        encoder_out: Tensor,
        predictor_out: Tensor,
        targets: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        frame_rows: Tensor,
        step_rows: Tensor,
    ) -> Tensor:
        frames, steps, weight = self.joined(encoder_out, predictor_out)
        target_lengths = as_int32(target_lengths)
        max_u1 = predictor_out.shape[1]
        labels, labels_fit = step_labels(as_int32(targets), target_lengths, self.classes, max_u1)
        frame_rows, step_rows = as_int32(frame_rows), as_int32(step_rows)
        good = rows_belong(encoder_out.shape, predictor_out.shape, frame_rows, step_rows)
        losses, _, _ = self.phases(
            frames,
            steps,
            weight,
            labels.reshape((-1,)),
            ops.where(good, frame_rows, 0),
            ops.where(good, step_rows, 0),
            as_int32(logit_lengths),
            target_lengths,
        )
        fits = ops.logical_and(labels_fit, good)
        losses = ops.select(fits, losses, ops.full_like(losses, math.nan))
        return reduce_losses(losses, self.reduction)


@ms.constexpr(check=False)
def _check_tensors(
    caller: str, dtypes: Sequence[Any], shapes: Sequence[Any], widths: tuple[int, int]
) -> None:
    check_tensors(caller, dtypes, shapes, *widths)
