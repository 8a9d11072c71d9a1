# SPDX-License-Identifier: Apache-2.0
"""The recipe under `mindspore.train.Model`, for those whose tools are built on it:

    trainer, batches = adapter.model_and_dataset(config)
    trainer.train(config.train.epochs, batches, dataset_sink_mode=False)
    ms.save_checkpoint(trainer.train_network, f"{config.train.output}/model.ckpt")

After that `train.output` is a run's folder: `evaluate`, `listen` and `export` take it. Optimizer,
schedule, weight decay and noise are those of `loop.run`. It trains in PyNative mode, and what
`loop.run` does beyond (dropout, clipping, `optim.accumulate`, several ranks, skipping updates
that are not finite, checkpoints to resume from, held-out error rates) is left to Model and its
callbacks. With optim.loss_scale the loss is scaled by Model's own manager, which the CPU refuses.
"""

from __future__ import annotations

from pathlib import Path

import mindspore as ms
from mindspore.amp import DynamicLossScaleManager
from mindspore.dataset import Dataset, GeneratorDataset
from mindspore.train import Model

from ...tools.command import prepare_folder
from ..data import dataset
from ..data.batches import BatchSource
from ..decoding.run_folder import start_run
from ..model import transducer
from ..settings import Config
from .earlier_run import make_way, refuse_loss
from .step import SCALE_FACTOR, SCALE_WINDOW, build_optimizer


def model_and_dataset(config: Config) -> tuple[Model, Dataset]:
    """A Model whose network gives the loss, and the training batches, one epoch at a time.

    Writes what belongs beside the weights to train.output; a run that is there is an error, or
    with train.overwrite goes.
    """
    if config.train.resume:
        raise ValueError("train.resume is of loop.run, whose checkpoints Model does not read")
    refuse_loss(config)
    prepare_folder(Path(config.train.output))
    ms.set_seed(config.train.seed)
    source, _, vocabulary, cmvn = dataset.build(config)
    network = transducer.build(config, len(vocabulary)).set_train()
    make_way(config)
    start_run(config.train.output, config, vocabulary, cmvn)
    updates = config.train.epochs * source.steps_per_epoch
    optimizer = build_optimizer(network, config, updates)
    scale = {}
    if config.optim.loss_scale > 1:
        scale["loss_scale_manager"] = DynamicLossScaleManager(
            int(config.optim.loss_scale), SCALE_FACTOR, SCALE_WINDOW
        )
    return Model(network, optimizer=optimizer, **scale), batches(source)


def batches(source: BatchSource) -> Dataset:
    """The columns of `transducer.INPUTS`; each pass over the dataset is another epoch."""
    return GeneratorDataset(
        _Epochs(source), list(transducer.INPUTS), shuffle=False, num_parallel_workers=1
    )


class _Epochs:
    def __init__(self, source: BatchSource):
        self._source, self._epoch = source, 0

    def __iter__(self):
        epoch = self._epoch
        self._epoch += 1
        for step in range(self._source.steps_per_epoch):
            batch = self._source.batch(epoch, step)
            self._source.name_lost(batch["lost"])
            yield tuple(batch[name] for name in transducer.INPUTS)

    def __len__(self) -> int:
        return self._source.steps_per_epoch
