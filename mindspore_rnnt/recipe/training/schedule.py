# SPDX-License-Identifier: Apache-2.0
"""Learning rate: linear warm-up, then half a cosine."""

from __future__ import annotations

import math

from mindspore import Tensor, float32, ops
from mindspore.nn.learning_rate_schedule import LearningRateSchedule

from ..settings import OptimConfig


class WarmupCosine(LearningRateSchedule):
    """lr (n + 1) / warmup for the first updates n, then from lr down to lr * final_ratio."""

    def __init__(self, config: OptimConfig, total_steps: int):
        super().__init__()
        self.lr, self.final = config.lr, config.lr * config.final_ratio
        self.warmup = max(1, config.warmup_steps)
        self.decay = max(1, total_steps - self.warmup)

    def construct(self, global_step: Tensor) -> Tensor:
        step = global_step.astype(float32)
        rising = (step + 1.0) / self.warmup
        progress = ops.clip_by_value((step + 1.0 - self.warmup) / self.decay, 0.0, 1.0)
        falling = self.final + (self.lr - self.final) * 0.5 * (1.0 + ops.cos(math.pi * progress))
        return ops.minimum(self.lr * rising, falling)

    def value(self, step: int) -> float:
        """The same as a number, without the device."""
        progress = min(1.0, max(0.0, (step + 1 - self.warmup) / self.decay))
        falling = self.final + (self.lr - self.final) * 0.5 * (1 + math.cos(math.pi * progress))
        return min(self.lr * (step + 1) / self.warmup, falling)
