# SPDX-License-Identifier: Apache-2.0
"""Defaults, YAML, overrides and their errors."""

import os
from pathlib import Path

import pytest

from mindspore_rnnt.recipe import config, rules


@pytest.mark.parametrize("name", ["smoke.yaml", "tiny.yaml", "base.yaml", "aishell.yaml"])
def test_shipped_configurations_load_from_any_folder(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loaded = config.load(name)
    assert loaded.train.output == f"runs/{name.removesuffix('.yaml')}"


def test_overrides_come_after_the_file_and_are_typed(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("optim: {lr: 1e-3}\ntrain: {epochs: 3}\ndata: {vocabulary: ~}\n")
    loaded = config.load(path, ["optim.lr=5e-4", "noise.snr_db=[0, 5]", "train.jit=false"])
    assert loaded.optim.lr == 5e-4
    assert loaded.train.epochs == 3
    assert loaded.noise.snr_db == [0.0, 5.0]
    assert loaded.train.jit is False
    assert loaded.data.vocabulary == ""
    assert config.load().train.epochs != 3, "defaults must not change"


def test_saved_and_loaded_is_the_same(tmp_path):
    original = config.load("aishell.yaml", ["data.train_voices=[f1, '']"])
    config.save(original, tmp_path / "saved.yaml")
    assert config.load(tmp_path / "saved.yaml") == original
    assert [item.name for item in tmp_path.iterdir()] == ["saved.yaml"]


def test_the_kind_of_loss_may_stand_for_its_section(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("loss: pruned\n")
    assert config.load(path).loss.kind == "pruned"
    changed = config.load(path, ["loss=tdt", "loss.sigma=0.1"]).loss
    assert (changed.kind, changed.sigma) == ("tdt", 0.1)
    path.write_text("loss: {kind: tdt, durations: [0, 1]}\n")
    assert config.load(path).loss.durations == [0, 1]
    path.write_text("loss: 3\n")
    with pytest.raises(ValueError, match=r"mine.yaml: loss must be a mapping, but got int"):
        config.load(path)


def test_differences_are_named():
    old, new = config.load(), config.load(None, ["optim.lr=0.5", "data.pitch=[1, 2]"])
    assert config.differences(old, old) == []
    assert config.differences(old, new) == [
        "data.pitch: [25, 75] -> [1, 2]",
        "optim.lr: 0.002 -> 0.5",
    ]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("trian.epochs=1", "unknown section: 'trian'; did you mean 'train'"),
        ("train.epoch=1", "unknown key in 'train': 'epoch'; did you mean 'epochs'"),
        ("train.zzz=1", "known: output, seed"),
        ("train.epochs=1.5", "train.epochs must be int, but got 1.5"),
        ("train.epochs=true", "train.epochs must be int, but got True"),
        ("train.jit=1", "train.jit must be bool, but got 1"),
        ("optim.lr=fast", "optim.lr must be float, but got 'fast'"),
        ("noise.snr_db=5", "noise.snr_db must be a list, but got 5"),
        ("noise.snr_db=[a]", "noise.snr_db must be float, but got 'a'"),
        ("noise.probability=1.5", "noise.probability must be in [0, 1], but got 1.5"),
        ("noise.snr_db=[20, 0]", "noise.snr_db must be [lowest, highest], but got [20.0, 0.0]"),
        ("noise.kinds=[]", "noise.kinds must be a list that is not empty, but got []"),
        ("noise.kinds=[machine, hum]", "noise.kinds may have 'machine', "),
        ("evaluate.noises=[blue]", "'reverberated', but has 'blue'"),
        ("evaluate.changes=[echo]", "evaluate.changes may have 'bare', "),
        (
            "augment.pad_seconds=[-1, 1]",
            "augment.pad_seconds must be [least, most] seconds from 0 up, but got [-1.0, 1.0]",
        ),
        ("data.min_seconds=0", "data.min_seconds must be at least 0.1"),
        ("train.batch_size=0", "train.batch_size must be at least 1, but got 0"),
        ("augment.speeds=[]", "augment.speeds must be speeds from 0.5 to 1.8, but got []"),
        ("train.dtype=fp16", "train.dtype must be one of 'float32', 'float16', but got 'fp16'"),
        ("train.device=GPU", "train.device must be one of '', 'CPU', 'Ascend', but got 'GPU'"),
        ("decode.method=bean", "decode.method must be one of 'greedy', 'beam', but got 'bean'"),
        ("model.subsampling=pool", "model.subsampling must be one of 'stack', 'conv2d'"),
        ("model.predictor=gru", "model.predictor must be one of 'stateless', 'lstm'"),
        ("model.chunk_size=0", "model.chunk_size must be -1 or at least 1, but got 0"),
        ("model.left_chunks=-2", "model.left_chunks must be -1 or at least 0, but got -2"),
        ("model.dropout=1.0", "model.dropout must be in [0, 1), but got 1.0"),
        ("model.blocks=0", "model.blocks must be at least 1, but got 0"),
        ("model.predictor_context=0", "model.predictor_context must be at least 1, but got 0"),
        ("train.average=0", "train.average must be at least 1, but got 0"),
        ("train.keep_last=0", "train.keep_last must be at least 1, but got 0"),
        ("optim.loss_scale=0.5", "optim.loss_scale must be at least 1, but got 0.5"),
        ("optim.lr=.nan", "optim.lr must be above 0, but got nan"),
        ("train.save_every=-1", "train.save_every must be at least 0, but got -1"),
        ("data.max_seconds=0.3", "data.min_seconds must be below data.max_seconds, but got 0.3"),
        ("data.grammar=", "data.grammar may be empty only with a corpus of your own"),
        ("loss=ctc", "loss.kind must be one of 'rnnt', 'pruned', 'tdt', but got 'ctc'"),
        ("loss=3", "loss.kind must be str, but got 3"),
        ("loss.durations=[0, 2]", "with a 1, or some utterances have no path, but got [0, 2]"),
        ("loss.durations=[1, 1]", "loss.durations must be distinct, at least 0, and with a 1"),
        ("loss.durations=[-1, 1]", "loss.durations must be distinct, at least 0, and with a 1"),
        ("loss.durations=[]", "loss.durations must be distinct, at least 0, and with a 1"),
        ("loss.sigma=.inf", "loss.sigma must be at least 0 and finite, but got inf"),
        ("loss.prune_range=1", "loss.prune_range must be at least 2, but got 1"),
        ("loss.warmup_steps=-1", "loss.warmup_steps must be at least 0, but got -1"),
        ("loss.simple_scale=-0.5", "loss.simple_scale must be at least 0, but got -0.5"),
        ("loss.am_only_scale=0.8", "must be at most 1 together, but got 0.25 and 0.8"),
        ("train.epochs", "wants section.key=value"),
        ("epochs=1", "wants section.key=value"),
    ],
)
def test_bad_overrides_say_what_is_wrong(override, message):
    with pytest.raises(ValueError) as error:
        config.load(None, [override])
    print(error.value)
    assert message in str(error.value)


def test_every_rule_is_about_a_setting_that_there_is():
    tree = config.Config().to_dict()
    keys = [*rules.CHOICES, *(key for _, keys in rules.RULES.values() for key in keys)]
    assert len(keys) == len(set(keys))
    keys += rules.EACH
    assert all(name in tree[section] for section, name in (key.split(".") for key in keys))


def test_bad_file_names_itself(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("train: 3\n")
    with pytest.raises(ValueError, match=r"mine.yaml: train must be a mapping, but got int"):
        config.load(path)
    with pytest.raises(FileNotFoundError, match=r"no configuration 'none.yaml'; looked for"):
        config.load("none.yaml")


def test_a_name_is_found_in_the_package_when_there_is_no_source_tree(tmp_path, monkeypatch):
    package = tmp_path / "mindspore_rnnt"
    (package / "_configs").mkdir(parents=True)
    (package / "_configs" / "only_here.yaml").write_text("train: {seed: 5}\n")
    monkeypatch.setattr(config, "PACKAGE", package)
    assert config.load("only_here.yaml").train.seed == 5
    assert config.find("only_here.yaml") == Path(os.path.join(package, "_configs/only_here.yaml"))
