# SPDX-License-Identifier: Apache-2.0
"""From a file or a pipe to text and work order: the stream finds what the whole file gives."""

import copy
import io
import json
import re
import signal
import warnings
from types import SimpleNamespace

import mindspore as ms
import numpy as np
import pytest
import soundfile
from recipe_networks import Deaf
from scipy.signal import resample_poly

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.commands import listen
from mindspore_rnnt.recipe.data import buckets, dataset
from mindspore_rnnt.recipe.data.features import Cmvn, LogMel
from mindspore_rnnt.recipe.data.text import Vocabulary
from mindspore_rnnt.recipe.decoding import run_folder, streaming
from mindspore_rnnt.recipe.decoding.beam import BeamSearch
from mindspore_rnnt.recipe.decoding.greedy import GreedySearch
from mindspore_rnnt.recipe.decoding.search import decode
from mindspore_rnnt.recipe.model import transducer

OVERRIDES = [
    *(f"endpoint.{rule}=99" for rule in ("silence", "no_speech", "longest")),
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
    (found,) = decode(recogniser, padded, lengths, settings)
    return loaded, heldout, vocabulary.decode(found.ids)


def use(monkeypatch, loaded):
    """`listen` takes this model, which so is compiled once for all tests."""
    monkeypatch.setattr(listen, "load_run", lambda folder, config, weights: loaded)


def texts(heard):
    return [report["text"] for report in heard["utterances"]]


def test_a_wav_file_gives_what_the_whole_utterance_gives(trained, tmp_path, capsys, monkeypatch):
    loaded, utterance, expected = trained
    use(monkeypatch, loaded)
    soundfile.write(tmp_path / "a.wav", utterance.pcm, 16000)
    heard = listen.run("any", str(tmp_path / "a.wav"))
    shown = capsys.readouterr().out
    print(shown)
    assert len(expected) > 0
    (report,) = heard["utterances"]
    assert report["text"] == expected and report["order"] is None
    assert heard["real_time_factor"] > 0
    text, line, refusal, factor = shown.splitlines()
    assert text == expected and json.loads(line) == report
    assert refusal == f"no ticket: {report['reason']}" and factor.startswith("real-time factor")
    times = [one["seconds"] for one in report["characters"]]
    assert times == sorted(times) and report["begin"] < times[0] and report["end"] == times[-1]
    assert all(0 < one["confidence"] < 1 for one in report["characters"])


def test_a_pipe_gives_the_same_as_the_file(trained, monkeypatch):
    loaded, utterance, expected = trained
    use(monkeypatch, loaded)
    odd = utterance.pcm.astype("<i2").tobytes() + b"\x01"
    monkeypatch.setattr(listen.sys, "stdin", SimpleNamespace(buffer=io.BytesIO(odd)))
    assert texts(listen.run("any", "-")) == [expected]


def test_no_audio_is_an_error(trained, monkeypatch):
    use(monkeypatch, trained[0])
    monkeypatch.setattr(listen.sys, "stdin", SimpleNamespace(buffer=io.BytesIO()))
    with pytest.raises(ValueError, match="no audio came from stdin"):
        listen.run("any", "-")


class Pipe:
    """Audio without an end: when it is read up, Ctrl-C comes during the read."""

    def __init__(self, audio):
        self._audio = io.BytesIO(audio)

    def read1(self, size):
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
    assert texts(heard) == [expected]
    assert "no ticket: " in capsys.readouterr().out
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_between_two_reads_loses_nothing(monkeypatch):
    blocks = io.BytesIO(np.arange(12, dtype="<i2").tobytes())
    monkeypatch.setattr(listen.sys, "stdin", SimpleNamespace(buffer=blocks))
    pieces = listen._standard_input(4)
    assert (next(pieces) * 32768).tolist() == [0, 1, 2, 3]
    signal.raise_signal(signal.SIGINT)
    assert list(pieces) == []


def test_samples_may_be_cut_anywhere(monkeypatch):
    class Cut:
        """Gives three bytes at a time: half a sample waits for its other half."""

        def __init__(self):
            self._audio = io.BytesIO(np.arange(30, dtype="<i2").tobytes())

        def read1(self, size):
            return self._audio.read(3)

    monkeypatch.setattr(listen.sys, "stdin", SimpleNamespace(buffer=Cut()))
    heard = np.concatenate(list(listen._standard_input(4)))
    assert (heard * 32768).tolist() == list(range(30))


def test_without_a_grammar_there_is_no_order(trained, tmp_path, monkeypatch, capsys):
    (recogniser, settings, *rest), utterance, expected = trained
    settings = copy.deepcopy(settings)
    use(monkeypatch, (recogniser, settings, *rest))
    soundfile.write(tmp_path / "a.wav", utterance.pcm, 16000)
    settings.data.grammar = ""
    heard = listen.run("any", str(tmp_path / "a.wav"))
    assert texts(heard) == [expected] and "order" not in heard["utterances"][0]
    assert "no ticket" not in capsys.readouterr().out
    settings.data.grammar = "lost.yaml"
    with pytest.raises(FileNotFoundError, match=r"lost\.yaml"):
        listen.run("any", "not looked for yet.wav")


def test_what_training_refuses_listen_refuses(tmp_path, monkeypatch, capsys):
    from mindspore_rnnt.recipe.__main__ import main

    cmvn = Cmvn(np.zeros(80), np.ones(80))
    use(monkeypatch, (Deaf(), config.load(), Vocabulary("甲"), cmvn))
    audio = (0.1 * np.random.default_rng(0).standard_normal(16000)).astype(np.float32)
    broken = audio.copy()
    broken[100] = np.nan
    soundfile.write(tmp_path / "nan.wav", broken, 16000, subtype="FLOAT")
    soundfile.write(tmp_path / "opposite.wav", np.stack([audio, -audio], 1), 16000)
    soundfile.write(tmp_path / "empty.wav", np.zeros(0), 16000)
    (tmp_path / "audio.raw").write_bytes(bytes(32000))
    (tmp_path / "text.wav").write_text("no audio")
    for name, message in {
        "nan.wav": "nan.wav has samples that are not finite",
        "opposite.wav": "channels of .*opposite.wav cancel each other",
        "empty.wav": "empty.wav has no samples",
        "audio.raw": "cannot read audio from '.*audio.raw': samplerate must be",
        "text.wav": "cannot read audio from '.*text.wav': ",
        "lost.wav": "no audio file at '.*lost.wav'",
    }.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert main(["listen", "--checkpoint", "any", "--wav", str(tmp_path / name)]) == 1
        assert re.fullmatch(rf"recipe: .*{message}.*\n", capsys.readouterr().err), name
    soundfile.write(tmp_path / "good.wav", audio, 16000)
    assert main(["listen", "--checkpoint", "any", "--wav", str(tmp_path / "good.wav")]) == 0


def test_settings_of_the_run_can_be_changed(tmp_path, monkeypatch, capsys):
    """As `--set`: the configuration that reaches the decoder is the run's with these changes."""
    from mindspore_rnnt.recipe.__main__ import main

    cmvn = Cmvn(np.zeros(80), np.ones(80))
    used = []

    def load_run(folder, config, weights):
        used.append(config)
        return Deaf(), config, Vocabulary("甲"), cmvn

    run_folder.start_run(tmp_path, config.load(None, ["decode.beam=7"]), Vocabulary("甲"), cmvn)
    monkeypatch.setattr(listen, "load_run", load_run)
    opened = []
    search = streaming.open_search
    monkeypatch.setattr(
        streaming, "open_search", lambda *parts: opened.append(search(*parts)) or opened[-1]
    )
    soundfile.write(tmp_path / "a.wav", 0.1 * np.ones(16000), 16000)
    changes = ["decode.method=beam", "decode.max_symbols=2", "data.grammar=inspection.yaml"]
    words = [word for item in changes for word in ("--set", item)]
    for more, kind in ((words, BeamSearch), ([], GreedySearch)):
        opened.clear()
        wav = str(tmp_path / "a.wav")
        assert main(["listen", "--checkpoint", str(tmp_path), "--wav", wav, *more]) == 0
        assert {type(item) for item in opened} == {kind}
    changed, own = used
    assert (changed.decode.method, changed.decode.max_symbols) == ("beam", 2)
    assert (changed.decode.beam, own.decode.beam) == (7, 7), "what is not changed is the run's"
    assert (own.decode.method, own.decode.max_symbols) == ("greedy", 3)
    assert changed.data.grammar == "inspection.yaml"
    assert own.data.grammar == str(tmp_path / "grammar.yaml")
    assert main(["listen", "--checkpoint", str(tmp_path), "--wav", "a", "--set", "decode.bem=1"])
    assert "did you mean 'beam'" in capsys.readouterr().err


def test_any_rate_and_channels_are_read(tmp_path):
    tone = 0.3 * np.sin(2 * np.pi * 300 * np.arange(44100) / 44100)
    soundfile.write(tmp_path / "cd.wav", np.stack([tone, tone], axis=1), 44100, subtype="FLOAT")
    audio = listen.read_audio(tmp_path / "cd.wav", 16000)
    expected = resample_poly(tone, 160, 441)
    assert audio.dtype == np.float32 and len(audio) == 16000
    error = np.abs(audio - expected).max()
    print("max error", error)
    assert error < 1e-6


def test_a_folder_without_a_model_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no trained model"):
        listen.run(tmp_path, "any.wav")
    (tmp_path / "encoder.mindir").touch()
    with pytest.raises(ValueError, match="choose their weights when exporting"):
        listen.run(tmp_path, "any.wav", weights="best")
