# SPDX-License-Identifier: Apache-2.0
"""A file that is replaced is whole at any moment."""

import os

import pytest

from mindspore_rnnt.tools.replacing import replacing


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_earlier_content_and_no_draft(tmp_path, error):
    path = tmp_path / "results.csv"
    path.write_text("earlier")
    with pytest.raises(error), replacing(path) as draft:
        draft.write_text("half")
        raise error
    assert path.read_text() == "earlier" and list(tmp_path.iterdir()) == [path]


def test_the_draft_of_a_killed_run_goes(tmp_path):
    path = tmp_path / "best.ckpt"
    with replacing(path) as left:
        left.write_text("half")
        assert not path.exists()
    left.write_text("of a killed run")
    left.chmod(0o400)  # as MindSpore leaves its checkpoints
    with replacing(path) as draft:
        assert draft == left and draft.suffix == ".ckpt" and not draft.exists()
        draft.write_text("whole")
    assert path.read_text() == "whole" and list(tmp_path.iterdir()) == [path]


def test_writers_that_share_a_file(tmp_path):
    path = tmp_path / "features.npy"
    with replacing(path, shared=True) as one, replacing(path, shared=True) as other:
        one.write_text("one")
        other.write_text("other")
    assert path.read_text() == "one" and list(tmp_path.iterdir()) == [path]


def test_a_lasting_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    path, synced = tmp_path / "last.ckpt", []

    def fsync(number):
        assert not path.exists()
        synced.append(os.pread(number, 99, 0))

    monkeypatch.setattr(os, "fsync", fsync)
    with replacing(path, lasting=True) as draft:
        draft.write_text("whole")
    assert synced == [b"whole"] and path.exists()
