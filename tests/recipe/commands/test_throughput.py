# SPDX-License-Identifier: Apache-2.0
"""The table of prepared hours: every kind has a row; what is measured is what was asked for."""

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.commands import throughput
from mindspore_rnnt.recipe.data.batches import BatchSource

SMALL = ["data.train_utterances=6", "data.heldout_utterances=2", "train.batch_size=3"]


def test_each_kind_of_preparation_has_a_row(monkeypatch, capsys):
    seen = []
    batch = BatchSource.batch

    def watched(source, epoch, step):
        made = batch(source, epoch, step)
        seen.append((source._config.noise.probability, made["frame_lengths"].sum()))
        return made

    monkeypatch.setattr(BatchSource, "batch", watched)
    rows = throughput.run(config.load(None, SMALL), seconds=0.0)
    assert [row["prepared"] for row in rows] == list(throughput.CHANGES)
    assert all(float(row["hours a second and core"]) > 0 for row in rows)
    assert {probability for probability, _ in seen} == {0.0, 0.7, 1.0}
    assert seen[-1][1] > seen[0][1], "quiet around the speech is part of what is configured"
    assert "| clean, cached |" in capsys.readouterr().out
