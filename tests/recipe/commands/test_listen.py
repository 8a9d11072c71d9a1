# SPDX-License-Identifier: Apache-2.0
"""From a file or a pipe to text and work order: the stream finds what the whole file gives."""

import copy
import io
import json
import signal
from types import SimpleNamespace

import mindspore as ms
import numpy as np
import pytest
import soundfile
from scipy.signal import resample_poly

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.commands import listen
from mindspore_rnnt.recipe.data import buckets, dataset
from mindspore_rnnt.recipe.data.features import Cmvn, LogMel
from mindspore_rnnt.recipe.decoding import run_folder
from mindspore_rnnt.recipe.decoding.search import decode
from mindspore_rnnt.recipe.model import transducer

OVERRIDES = [
    "data.train_utterances=2",
    "data.heldout_utterances=1",
    "model.encoder_dim=16",
    "model.feed_forward=16",
    "model.predictor_dim=16",
    "model.joiner_dim=16",
    "model.blocks=1",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a model of random weights, its held-out utterance and what it hears in it."""
    folder = tmp_path_factory.mktemp("run")
    settings = config.load(None, OVERRIDES)
    train, (heldout,), vocabulary = dataset.load(settings)
    extractor = LogMel(settings.features)
    cmvn = Cmvn.of(extractor(item.audio()) for item in train)
    ms.set_seed(1)
    network = transducer.build(settings, len(vocabulary))
    run_folder.start_run(folder, settings, vocabulary, cmvn)
    ms.save_checkpoint(network, str(folder / "model.ckpt"))
    loaded = run_folder.load_run(folder)
    recogniser = loaded[0]
    features = cmvn(extractor(heldout.audio()))
    padded, lengths = buckets.pad([features], buckets.shape_of(len(features), []))
    ((ids, _),) = decode(recogniser, padded, lengths, settings)
    return loaded, heldout, vocabulary.decode(ids)


def use(monkeypatch, loaded):
    """`listen` takes this model, which so is compiled once for all tests."""
    monkeypatch.setattr(listen, "load_run", lambda folder, weights: loaded)


def test_a_wav_file_gives_what_the_whole_utterance_gives(trained, tmp_path, capsys, monkeypatch):
    loaded, utterance, expected = trained
    use(monkeypatch, loaded)
    soundfile.write(tmp_path / "a.wav", utterance.pcm, 16000)
    heard = listen.run("any", str(tmp_path / "a.wav"))
    shown = capsys.readouterr().out
    print(shown)
    assert len(expected) > 0
    assert heard["text"] == expected
    assert heard["order"]["understood"] is False and heard["order"]["text"] == expected
    assert heard["real_time_factor"] > 0
    assert shown.startswith(expected + "\n{")
    assert json.loads(shown[shown.index("{") : shown.rindex("}") + 1]) == heard["order"]
    assert "real-time factor" in shown


def test_a_pipe_gives_the_same_as_the_file(trained, monkeypatch):
    loaded, utterance, expected = trained
    use(monkeypatch, loaded)
    odd = utterance.pcm.astype("<i2").tobytes() + b"\x01"
    monkeypatch.setattr(listen.sys, "stdin", SimpleNamespace(buffer=io.BytesIO(odd)))
    assert listen.run("any", "-")["text"] == expected


class Pipe:
    """Audio without an end: when it is read up, Ctrl-C comes during the read."""

    def __init__(self, audio):
        self._audio = io.BytesIO(audio)

    def read(self, size):
        block = self._audio.read(size)
        if not block:
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("Ctrl-C was ignored")
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what MindSpore does to it as it compiles
        return block


def test_ctrl_c_ends_the_audio_and_the_order_follows(trained, monkeypatch, capsys):
    loaded, utterance, expected = trained
    use(monkeypatch, loaded)
    pipe = Pipe(utterance.pcm.astype("<i2").tobytes())
    monkeypatch.setattr(listen.sys, "stdin", SimpleNamespace(buffer=pipe))
    heard = listen.run("any", "-")
    assert heard["text"] == expected and heard["order"]["text"] == expected
    assert '"understood": false' in capsys.readouterr().out
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_between_two_reads_loses_nothing(monkeypatch):
    blocks = io.BytesIO(np.arange(12, dtype="<i2").tobytes())
    monkeypatch.setattr(listen.sys, "stdin", SimpleNamespace(buffer=blocks))
    pieces = listen._standard_input(4)
    assert (next(pieces) * 32768).tolist() == [0, 1, 2, 3]
    signal.raise_signal(signal.SIGINT)
    assert list(pieces) == []


def test_without_a_grammar_there_is_no_order(trained, tmp_path, monkeypatch, capsys):
    (recogniser, settings, *rest), utterance, expected = trained
    settings = copy.deepcopy(settings)
    use(monkeypatch, (recogniser, settings, *rest))
    soundfile.write(tmp_path / "a.wav", utterance.pcm, 16000)
    settings.data.grammar = ""
    heard = listen.run("any", str(tmp_path / "a.wav"))
    assert (heard["text"], heard["order"]) == (expected, None)
    assert "{" not in capsys.readouterr().out
    settings.data.grammar = "lost.yaml"
    with pytest.raises(FileNotFoundError, match=r"lost\.yaml"):
        listen.run("any", "not looked for yet.wav")


def test_any_rate_and_channels_are_read(tmp_path):
    tone = 0.3 * np.sin(2 * np.pi * 300 * np.arange(44100) / 44100)
    soundfile.write(tmp_path / "cd.wav", np.stack([tone, tone], axis=1), 44100, subtype="FLOAT")
    audio = listen.read_any(tmp_path / "cd.wav", 16000)
    expected = resample_poly(tone, 160, 441)
    assert audio.dtype == np.float32 and len(audio) == 16000
    error = np.abs(audio - expected).max()
    print("max error", error)
    assert error < 1e-6


def test_what_cannot_be_read_says_so(tmp_path):
    (tmp_path / "text.wav").write_text("no audio")
    with pytest.raises(ValueError, match=r"cannot read audio from '.*text.wav'"):
        listen.read_any(tmp_path / "text.wav", 16000)
    with pytest.raises(FileNotFoundError, match="holds no trained model"):
        listen.run(tmp_path, "any.wav")
    (tmp_path / "encoder.mindir").touch()
    with pytest.raises(ValueError, match="choose their weights when exporting"):
        listen.run(tmp_path, "any.wav", weights="best")
