# SPDX-License-Identifier: Apache-2.0
"""One update of the weights: gradients of some batches, averaged, clipped, applied if finite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, amp, nn, ops

from ..model.conformer import BRANCHES
from ..model.transducer import INPUTS, Transducer
from ..settings import Config
from .parallel import Group, MeanOverRanks
from .schedule import WarmupCosine

SCALE_FACTOR, SCALE_WINDOW = 2, 1000  # loss scaling: halve at overflow, double after so many


@dataclass(frozen=True)
class Update:
    """What an update did; one that met a value that is not finite changed nothing."""

    loss: float
    norm: float  # of the gradient, before clipping
    applied: bool


class TrainStep:
    """Gradients are compiled once for each padded shape, or with train.dynamic_shapes for all; the
    number of packed rows is dynamic."""

    def __init__(self, model: Transducer, config: Config, total_updates: int, group: Group):
        self._model, self._config, self._group = model, config, group
        self._clip_norm = config.optim.clip_norm
        self.optimizer = build_optimizer(model, config, total_updates)
        self.scaler = amp.DynamicLossScaler(config.optim.loss_scale, SCALE_FACTOR, SCALE_WINDOW)
        self.shapes: list[tuple] = []  # one compile each
        self.skipped = 0  # updates in a row that met a value that is not finite
        self._mean = MeanOverRanks(self.optimizer.parameters, group)
        self._gradients, self._finish = self._functions(config.train.jit)

    def __call__(self, batches: Sequence[dict], epoch: int, first_step: int) -> Update:
        """`first_step` is the number within the epoch of the first of these batches."""
        scale = float(self.scaler.scale_value.asnumpy())
        loss, gradients = None, None
        for step, batch in enumerate(batches, start=first_step):
            inputs = self._inputs(batch, epoch, step)
            more = self._gradients(*inputs, Tensor(scale, ms.float32))
            if gradients is None:
                loss, gradients = more
            else:
                loss = loss + more[0]
                gradients = tuple(left + right for left, right in zip(gradients, more[1]))
        factor = 1.0 / (scale * len(batches))
        loss, norm, gradients = self._finish(
            loss, ms.mutable(gradients), Tensor(factor, ms.float32)
        )
        update = Update(float(loss), float(norm), bool(np.isfinite(float(norm) + float(loss))))
        self.skipped = 0 if update.applied else self.skipped + 1
        if update.applied:
            self.optimizer(gradients)
        if self._config.optim.loss_scale != 1.0:
            self.scaler.adjust(Tensor(update.applied))
        return update

    def state(self) -> list[Parameter]:
        """All that an update changes: weights, moments, counters and the loss scale."""
        cells = [*self._model.get_parameters(), *self.optimizer.get_parameters()]
        scale = [self.scaler.scale_value, self.scaler.counter]
        return list({item.name: item for item in [*cells, *scale]}.values())

    def _inputs(self, batch: dict, epoch: int, step: int) -> list:
        size, frames, mels = batch["features"].shape
        shape = (size, None if self._config.train.dynamic_shapes else frames, mels)
        if shape not in self.shapes:
            self.shapes.append(shape)
        keep = dropout_factors(self._config, self._group, epoch, step)
        *padded, frame_rows, step_rows = (Tensor(batch[name]) for name in INPUTS)
        return [
            ms.mutable(tuple(padded)),
            frame_rows,
            step_rows,
            None if keep is None else Tensor(keep),
        ]

    def _functions(self, jit: bool) -> tuple:
        model, mean, clip_norm = self._model, self._mean, self._clip_norm

        def scaled_loss(padded, frame_rows, step_rows, keep, scale):
            return model(*padded, frame_rows, step_rows, keep) * scale

        differentiate = ms.value_and_grad(scaled_loss, None, self.optimizer.parameters)

        def gradients(padded, frame_rows, step_rows, keep, scale):
            return differentiate(padded, frame_rows, step_rows, keep, scale)

        def finish(loss, gradients, factor):
            loss, gradients = mean(loss, gradients)
            loss = loss * factor
            squares = 0.0
            for gradient in gradients:
                squares = squares + ops.square(gradient * factor).sum()
            norm = ops.sqrt(squares)
            if clip_norm > 0:
                factor = factor * ops.clip_by_value(clip_norm / (norm + 1e-6), 0.0, 1.0)
            scaled = ()
            for gradient in gradients:
                scaled = (*scaled, gradient * factor)
            return loss, norm, scaled

        if not jit:
            return gradients, finish
        dynamic = ms.enable_dynamic(**_free_shapes(self._config))
        return dynamic(ms.jit(gradients)), ms.jit(finish)


def _free_shapes(config: Config) -> dict:
    """The inputs of a compiled gradient whose shapes are free: None is any size."""
    size, mels = config.train.batch_size, config.features.mels

    def whole(*shape: int | None) -> Tensor:
        return Tensor(shape=list(shape), dtype=ms.int32)

    shapes: dict = {"frame_rows": whole(None), "step_rows": whole(None)}
    if config.train.dynamic_shapes:
        features = Tensor(shape=[size, None, mels], dtype=ms.float32)
        shapes["padded"] = (features, whole(size), whole(size), whole(size, None), whole(size))
    return shapes


def dropout_factors(config: Config, group: Group, epoch: int, step: int) -> np.ndarray | None:
    """(4 blocks, B, 1, D): 0 or 1 / (1 - p), one mask for all frames of an utterance.

    Made here from (seed, epoch, step), so that no generator's state has to be saved, a resumed
    run draws the same, and ranks draw their parts of what one process would.
    """
    model, size = config.model, config.train.batch_size
    if model.dropout == 0:
        return None
    rng = np.random.default_rng([config.train.seed, epoch, step, group.size * size])
    shape = (BRANCHES * model.blocks, group.size * size, 1, model.encoder_dim)
    keep = rng.random(shape, np.float32) >= model.dropout
    mine = keep[:, group.rank * size : (group.rank + 1) * size]
    return mine.astype(np.float32) / np.float32(1 - model.dropout)


def build_optimizer(model: Transducer, config: Config, total_updates: int) -> nn.Optimizer:
    """Adam with the schedule of a run of so many updates."""
    optim, parameters = config.optim, model.trainable_params()
    rate = WarmupCosine(optim, total_updates)
    if optim.weight_decay:
        # Biases and the scales of LayerNorm have one axis; they are no weights to keep small.
        decayed = [item for item in parameters if item.ndim > 1]
        others = [item for item in parameters if item.ndim <= 1]
        groups = [
            {"params": decayed, "weight_decay": optim.weight_decay},
            {"params": others, "weight_decay": 0.0},
            {"order_params": parameters},
        ]
        return nn.AdamWeightDecay(groups, rate, beta2=optim.beta2)
    return nn.Adam(parameters, rate, beta2=optim.beta2)
