# SPDX-License-Identifier: Apache-2.0
"""The table of runs with and without noise. Nothing is trained: the error rates are made up."""

import json

import pytest

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.commands import study


def test_study_trains_each_seed_with_and_without_noise(tmp_path, monkeypatch):
    seen = []
    rates = iter([0.5, 0.3, 0.04, 0.02])

    def evaluated(folder, by_voice, weights):
        row = {"cer": next(rates), "sentences": 0.5, "slots": 0.75, "utterances": 6}
        return [{"noise": "clean", "voice": "all", **row}]

    monkeypatch.setattr(
        study.loop,
        "run",
        lambda c: seen.append((c.train.seed, c.noise.probability, c.train.output)),
    )
    monkeypatch.setattr(study.evaluate, "run", evaluated)
    settings = config.load(None, ["evaluate.train_seeds=[4, 5]", f"train.output={tmp_path}"])
    rows = study.run(settings)
    assert seen == [
        (4, 0.0, f"{tmp_path}/clean-4"),
        (5, 0.0, f"{tmp_path}/clean-5"),
        (4, 0.7, f"{tmp_path}/noise-4"),
        (5, 0.7, f"{tmp_path}/noise-5"),
    ]
    assert [row["trained with"] for row in rows] == ["clean", "noise"]
    assert [row["cer"] for row in rows] == pytest.approx([0.4, 0.03])
    assert [row["worst cer"] for row in rows] == [0.5, 0.04]
    assert json.loads((tmp_path / "study.json").read_text()) == rows
    assert settings.train.seed == 1, "the caller's configuration stays"
