# SPDX-License-Identifier: Apache-2.0
"""The recipe under `mindspore.train.Model`, for those whose tools are built on it:

    trainer, batches = adapter.model_and_dataset(config)
    trainer.train(epochs, batches, callbacks=[LossMonitor()], dataset_sink_mode=False)

It trains in PyNative mode without dropout, clipping or schedule; `train.run` has all of them.
"""

from __future__ import annotations

import mindspore as ms
from mindspore import nn
from mindspore.dataset import Dataset, GeneratorDataset
from mindspore.train import Model

from . import dataset
from . import model as models
from .config import Config


def model_and_dataset(config: Config) -> tuple[Model, Dataset]:
    """A Model whose network gives the loss, and the training batches, one epoch at a time."""
    ms.set_seed(config.train.seed)
    source, _, vocabulary, _ = dataset.build(config)
    network = models.build(config, len(vocabulary)).set_train()
    optimizer = nn.Adam(network.trainable_params(), config.optim.lr, beta2=config.optim.beta2)
    return Model(network, optimizer=optimizer), batches(source)


def batches(source: dataset.BatchSource) -> Dataset:
    """The columns of `model.INPUTS`; each pass over the dataset is another epoch."""
    return GeneratorDataset(
        _Epochs(source), list(models.INPUTS), shuffle=False, num_parallel_workers=1
    )


class _Epochs:
    def __init__(self, source: dataset.BatchSource):
        self._source, self._epoch = source, 0

    def __iter__(self):
        rows = self._source.epoch(self._epoch)
        self._epoch += 1
        return (tuple(batch[name] for name in models.INPUTS) for batch in rows)

    def __len__(self) -> int:
        return self._source.steps_per_epoch
