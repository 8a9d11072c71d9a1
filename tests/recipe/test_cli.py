# SPDX-License-Identifier: Apache-2.0
"""The command line without training: the written corpus, the loss check, errors in one line."""

import subprocess
import sys

import numpy as np
import pytest

from mindspore_rnnt.recipe import __main__ as cli
from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.commands import evaluate
from mindspore_rnnt.recipe.data import dataset
from mindspore_rnnt.recipe.training import loop

OVERRIDES = [
    "data.train_utterances=6",
    "data.train_phrases=0",
    "data.train_fragments=0",
    "data.train_pairs=0",
    "data.train_others=2",
    "data.train_noises=1",
    "data.heldout_utterances=2",
]
SMALL = [word for item in OVERRIDES for word in ("--set", item)]


def test_synth_writes_a_corpus_that_loads_as_the_same_audio(tmp_path, capsys):
    assert cli.main(["synth", "--output", str(tmp_path), *SMALL]) == 0
    assert "train.jsonl 6 utterances" in capsys.readouterr().out
    spoken = dataset.load(config.load("tiny.yaml", OVERRIDES))
    read = dataset.load(
        config.load(
            None,
            [
                f"data.train={tmp_path}/train.jsonl",
                f"data.heldout={tmp_path}/heldout.jsonl",
                f"data.vocabulary={tmp_path}/vocabulary.txt",
            ],
        )
    )
    assert any(not item.text for item in spoken[0]) and all(item.text for item in read[0])
    for ours, theirs in zip(spoken[:2], read[:2]):
        ours = [item for item in ours if item.text]
        assert [item.text for item in ours] == [item.text for item in theirs]
        assert all(np.array_equal(a.audio(), b.audio()) for a, b in zip(ours, theirs))
    assert spoken[2].characters == read[2].characters


@pytest.mark.parametrize(
    ("ratio", "losses", "expected"),
    [(0.0, [1, 9], 0), (0.5, [10, 5], 0), (0.5, [10, 5.1], 1), (0.5, [10, float("nan")], 1)],
)
def test_a_training_that_did_not_learn_fails(ratio, losses, expected, monkeypatch):
    monkeypatch.setattr(loop, "run", lambda config: [{"loss": loss} for loss in losses])
    assert cli.main(["train", "--set", f"train.require_loss_ratio={ratio}"]) == expected


@pytest.fixture
def evaluated(monkeypatch):
    """What `evaluate.run` is called with, instead of a run of it."""
    calls = []
    monkeypatch.setattr(evaluate, "run", lambda *what, **more: calls.append((*what, more)))
    return calls


def test_evaluate_changes_the_settings_of_the_run(evaluated, tmp_path):
    given = config.load(None, ["model.blocks=3", "evaluate.seed=5", f"train.output={tmp_path}"])
    config.save(given, tmp_path / "config.yaml")
    changes = ["--set", "evaluate.snr_db=[3]", "--weights", "best"]
    assert cli.main(["evaluate", "--checkpoint", str(tmp_path), *changes]) == 0
    assert cli.main(["evaluate", "--output", str(tmp_path), *changes]) == 0
    how = {"by_voice": True, "weights": "best"}
    for folder, used, more in evaluated:
        assert folder == str(tmp_path) and more == how | {"recalibrate": False}
        assert used.evaluate.snr_db == [3.0]
        assert (used.model.blocks, used.evaluate.seed) == (3, 5)
    assert cli.main(["evaluate", "--checkpoint", str(tmp_path), "--recalibrate"]) == 0
    assert evaluated[-1][2]["recalibrate"]
    changed = tmp_path / "changed.yaml"
    given.evaluate.seed = 6
    config.save(given, changed)
    assert cli.main(["evaluate", "--config", str(changed)]) == 0
    folder, used, _ = evaluated[-1]
    assert (folder, used.evaluate.seed, used.model.blocks) == (str(tmp_path), 6, 3)


@pytest.mark.parametrize("other", [["--config", "tiny.yaml"], ["--full"], ["--output", "a"]])
def test_a_run_has_a_configuration_of_its_own(evaluated, other, capsys):
    assert cli.main(["evaluate", "--checkpoint", "a", *other]) == 1
    assert "configuration of its own" in capsys.readouterr().err and not evaluated


def test_what_demo_leaves_is_where_the_others_look(evaluated, monkeypatch):
    trained = []
    monkeypatch.setattr(loop, "run", trained.append)
    assert cli.main(["demo"]) == 0
    assert cli.main(["demo", "--set", "train.output=there"]) == 0
    assert cli.main(["demo", "--config", "tiny.yaml", "--output", "here"]) == 0
    folders = ["runs/demo", "there", "here"]
    assert [item.train.output for item in trained] == folders
    assert [folder for folder, _ in evaluated] == folders
    parser = cli._parser()
    assert parser.parse_args(["listen", "--wav", "a"]).checkpoint == "runs/demo"
    assert parser.parse_args(["export"]).checkpoint == "runs/demo"


def test_mistakes_are_one_line(capsys):
    assert cli.main(["synth", "--set", "data.trian=3"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "did you mean 'train'" in error
    with pytest.raises(ValueError, match="did you mean 'train'"):
        cli.main(["--debug", "synth", "--set", "data.trian=3"])


def test_help_from_the_command_line_is_quick_and_complete(tmp_path):
    command = [sys.executable, "-m", "mindspore_rnnt.recipe", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    for name in ("demo", "train", "evaluate", "listen", "synth", "export"):
        assert f"\n    {name} " in shown


@pytest.mark.parametrize("gone", ["yaml", "tqdm"])
def test_help_needs_no_extra_and_its_lack_is_one_line(gone, tmp_path):
    code = (
        "import importlib.util as u, sys\n"
        "find = u.find_spec\n"
        f"u.find_spec = lambda name, *more: None if name == {gone!r} else find(name, *more)\n"
        f"sys.modules[{gone!r}] = None\n"
        "from mindspore_rnnt.recipe.__main__ import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )

    def run(*arguments):
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert run("train", "--help").returncode == 0
    done = run("train")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done.stderr
    assert f"{gone} of the extra 'demo' must be installed: pip install" in done.stderr


@pytest.fixture
def no_data(monkeypatch):
    """What would be long work says so instead."""

    def work(*_):
        raise RuntimeError("long work")

    monkeypatch.setattr(dataset, "load", work)
    monkeypatch.setattr(dataset, "load_heldout", work)


@pytest.mark.parametrize("name", ["train", "demo", "evaluate --full", "synth", "pack"])
def test_a_folder_that_cannot_be_written_is_found_before_the_work(name, no_data, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert cli.main([*name.split(), "--output", str(tmp_path / "file" / "results")]) == 1
    captured = capsys.readouterr()
    assert len(captured.err.splitlines()) == 1 and str(tmp_path / "file") in captured.err
    assert cli.main([*name.split(), "--output", str(tmp_path / "new" / "results")]) == 1
    assert "long work" in capsys.readouterr().err


@pytest.mark.parametrize("name, taken", [("synth", "heldout"), ("synth", "heldout.jsonl/a")])
def test_a_part_of_a_corpus_that_cannot_be_written_too(name, taken, no_data, tmp_path, capsys):
    (tmp_path / taken).parent.mkdir(exist_ok=True)
    (tmp_path / taken).touch()
    assert cli.main([name, "--output", str(tmp_path)]) == 1
    assert str(tmp_path / taken.partition("/")[0]) in capsys.readouterr().err


def test_a_cache_that_cannot_be_written_too(no_data, tmp_path, capsys):
    (tmp_path / "file").touch()
    cache = ["--set", f"features.cache={tmp_path}/file/cache"]
    assert cli.main(["train", "--output", str(tmp_path / "run"), *cache]) == 1
    assert f"{tmp_path}/file" in capsys.readouterr().err


@pytest.mark.parametrize("file", ["evaluation.json", "hypotheses.jsonl", "calibration.json"])
def test_results_that_cannot_be_written_too(file, no_data, tmp_path, monkeypatch, capsys):
    config.save(config.load(), tmp_path / "config.yaml")
    monkeypatch.setattr(evaluate, "load_run", lambda folder, config, _: (None, config, None, None))
    (tmp_path / file).mkdir()
    assert cli.main(["evaluate", "--checkpoint", str(tmp_path)]) == 1
    assert str(tmp_path / file) in capsys.readouterr().err


@pytest.mark.parametrize(
    "name, stopped, kept",
    [
        ("train", "loop", "what was saved stays in {}: the same command with --resume"),
        ("demo", "loop", "what was saved stays in {}: 'train' with the same options and --resume"),
        ("demo", "evaluate", "the trained model stays in {}: 'evaluate --checkpoint {}' shows it"),
        ("evaluate", "evaluate", "what was written stays in {}: the same command begins again"),
        ("evaluate --full", "loop", "runs that are done stay in {}: the same command makes all"),
    ],
)
def test_ctrl_c_says_what_is_kept(name, stopped, kept, monkeypatch, capsys, tmp_path):
    def stop(*_, **more):
        raise KeyboardInterrupt

    folder = tmp_path / "run"
    folder.mkdir()
    config.save(config.load(), folder / "config.yaml")
    for module in (loop, evaluate):
        of_module = module.__name__.endswith(stopped)
        monkeypatch.setattr(module, "run", stop if of_module else lambda *_, **more: None)
    assert cli.main([*name.split(), "--output", str(folder)]) == 130
    error = capsys.readouterr().err
    assert kept.format(folder, folder) in error
    assert "Traceback" not in error and "stopped by Ctrl-C" in error
