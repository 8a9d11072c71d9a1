# SPDX-License-Identifier: Apache-2.0
"""Defaults, YAML, overrides and their errors."""

import re

import pytest

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.settings import Config

NAMES = ("smoke", "tiny", "base", "aishell", "gcin_voice", "fillets_cs")


@pytest.mark.parametrize("name", NAMES)
def test_shipped_configurations_load_from_any_folder(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert config.load(f"{name}.yaml").train.output == f"runs/{name}"


def test_commands_of_people_are_trained_with_the_settings_of_the_demo():
    changed = config.differences(config.load("tiny.yaml"), config.load("gcin_voice.yaml"))
    assert [line.partition(":")[0] for line in changed] == ["data.extra", "train.output"]


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
        ("noise.snr_db=[20, 0]", "noise.snr_db must be [lowest, highest], but got [20, 0]"),
        ("model.chunk_size=0", "model.chunk_size must be -1 or at least 1, but got 0"),
        ("data.max_seconds=0.3", "data.min_seconds must be below data.max_seconds, but got 0.3"),
        ("endpoint.overlap=2", "endpoint.overlap must be below endpoint.silence and"),
        ("data.grammar=", "data.grammar may be empty only with a corpus of your own"),
        ("loss.durations=[0, 2]", "with a 1, or some speech has no path, but got [0, 2]"),
        ("loss.durations=[1, 1]", "loss.durations must be distinct, at least 0, and with a 1"),
        ("loss.durations=[-1, 1]", "loss.durations must be distinct, at least 0, and with a 1"),
        ("loss.durations=[]", "loss.durations must be distinct, at least 0, and with a 1"),
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


@pytest.mark.parametrize(
    ("override", "bound", "value"),
    [
        ("train.epochs=1.5", "integer", "1.5"),
        ("train.epochs=true", "integer", "True"),
        ("train.jit=1", "boolean", "1"),
        ("optim.lr=fast", "number", "'fast'"),
        ("optim.lr=true", "number", "True"),
        ("noise.snr_db=5", "list", "5"),
        ("noise.snr_db=[a, 1]", "number", "'a'"),
        ("noise.probability=1.5", "1", "1.5"),
        ("features.sample_rate=0", "1", "0"),
        ("features.hop_ms=0", "0", "0"),
        ("features.window_ms=-1", "0", "-1"),
        ("noise.kinds=[]", "1", "[]"),
        ("noise.kinds=[machine, hum]", "'machine', .*'babble'", "'hum'"),
        ("evaluate.noises=[blue]", "'reverberated'", "'blue'"),
        ("evaluate.changes=[echo]", "'bare', ", "'echo'"),
        ("augment.pad_seconds=[-1, 1]", "0", "-1"),
        ("data.min_seconds=0", "0.1", "0"),
        ("train.batch_size=0", "1", "0"),
        ("augment.speeds=[]", "1", "[]"),
        ("augment.speeds=[0.1]", "0.5", "0.1"),
        ("train.dtype=fp16", "'float32' or 'float16'", "'fp16'"),
        ("train.device=GPU", "'CPU' or 'Ascend'", "'GPU'"),
        ("decode.method=bean", "'greedy' or 'beam'", "'bean'"),
        ("model.subsampling=pool", "'stack' or 'conv2d'", "'pool'"),
        ("model.predictor=gru", "'stateless' or 'lstm'", "'gru'"),
        ("model.left_chunks=-2", "-1", "-2"),
        ("model.dropout=1.0", "1", "1.0"),
        ("model.blocks=0", "1", "0"),
        ("train.average=0", "1", "0"),
        ("optim.loss_scale=0.5", "1", "0.5"),
        ("optim.lr=.nan", "", "nan"),
        ("optim.lr=0", "0", "0"),
        ("train.save_every=-1", "0", "-1"),
        ("loss.kind=ctc", "'rnnt', 'pruned' or 'tdt'", "'ctc'"),
        ("loss.kind=3", "'rnnt', 'pruned' or 'tdt'", "3"),
        ("loss.sigma=.inf", "", "inf"),
        ("loss.prune_range=1", "2", "1"),
        ("loss.warmup_steps=-1", "0", "-1"),
        ("loss.simple_scale=-0.5", "0", "-0.5"),
    ],
)
def test_a_bad_value_is_named_with_its_bound(override, bound, value):
    """The words between are pydantic's own."""
    with pytest.raises(ValueError) as error:
        config.load(None, [override])
    key = re.escape(override.partition("=")[0])
    words = rf"--set .*: {key} must .*{bound}.*, but got {re.escape(value)}"
    assert re.fullmatch(words, str(error.value)), error.value


def test_a_model_that_jumps_has_no_beam_search():
    with pytest.raises(
        ValueError, match=r"^decode.method must be 'greedy' for a model of loss.kind 'tdt'"
    ):
        config.load(None, ["loss=tdt", "decode.method=beam"])


def test_the_defaults_are_values_that_may_be_set():
    assert Config.model_validate(Config().model_dump()) == Config()


def test_bad_file_names_itself(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("train: 3\n")
    with pytest.raises(ValueError, match=r"mine.yaml: train must be a mapping, but got int"):
        config.load(path)
    path.write_text("train: {epochs: 0}\n")
    with pytest.raises(ValueError, match=r"mine.yaml: train.epochs must .*, but got 0"):
        config.load(path)
    with pytest.raises(FileNotFoundError, match=r"none.yaml is neither a file nor one of the"):
        config.load("none.yaml")
