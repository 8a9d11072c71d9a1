# SPDX-License-Identifier: Apache-2.0
"""The recipe under mindspore.train.Model."""

from mindspore.train import Callback
from recipe_networks import CORPUS, NETWORK

from mindspore_rnnt.recipe import adapter, config


class Losses(Callback):
    def __init__(self):
        self.values = []

    def step_end(self, run_context):
        self.values.append(float(run_context.original_args().net_outputs))


def test_model_train_lowers_the_loss():
    trainer, batches = adapter.model_and_dataset(config.load(None, [*NETWORK, *CORPUS]))
    losses = Losses()
    trainer.train(2, batches, callbacks=[losses], dataset_sink_mode=False)
    print(losses.values)
    assert len(losses.values) == 8
    assert sum(losses.values[4:]) < sum(losses.values[:4])
