# SPDX-License-Identifier: Apache-2.0
"""No command loses a run in its folder unless the user says so."""

import shutil

import pytest

from mindspore_rnnt.recipe import __main__ as cli
from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.commands import evaluate, export, pack, study, synth
from mindspore_rnnt.recipe.data.features import Cmvn
from mindspore_rnnt.recipe.data.text import Vocabulary
from mindspore_rnnt.recipe.decoding import run_folder
from mindspore_rnnt.recipe.training import adapter, earlier_run, loop

WEIGHTS = {  # what may be left of a run
    "by loop.run": ("model.ckpt", "checkpoints/step-0000009.ckpt", "checkpoints/best.ckpt"),
    "by Model": ("model.ckpt",),
    "by Model's callback": ("rnnt-1_40.ckpt",),
    "before its first epoch": ("checkpoints/step-0000003.ckpt",),
}


def settings(folder, *more):
    return config.load(None, [f"train.output={folder}", *more])


def leave_run(folder, names, *more):
    """A folder as a run leaves it."""
    mine = settings(folder, *more)
    run_folder.start_run(folder, mine, Vocabulary("甲"), Cmvn([0.0], [1.0]))
    (folder / "checkpoints").mkdir()
    for name in (*names, "calibration.json"):
        (folder / name).write_text("kept")


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(params=WEIGHTS)
def run(request, tmp_path):
    leave_run(tmp_path / "run", WEIGHTS[request.param])
    return tmp_path / "run"


WRITERS = {
    "train": lambda folder: loop.run(settings(folder)),
    "adapter": lambda folder: adapter.model_and_dataset(settings(folder)),
    "demo": lambda folder: loop.run(settings(folder, "train.replaceable=true")),
    "export": lambda folder: export.run(folder.parent, folder),
    "synth": lambda folder: synth.run(settings("other"), folder),
    "pack": lambda folder: pack.run(settings("other"), folder, 1),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_run_is_kept(writer, run, monkeypatch):
    monkeypatch.setattr(loop.dataset, "build", lambda *_: pytest.fail("work before the refusal"))
    before = content(run)
    with pytest.raises(ValueError, match=rf"{run} holds a run") as error:
        WRITERS[writer](run)
    assert "\n" not in str(error.value) and content(run) == before


def test_a_model_without_a_checkpoint_is_not_resumed(tmp_path):
    leave_run(tmp_path / "run", WEIGHTS["by Model"])
    again = settings(tmp_path / "run", "train.resume=true")
    with pytest.raises(ValueError, match=r"no checkpoint to resume from: .* train\.start_from="):
        loop.run(again)
    with pytest.raises(ValueError, match=r"train\.resume is of loop\.run"):
        adapter.model_and_dataset(again)


def test_overwrite_replaces_all_of_it(run):
    assert run_folder.holds_model(run)
    told = earlier_run.make_way(settings(run, "train.overwrite=true"))
    assert told == [f"the earlier run in {run} is replaced"]
    assert not any((run / name).exists() for name in WEIGHTS["by loop.run"])
    assert not (run / "calibration.json").exists(), "it was of the old model"


def test_an_empty_folder_is_no_run(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / ".step-0000009.tmp.ckpt").touch()  # a draft that a kill has left
    assert earlier_run.make_way(settings(tmp_path)) == []
    told = earlier_run.make_way(settings(tmp_path, "train.resume=true"))
    assert told == [f"nothing to resume in {tmp_path}: the run starts anew"]


REPLACEABLE = "train.replaceable=true"


@pytest.mark.parametrize(
    ("earlier", "again", "is_replaced"),
    [
        ([REPLACEABLE], [REPLACEABLE], True),
        ([REPLACEABLE, "train.epochs=40"], [REPLACEABLE], False),  # a longer demo
        ([REPLACEABLE], [REPLACEABLE, "optim.lr=1e-4"], False),
        ([], [REPLACEABLE], False),  # a training, or a demo that was gone on with
        ([REPLACEABLE], [], False),
        ([REPLACEABLE], [REPLACEABLE, "train.overwrite=true"], True),
    ],
)
def test_a_demo_replaces_the_same_demo_only(earlier, again, is_replaced, tmp_path):
    leave_run(tmp_path / "run", WEIGHTS["by loop.run"], *earlier)
    mine = settings(tmp_path / "run", *again)
    if is_replaced:
        assert earlier_run.make_way(mine) == [f"the earlier run in {tmp_path / 'run'} is replaced"]
    else:
        with pytest.raises(ValueError, match=r"holds a run already: .* --overwrite"):
            earlier_run.refuse_loss(mine)


def test_a_run_without_settings_is_kept(tmp_path):
    leave_run(tmp_path / "run", WEIGHTS["by loop.run"], REPLACEABLE)
    mine = settings(tmp_path / "run", REPLACEABLE)
    for text in ("data: [", "lost: {}"):
        (tmp_path / "run" / "config.yaml").write_text(text)
        with pytest.raises(ValueError, match="holds a run already"):
            earlier_run.refuse_loss(mine)
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    (tmp_path / "run" / "config.yaml").unlink()
    with pytest.raises(ValueError, match="holds a run already"):
        earlier_run.refuse_loss(mine)


def test_commands_mark_what_they_may_replace(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(loop, "run", lambda config: made.append(config.train) or [{"loss": 1.0}])
    monkeypatch.setattr(evaluate, "run", lambda *_, **__: [])
    monkeypatch.setattr(study, "summarise", lambda runs: [])
    given = ["--output", str(tmp_path)]
    assert cli.main(["demo", *given]) == cli.main(["demo", "--overwrite", *given]) == 0
    assert cli.main(["train", *given]) == cli.main(["train", "--overwrite", *given]) == 0
    flags = [(item.replaceable, item.overwrite) for item in made]
    assert flags == [(True, False), (True, True), (False, False), (False, True)]
    made.clear()
    assert cli.main(["evaluate", "--full", "--set", "evaluate.train_seeds=[1]", *given]) == 0
    assert [(item.replaceable, item.overwrite) for item in made] == [(True, False)] * 2
