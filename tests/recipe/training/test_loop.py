# SPDX-License-Identifier: Apache-2.0
"""A whole run: what it leaves, and that one killed at any moment goes on as if nothing had been."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from unittest.mock import MagicMock

import mindspore as ms
import numpy as np
import pytest
from recipe_networks import CORPUS, NETWORK

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data.features import Cmvn
from mindspore_rnnt.recipe.data.grammar import load_grammar
from mindspore_rnnt.recipe.data.text import Vocabulary
from mindspore_rnnt.recipe.decoding import run_folder
from mindspore_rnnt.recipe.model import transducer
from mindspore_rnnt.recipe.training import checkpoint, loop
from mindspore_rnnt.recipe.training.progress import Progress
from mindspore_rnnt.recipe.training.step import Update

OVERRIDES = [
    *NETWORK,
    *CORPUS,
    "model.blocks=1",
    "model.dropout=0.1",
    "train.epochs=3",
    "train.save_every=3",
    "train.keep_last=2",
    "train.average=2",
    "train.evaluate_every=2",
]


def settings(folder, *more):
    return config.load(None, [*OVERRIDES, f"train.output={folder}", *more])


def rows(path):
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def without_time(history):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in history]


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A run that is never stopped: its folder and history."""
    folder = tmp_path_factory.mktemp("straight")
    return folder, loop.run(settings(folder))


def test_a_run_leaves_all_that_is_needed(straight):
    folder, history = straight
    assert [row["epoch"] for row in history] == [0, 1, 2]
    assert [row["cer"] is None for row in history] == [True, False, True]
    assert history[-1]["loss"] < history[0]["loss"]
    assert [int(row["update"]) for row in rows(folder / "steps.csv")] == list(range(1, 13))
    assert len(rows(folder / "epochs.csv")) == 3
    assert (folder / "curves.png").stat().st_size > 1000
    saved = {item.name for item in (folder / "checkpoints").iterdir()}
    assert saved == {"step-0000009.ckpt", "step-0000012.ckpt", "best.ckpt"}


def test_the_weights_to_use_are_the_mean_of_the_last(straight):
    folder, _ = straight
    recogniser, _, vocabulary, _ = run_folder.load_run(folder)
    last = [ms.load_checkpoint(str(item)) for item in sorted(folder.glob("checkpoints/step-*"))]
    assert len(vocabulary) == 56
    for parameter in recogniser.model.get_parameters():
        expected = np.mean([item[parameter.name].asnumpy() for item in last], axis=0)
        assert np.array_equal(parameter.asnumpy(), expected), parameter.name


def test_the_best_weights_can_be_had_too(straight):
    folder, _ = straight
    saved = ms.load_checkpoint(str(folder / "checkpoints" / "best.ckpt"))
    assert json.loads(saved[checkpoint.POSITION])["epoch"] == 2, "the one epoch with a CER"
    best = run_folder.load_run(folder, weights="best")[0].model
    assert all(
        np.array_equal(item.asnumpy(), saved[item.name].asnumpy()) for item in best.get_parameters()
    )
    mean = ms.load_checkpoint(str(folder / "model.ckpt"))
    assert any(
        not np.array_equal(item.asnumpy(), mean[item.name].asnumpy())
        for item in best.get_parameters()
    )


@pytest.mark.parametrize("kill_after", [5, 8])
def test_killed_and_resumed_is_never_killed(straight, tmp_path, kill_after):
    folder, history = straight
    code = (
        "import sys\n"
        "from mindspore_rnnt.recipe import config\n"
        "from mindspore_rnnt.recipe.training import loop\n"
        "loop.run(config.load(sys.argv[1]))"
    )
    config.save(settings(tmp_path), tmp_path / "run.yaml")
    worker = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "run.yaml")],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    steps = tmp_path / "steps.csv"
    while worker.poll() is None and not (steps.is_file() and len(rows(steps)) >= kill_after):
        time.sleep(0.01)
    assert worker.poll() is None, "it ended by itself"
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    run_folder.load_run(tmp_path)  # an epoch is over, so there is a model to use
    known = len(rows(steps))
    assert known < 12, "it had done all before it was killed"

    resumed = loop.run(settings(tmp_path), resume=True)
    assert without_time(resumed) == without_time(history)
    assert rows(steps) == rows(folder / "steps.csv"), "not the same losses, bit for bit"
    ours, theirs = (ms.load_checkpoint(str(f / "model.ckpt")) for f in (tmp_path, folder))
    assert all(np.array_equal(ours[name].asnumpy(), theirs[name].asnumpy()) for name in theirs)


def test_resume_of_nothing_is_a_start_and_of_a_finished_run_changes_nothing(straight, tmp_path):
    folder, history = straight
    before = (folder / "model.ckpt").read_bytes()
    assert loop.run(settings(folder, "train.resume=true")) == history
    assert (folder / "model.ckpt").read_bytes() == before
    short = settings(tmp_path, "train.epochs=1", "train.resume=true")
    assert [row["epoch"] for row in loop.run(short)] == [0]


def test_a_run_is_not_lost_without_a_word(straight):
    folder, _ = straight
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.*")}
    with pytest.raises(ValueError, match="holds a run already: go on with it by --resume"):
        loop.run(settings(folder))
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.*")} == before


def test_a_training_may_start_from_given_weights(straight):
    folder, _ = straight
    vocabulary = Vocabulary.load(folder / "vocabulary.txt")
    model = transducer.build(settings(folder), len(vocabulary))
    run_folder.load_weights(model, folder, vocabulary)
    saved = ms.load_checkpoint(str(folder / "model.ckpt"))
    for item in model.get_parameters():
        assert np.array_equal(item.asnumpy(), saved[item.name].asnumpy()), item.name
    with pytest.raises(ValueError, match="has another vocabulary"):
        run_folder.load_weights(model, folder, Vocabulary("甲乙"))


def test_a_draft_that_a_kill_has_left_is_no_checkpoint(straight, tmp_path):
    kept = checkpoint.Checkpoints(tmp_path, [], keep=2)
    (tmp_path / "checkpoints" / ".step-0000009.tmp.ckpt").write_bytes(b"torn")
    assert kept.saved() == [] and kept.restore() is None


def test_a_new_run_forgets_the_model_of_an_earlier_one(tmp_path):
    kept = checkpoint.Checkpoints(tmp_path, [], keep=2)
    for name in ("model.ckpt", "checkpoints/best.ckpt", "checkpoints/step-0000009.ckpt"):
        (tmp_path / name).touch()
    kept.clear()
    assert list(tmp_path.glob("**/*.ckpt")) == []


def test_a_run_keeps_the_grammar_and_settings_can_be_changed_afterwards(tmp_path):
    mine = tmp_path / "it's: mine.yaml"
    mine.write_text("template: '{a}'\nslots: {a: {甲: 1}}\n", encoding="utf-8")
    folder = tmp_path / "a: run"
    given = config.load(None, ["data.train_utterances=7"])
    given.data.grammar = str(mine)
    belongings = Vocabulary("甲"), Cmvn([0.0], [1.0])
    run_folder.start_run(folder, given, *belongings)
    mine.unlink()
    loaded = run_folder.load_config(folder, ["evaluate.snr_db=[3]"])
    assert load_grammar(loaded.data.grammar).sentences() == ["甲"]
    assert (loaded.evaluate.snr_db, loaded.data.train_utterances) == ([3.0], 7)
    other = run_folder.load_config(folder, ["data.grammar=inspection.yaml"])
    assert other.data.grammar == "inspection.yaml"

    run_folder.start_run(folder, loaded, *belongings)  # of its own copy
    assert load_grammar(loaded.data.grammar).sentences() == ["甲"]
    loaded.data.train, loaded.data.heldout, loaded.data.grammar = "a", "b", ""
    run_folder.start_run(folder, loaded, *belongings)
    assert run_folder.load_config(folder).data.grammar == ""


def test_a_checkpoint_of_another_configuration_is_refused(straight):
    folder, _ = straight
    with pytest.raises(ValueError, match="but the configuration makes it"):
        loop.run(settings(folder, "model.joiner_dim=32", "train.resume=true"))


def test_a_resumed_run_names_and_keeps_the_settings_that_have_changed(straight, tmp_path, capsys):
    folder = tmp_path / "copy"
    shutil.copytree(straight[0], folder)
    loop.run(settings(folder, "train.resume=true"))
    assert "changed since" not in capsys.readouterr().out
    loop.run(settings(folder, "train.resume=true", "optim.lr=0.5"))
    lines = [line for line in capsys.readouterr().out.splitlines() if "changed since" in line]
    assert lines == ["changed since this run was started: optim.lr: 0.002 -> 0.5"]
    assert config.load(folder / "config.yaml").optim.lr == 0.5
    vocabulary = folder / "vocabulary.txt"
    vocabulary.write_text("\n".join(reversed(vocabulary.read_text().split())))
    with pytest.raises(ValueError, match="started with another vocabulary"):
        loop.run(settings(folder, "train.resume=true"))


def test_updates_that_are_skipped_without_end_are_an_error():
    class Broken:
        shapes, skipped = (), 0

        def __call__(self, *_):
            self.skipped += 1
            return Update(float("nan"), float("nan"), applied=False)

    step, position, progress = Broken(), checkpoint.Position(), MagicMock()
    for _ in range(99):
        loop._update(step, [{}], position, progress, 0.0)
    with pytest.raises(RuntimeError, match="the last 100 updates were all skipped"):
        loop._update(step, [{}], position, progress, 0.0)
    assert position.skipped == 100 and position.losses == []


class Clock:
    """Of the loop and of the bar: it goes on when it is told to."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(loop.time, "perf_counter", lambda: self.now)

    def watch(self, progress):
        progress._bar.start_t = self.now
        progress._bar._time = lambda: self.now
        return progress


class Learner:
    """An update takes `seconds`, and another minute where a shape is new."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds, self.shapes, self.skipped = clock, seconds, [], 0

    def __call__(self, batches, epoch, step):
        self.clock.now += self.seconds
        if batches[0]["shape"] not in self.shapes:
            self.shapes.append(batches[0]["shape"])
            self.clock.now += 60.0
        return Update(1.0, 1.0, applied=True)


def remaining(progress):
    """Minutes that the bar says, None where it says that they are not known."""
    shown = re.search(r"<([\d:]+|\?)", str(progress._bar))[1]
    if shown == "?":
        return None
    parts = [int(part) for part in shown.split(":")]
    return sum(part * 60**place for place, part in enumerate(reversed(parts))) / 60


def test_compiling_is_no_part_of_the_time_that_is_left(tmp_path, monkeypatch):
    clock = Clock(monkeypatch)
    progress = clock.watch(Progress(tmp_path, 560, 0, visible=True))
    step, position = Learner(clock, 0.6), checkpoint.Position()
    said = []
    for shape in (1, 1, 1, 2, 1, 2, 3, 1, 2, 3):
        loop._update(step, [{"shape": shape}], position, progress, 0.0)
        said.append(remaining(progress))
    assert said[0] is None, "nothing is known yet"
    expected = [(560 - done) * 0.6 / 60 for done in range(2, 11)]
    assert said[1:] == pytest.approx(expected, abs=1 / 60)
    row = {"update": 10, "epoch": 0, "loss": 1.0, "cer": 0.5}
    for seconds in (90.0, 11.0):  # the first evaluation compiles
        clock.now += seconds
        progress.epoch(row)
        loop._update(step, [{"shape": 1}], position, progress, 0.0)
    mean = (8 * 0.6 + 11.0) / 8  # of 12 steps 3 compiled, and one came after the first evaluation
    assert remaining(progress) == pytest.approx((560 - 12) * mean / 60, abs=1 / 60)
    progress.close()


def test_waiting_for_data_and_the_update_are_timed_apart(monkeypatch):
    clock, progress = Clock(monkeypatch), MagicMock(times={})

    def groups():
        for seconds in (3.0, 0.25):
            clock.now += seconds
            yield [{"shape": 1}]

    step, position, waiting, seen = Learner(clock, 2.0), checkpoint.Position(), groups(), []
    while some := loop._waited_for(waiting, progress):
        clock.now += 7.0  # neither
        loop._update(step, some, position, progress, 0.0)
        seen.append(dict(progress.times))
    assert seen == [
        {"data wait (s)": 3.0, "step (s)": 62.0},
        {"data wait (s)": 0.25, "step (s)": 2.0},
    ]


def test_every_update_of_a_run_has_both_times(straight):
    # Another test resumes the finished run, which begins a file without updates.
    logs = b"".join(path.read_bytes() for path in straight[0].glob("*tfevents*"))
    for name in (b"data wait (s)", b"step (s)"):
        assert logs.count(name) == 12


def test_a_run_begins_with_the_weights_that_it_is_to_start_from(straight, tmp_path):
    folder, history = straight
    more = (f"train.start_from={folder}", "train.epochs=1", "optim.lr=1e-9", "train.average=1")
    ((row, *_), ours) = loop.run(settings(tmp_path, *more)), tmp_path / "model.ckpt"
    found, given = (ms.load_checkpoint(str(path)) for path in (ours, folder / "model.ckpt"))
    for name, value in given.items():
        assert np.allclose(found[name].asnumpy(), value.asnumpy(), atol=1e-6), name
    assert row["loss"] < history[0]["loss"] - 1, "what had been learned was lost"


def test_a_folder_without_a_model_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"holds no trained model: .*model.ckpt is missing"):
        run_folder.load_run(tmp_path)


def test_the_position_survives_json():
    position = checkpoint.Position(2, 7, 31, 1, [0.1 + 0.2, 1e-30], [{"epoch": 0, "cer": None}])
    copy = checkpoint.Position(**json.loads(json.dumps(vars(position))))
    assert copy == position
