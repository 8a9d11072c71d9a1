# SPDX-License-Identifier: Apache-2.0
"""Long work shows a bar on a terminal, and writes nothing of it to a file."""

import io

import numpy as np
import pytest
import soundfile

from mindspore_rnnt.recipe import bar, config
from mindspore_rnnt.recipe.commands import synth
from mindspore_rnnt.recipe.data import shards
from mindspore_rnnt.recipe.data.corpus import load_corpus, write_manifest
from mindspore_rnnt.recipe.data.recordings import Recordings
from mindspore_rnnt.recipe.data.synth import Spoken, speak_train, synthesise

SMALL = [
    "data.train_utterances=3",
    "data.heldout_utterances=1",
    *(f"data.train_{name}=0" for name in ("phrases", "fragments", "others", "noises")),
]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def noise_folder(folder):
    for name in ("a.wav", "b.wav"):
        soundfile.write(folder / name, 0.1 * np.ones(1600), 16000)
    Recordings(str(folder), 16000, strict=True)


def corpus(folder):
    manifest = write_manifest(speak_train(config.load(None, SMALL)), folder, "train")
    load_corpus(manifest, config.load())


def packed(folder):
    shards.pack(speak_train(config.load(None, SMALL)), folder / "train.mindrecord", 1)


WORK = {  # what runs, and what its bars are called and count
    "synth": (lambda folder: synth.run(config.load(None, SMALL), folder), {"train": 3}),
    "speech": (lambda folder: synthesise([Spoken("记录", "f2", 200, 50)] * 2), {"speaking": 2}),
    "corpus": (corpus, {"recordings": 3}),
    "pack": (packed, {"packing": 1}),
    "noise": (noise_folder, {"noise files": 2}),
}


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("kind", [Terminal, io.StringIO])
def test_a_bar_is_on_a_terminal_only(work, kind, tmp_path, monkeypatch):
    run, bars = WORK[work]
    monkeypatch.setattr(bar, "DELAY", 0.0)
    stderr = kind()
    monkeypatch.setattr("sys.stderr", stderr)
    run(tmp_path)
    if kind is io.StringIO:
        assert stderr.getvalue() == ""
    for name, count in bars.items() if kind is Terminal else ():
        assert f"\r{name}:   0%|" in stderr.getvalue() and f" 0/{count} [" in stderr.getvalue()


def test_what_goes_through_a_bar_is_all_there(monkeypatch):
    for stderr in (Terminal(), io.StringIO()):
        monkeypatch.setattr("sys.stderr", stderr)
        assert list(bar.bar(iter("abc"), "letters", "letter", total=3)) == ["a", "b", "c"]
