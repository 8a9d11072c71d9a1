# SPDX-License-Identifier: Apache-2.0
"""Tables, pictures and work orders of a run whose decoder is replaced by known answers."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.commands import evaluate, study
from mindspore_rnnt.recipe.data import dataset
from mindspore_rnnt.recipe.data.conditions import Condition, Trials
from mindspore_rnnt.recipe.data.grammar import load_grammar
from mindspore_rnnt.recipe.decoding import scoring
from mindspore_rnnt.recipe.decoding.alarms import Alarms
from mindspore_rnnt.recipe.decoding.found import Found

OVERRIDES = [
    "data.train_utterances=6",
    "data.heldout_utterances=6",
    "decode.batch_size=4",
    "evaluate.snr_db=[5]",
    "evaluate.noises=[]",
    "evaluate.changes=[]",
    "evaluate.pad_seconds=[0, 0]",
    "evaluate.gain_db=[0, 0]",
    "evaluate.pictures=1",
    "evaluate.noise_hours=0",
    "evaluate.others=4",
]


@pytest.fixture
def answers(monkeypatch):
    """Decoding that hears everything rightly but voice m4, of whom the last character is lost."""
    settings = config.load(None, OVERRIDES)
    train, heldout, vocabulary = dataset.load(settings)
    by_frames = {}

    def load_run(folder, config=None, weights="mean"):
        return SimpleNamespace(chunk_size=4), config or settings, vocabulary, cmvn

    def decode(recogniser, features, frame_lengths, *_):
        assert features.shape[0] == len(frame_lengths) == 4
        found = []
        for frames in frame_lengths:
            text, voice = by_frames.get(int(frames), ("", ""))
            ids = tuple(vocabulary.encode(text)[: -1 if voice == "m4" else None].tolist())
            sure = (np.log(0.7 if voice == "m4" else 0.999),) * len(ids)
            found.append(Found(ids, tuple(range(len(ids))), sure))
        return found

    def speed(recogniser, config, cmvn, recordings):
        seconds = sum(len(audio) for audio in recordings) / 16000
        return {"seconds": seconds, "real-time factor": 0.25, "decoder steps a second": 6.0}

    extractor = scoring.LogMel(settings.features)
    cmvn = scoring.Cmvn.of([extractor(item.audio()) for item in train])
    for item in heldout:
        by_frames[extractor.num_frames(item.samples)] = (item.text, item.voice)
    assert len(by_frames) == 6, "the answers are told apart by their length"
    monkeypatch.setattr(evaluate, "load_run", load_run)
    monkeypatch.setattr(scoring, "decode", decode)
    monkeypatch.setattr(evaluate, "sound_alarms", lambda *parts: Alarms([], 0, [], 4, [1.0], 6))
    monkeypatch.setattr(evaluate, "stream_speed", speed)
    monkeypatch.setattr(evaluate.lattices, "draw", lambda *parts: parts[-1].touch())
    return heldout


def test_table_by_noise_and_voice(answers, tmp_path, capsys):
    rows = evaluate.run(tmp_path, by_voice=True)
    lost = sum(item.voice == "m4" for item in answers)
    length = sum(len(item.text) for item in answers)
    assert [(row["noise"], row["voice"]) for row in rows] == [
        (noise, voice) for noise in ("clean", "5 dB") for voice in ("all", "f3", "m4")
    ]
    overall, f3, m4 = rows[:3]
    assert overall["cer"] == pytest.approx(lost / length)
    assert (f3["cer"], f3["sentences"], f3["slots"]) == (0.0, 1.0, 1.0)
    assert m4["sentences"] == m4["slots"] == 0.0
    assert f3["utterances"] + m4["utterances"] == overall["utterances"] == 6
    written = json.loads((tmp_path / "evaluation.json").read_text())
    assert written["rates"] == rows and (tmp_path / "rejection.png").stat().st_size > 5000
    assert sum(row["count"] for row in written["reliability"]) > 0
    assert (tmp_path / "emissions_1.png").stat().st_size > 10000
    shown = capsys.readouterr().out
    assert "| clean | f3 | 0.00 % | 100.00 % | 100.00 % | 0.00 % | 0.00 % | 3 |" in shown
    assert "0.0 % tickets; 83.3 % of 6 commands are missed" in shown
    seconds = sum(item.samples for item in answers) / 16000
    assert written["streaming"]["seconds"] == pytest.approx(seconds)
    assert f"{seconds:.0f} s of clean speech: real-time factor 0.250, 6.0 decoder steps" in shown
    assert f"in {tmp_path}: emissions_1.png, lattice_1.png" in shown
    assert (tmp_path / "lattice_1.png").is_file()


def test_a_model_with_durations_has_no_lattices(answers, tmp_path, capsys):
    evaluate.run(tmp_path, config.load(None, [*OVERRIDES, "loss=tdt"]))
    shown = capsys.readouterr().out
    assert "no pictures of lattices" in shown and f"in {tmp_path}: emissions_1.png\n" in shown
    assert not (tmp_path / "lattice_1.png").exists()


def test_hypotheses_are_written_with_edits_and_confidence(answers, tmp_path):
    evaluate.run(tmp_path)
    lines = (tmp_path / "hypotheses.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 2 * len(answers)
    for row in rows:
        lost = row["voice"] == "m4"
        assert (row["substitutions"], row["insertions"], row["deletions"]) == (0, 0, lost)
        assert row["text"] == row["reference"][: -1 if lost else None]
        assert (row["order"] is None) == lost == bool(row["reason"])
        assert [one["text"] for one in row["characters"]] == list(row["text"])
    kept = [row["confidence"] for row in rows if row["voice"] != "m4"]
    assert min(kept) > 0.9, "all that was understood was right"


def test_the_work_orders_are_of_the_longest_commands(answers, tmp_path, capsys):
    evaluate.run(tmp_path)
    shown = capsys.readouterr().out
    said = [line.split()[1] for line in shown.splitlines() if line.startswith("said:")]
    texts = sorted((item.text for item in answers), key=len, reverse=True)
    print(shown)
    assert sorted(map(len, said), reverse=True) == [len(text) for text in texts[:3]]
    assert set(said) <= set(texts) and len(set(said)) == 3
    assert shown.count("work order: {") + shown.count("no ticket:  ") == 3 and "工单" in said[0]
    heard = json.loads(shown.split("work order: ")[1].splitlines()[0])
    assert heard["text"] in said


def test_pictures_show_what_was_decoded(answers, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(evaluate.pictures, "emissions", lambda *what: drawn.append(what))
    evaluate.run(tmp_path)
    ((features, hop, text, seconds, title, _, path, noise),) = drawn
    _, settings, _, cmvn = evaluate.load_run("")
    number, utterance = max(enumerate(answers), key=lambda pair: len(pair[1].text))
    noisy = Trials(settings).hear(utterance.audio(), Condition("5 dB", "plant", 5.0), number)
    expected = cmvn(scoring.LogMel(settings.features)(noisy))
    assert np.array_equal(features, expected)
    assert (hop, title, noise) == (0.01, utterance.text, "5 dB")
    assert utterance.text.startswith(text) and len(seconds) == len(text)
    assert path == tmp_path / "emissions_1.png"


def test_times_are_those_of_the_emission_frames(answers):
    settings = config.load(None, OVERRIDES)
    recogniser, _, vocabulary, cmvn = evaluate.load_run("")
    decoded = scoring.decode_all(recogniser, settings, answers, vocabulary, cmvn)
    assert {item.utterance.key for item in decoded} == {item.key for item in answers}
    for item in decoded:
        assert np.allclose(item.seconds, 0.04 * np.arange(1, len(item.text) + 1))


def test_without_a_grammar_there_are_no_slots(answers):
    recogniser, settings, vocabulary, cmvn = evaluate.load_run("")
    decoded = scoring.decode_all(recogniser, settings, answers, vocabulary, cmvn)
    assert list(scoring.scores(decoded, None)) == ["cer", "sentences", "utterances"]
    assert "slots" in scoring.scores(decoded, load_grammar("inspection.yaml"))


def test_recordings_have_slots_where_they_are_commands(answers, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(evaluate.dataset, "load_heldout", lambda config: answers)
    recorded = config.load(None, [*OVERRIDES, "data.train=a", "data.heldout=b"])
    assert all("slots" in row for row in evaluate.run(tmp_path, recorded))
    shown = capsys.readouterr().out
    assert shown.count("work order: {") + shown.count("no ticket:  ") == 3

    other = tmp_path / "other.yaml"  # a grammar that none of the recordings follows
    other.write_text("template: '{a}'\nslots: {a: {甲: 1}}\n", encoding="utf-8")
    for recorded.data.grammar in ("", str(other)):
        assert not any("slots" in row for row in evaluate.run(tmp_path, recorded))
        assert "work order" not in capsys.readouterr().out


def test_a_column_that_a_row_lacks_is_a_dash():
    rows = [{"voice": "a", "cer": 0.5}, {"voice": "b", "cer": 0.0, "slots": 1.0}]
    shown = scoring.format_table(rows).splitlines()
    assert shown[0] == "| voice | cer | slots |"
    assert shown[2:] == ["| a | 50.00 % | - |", "| b | 0.00 % | 100.00 % |"]
    assert len(scoring.format_table([]).splitlines()) == 2, "nothing was recognised"


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
