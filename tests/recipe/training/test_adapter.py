# SPDX-License-Identifier: Apache-2.0
"""The recipe under mindspore.train.Model: it learns, and what it learned can be used."""

import mindspore as ms
import numpy as np
import pytest
from mindspore import nn
from mindspore.train import Callback
from recipe_networks import CORPUS, NETWORK, weights

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.commands import evaluate
from mindspore_rnnt.recipe.decoding import run_folder
from mindspore_rnnt.recipe.training import adapter
from mindspore_rnnt.recipe.training.schedule import WarmupCosine


class Losses(Callback):
    def __init__(self):
        self.values = []

    def step_end(self, run_context):
        self.values.append(float(run_context.original_args().net_outputs))


def settings(folder, *more):
    return config.load(None, [*NETWORK, *CORPUS, "model.blocks=1", f"train.output={folder}", *more])


def test_a_model_trained_so_is_a_run_to_evaluate(tmp_path):
    rows = [f"evaluate.{name}=[]" for name in ("snr_db", "noises", "changes")]
    rows += [
        "evaluate.noise_hours=0",
        "evaluate.others=2",
        "evaluate.pairs=0",
        "evaluate.streamed=0",
    ]
    mine = settings(tmp_path, "train.epochs=2", "evaluate.pictures=0", *rows)
    trainer, batches = adapter.model_and_dataset(mine)
    losses = Losses()
    trainer.train(mine.train.epochs, batches, callbacks=[losses], dataset_sink_mode=False)
    print(losses.values)
    assert len(losses.values) == 8
    assert sum(losses.values[4:]) < sum(losses.values[:4])

    trained = weights(trainer.train_network)
    ms.save_checkpoint(trainer.train_network, f"{mine.train.output}/model.ckpt")
    recogniser, loaded, vocabulary, _ = run_folder.load_run(tmp_path)
    assert len(vocabulary) == 56
    for name, value in weights(recogniser.model).items():
        assert np.array_equal(value, trained[name]), name
    assert loaded.model == mine.model
    (row,) = evaluate.run(tmp_path)
    assert row["utterances"] == 2


def test_the_optimizer_is_that_of_the_recipe(tmp_path):
    mine = settings(tmp_path, "optim.weight_decay=0.01", "train.epochs=3", "optim.lr=0.5")
    trainer, _ = adapter.model_and_dataset(mine)
    optimizer = trainer.train_network.optimizer
    assert isinstance(optimizer, nn.AdamWeightDecay)
    expected = WarmupCosine(mine.optim, 3 * 4)
    for update in (0, 1, 6, 11):
        assert float(optimizer.learning_rate(ms.Tensor(update))) == float(
            expected(ms.Tensor(update))
        )


def test_a_loss_scale_is_never_ignored(tmp_path):
    # MindSpore's CPU has no network with a dynamic scale; that it says so shows who is asked.
    with pytest.raises(ValueError, match="loss_scale_manager"):
        adapter.model_and_dataset(settings(tmp_path, "optim.loss_scale=1024"))
