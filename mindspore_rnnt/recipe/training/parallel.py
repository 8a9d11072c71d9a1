# SPDX-License-Identifier: Apache-2.0
"""Data parallel on MindSpore's own engine, started by msrun:

    msrun --worker_num=8 --local_worker_num=8 --join=True \
        python -m mindspore_rnnt.recipe train --config base.yaml

Every rank reads its share of each batch; gradients are averaged over the ranks.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.communication import get_group_size, get_rank, init


@dataclass(frozen=True)
class Group:
    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this rank writes files and prints."""
        return self.rank == 0


def start(device: str) -> Group:
    """Choose the device and join the other workers, if msrun has started several."""
    if device:
        ms.set_device(device)
    if int(os.environ.get("MS_WORKER_NUM", "1")) == 1:
        return Group()
    init()
    group = Group(get_rank(), get_group_size())
    ms.set_auto_parallel_context(
        parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True, device_num=group.size
    )
    return group


class MeanOverRanks(nn.Cell):
    """The mean of gradients and of the loss over all ranks."""

    def __init__(self, parameters: tuple, group: Group):
        super().__init__()
        self.size = group.size
        if self.size > 1:
            self.reduce = nn.DistributedGradReducer(parameters, mean=True, degree=self.size)
            self.total = ops.AllReduce(ops.ReduceOp.SUM)

    def construct(self, loss: Tensor, gradients: tuple) -> tuple[Tensor, tuple]:
        if self.size == 1:
            return loss, gradients
        return self.total(loss) / self.size, self.reduce(gradients)
