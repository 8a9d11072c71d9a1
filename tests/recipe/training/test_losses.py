# SPDX-License-Identifier: Apache-2.0
"""Each kind of loss trains the recipe's network, and all it keeps is in checkpoints."""

from pathlib import Path

import numpy as np
import pytest
from recipe_networks import network, random_batch
from tolerances import TOLERANCE

from mindspore_rnnt.recipe.decoding import run_folder
from mindspore_rnnt.recipe.training.checkpoint import Checkpoints, Position
from mindspore_rnnt.recipe.training.parallel import Group
from mindspore_rnnt.recipe.training.step import TrainStep

KINDS = {  # the weights of the pruned loss hardly change in the few updates here
    "rnnt": ["loss=rnnt"],
    "pruned": ["loss=pruned", "loss.prune_range=3", "loss.warmup_steps=100"],
    "tdt": ["loss=tdt", "loss.durations=[0, 1, 3]", "loss.sigma=0.05"],
}


def trainer(kind, *overrides, seed=3):
    common = ["train.batch_size=4", "optim.warmup_steps=0", "train.jit=false", "model.blocks=1"]
    settings, model = network(*common, *KINDS[kind], *overrides, seed=seed)
    return model, TrainStep(model, settings, 100, Group())


def losses(step, numbers):
    return [step([random_batch(frames=32, max_u=3)], 0, number).loss for number in numbers]


@pytest.mark.parametrize("kind", KINDS)
def test_updates_lower_the_loss_and_go_on_from_a_checkpoint(kind, tmp_path):
    model, step = trainer(kind)
    (first,) = losses(step, [0])
    kept = Checkpoints(tmp_path, step.state(), keep=1)
    kept.save(Position(update=1))
    more = losses(step, (1, 2))
    print(first, more)
    assert more[1] < more[0] < first

    other, again = trainer(kind, seed=9)
    Checkpoints(tmp_path, again.state(), keep=1).restore()
    assert losses(again, (1, 2)) == more, "not the same, bit for bit"
    ours, theirs = model.parameters_dict(), other.parameters_dict()
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name].asnumpy(), theirs[name].asnumpy()) for name in ours)
    if kind == "pruned":
        assert other.loss.training_calls.asnumpy() == 3, "of the warm-up"


def test_the_warm_up_of_the_pruned_loss_is_in_the_checkpoint():
    model, step = trainer("pruned")
    names = {item.name for item in step.state()}
    simple = {
        f"loss.simple_{part}_proj.{kind}" for part in ("am", "lm") for kind in ("weight", "bias")
    }
    assert names >= {"loss.training_calls", *simple}
    assert not any(item.name.startswith("loss.") for item in model.decoding_params())


def test_decoding_needs_the_same_weights_after_any_kind_but_for_the_durations():
    names = {kind: [i.name for i in trainer(kind)[0].decoding_params()] for kind in KINDS}
    assert names["pruned"] == names["rnnt"]
    more = ["joiner.duration_output.weight", "joiner.duration_output.bias"]
    assert names["tdt"] == names["rnnt"] + more


def test_the_weights_of_another_kind_of_model_are_refused():
    weights = {kind: {i.name: i for i in trainer(kind)[0].decoding_params()} for kind in KINDS}
    run_folder.assign(weights["rnnt"], weights["pruned"], Path("a.ckpt"))
    with pytest.raises(ValueError, match=r"a\.ckpt has 'joiner.duration_output.weight'; was it"):
        run_folder.assign(weights["rnnt"], weights["tdt"], Path("a.ckpt"))
    with pytest.raises(ValueError, match=r"a\.ckpt lacks 'joiner.duration_output.weight'; was it"):
        run_folder.assign(weights["tdt"], weights["rnnt"], Path("a.ckpt"))


def test_a_memory_budget_changes_neither_loss_nor_names():
    """Of a model with durations; test_step.py and test_transducer.py say so of others."""
    results = []
    for budget in ("", "1MB"):
        model, step = trainer("tdt", f"train.memory_budget={budget}")
        results.append((losses(step, range(2)), [item.name for item in model.get_parameters()]))
    (plain, names), (chunked, others) = results
    assert plain == pytest.approx(chunked, rel=TOLERANCE["recipe_update"])
    assert names == others
