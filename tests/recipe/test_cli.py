# SPDX-License-Identifier: Apache-2.0
"""The command line without training: the written corpus, the loss check, errors in one line."""

import subprocess
import sys

import numpy as np
import pytest

from mindspore_rnnt.recipe import __main__ as cli
from mindspore_rnnt.recipe import config, dataset

OVERRIDES = ["data.train_utterances=6", "data.train_phrases=0", "data.heldout_utterances=2"]
SMALL = [word for item in OVERRIDES for word in ("--set", item)]


def test_synth_writes_a_corpus_that_loads_as_the_same_audio(tmp_path, capsys):
    assert cli.main(["synth", "--output", str(tmp_path), *SMALL]) == 0
    assert "train.jsonl 6 utterances" in capsys.readouterr().out
    spoken = dataset.load(config.load(None, OVERRIDES))
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
    for ours, theirs in zip(spoken[:2], read[:2]):
        assert [item.text for item in ours] == [item.text for item in theirs]
        assert all(np.array_equal(a.audio(), b.audio()) for a, b in zip(ours, theirs))
    assert spoken[2].characters == read[2].characters


@pytest.mark.parametrize(
    ("ratio", "losses", "expected"),
    [(0.0, [1, 9], 0), (0.5, [10, 5], 0), (0.5, [10, 5.1], 1), (0.5, [10, float("nan")], 1)],
)
def test_a_training_that_did_not_learn_fails(ratio, losses, expected):
    settings = config.load(None, [f"train.require_loss_ratio={ratio}"])
    assert cli._check_learning(settings, [{"loss": loss} for loss in losses]) == expected


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
