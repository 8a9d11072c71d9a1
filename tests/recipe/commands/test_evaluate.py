# SPDX-License-Identifier: Apache-2.0
"""Tables, pictures and work orders of a run whose decoder is replaced by known answers."""

import io
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from recipe_networks import Deaf

from mindspore_rnnt.recipe import bar, config
from mindspore_rnnt.recipe.commands import evaluate
from mindspore_rnnt.recipe.data import dataset
from mindspore_rnnt.recipe.data.conditions import Condition, Trials
from mindspore_rnnt.recipe.data.grammar import load_grammar
from mindspore_rnnt.recipe.data.pairs import pairs
from mindspore_rnnt.recipe.decoding import alarms, scoring
from mindspore_rnnt.recipe.decoding.bias import GrammarBias
from mindspore_rnnt.recipe.decoding.confidence import Calibration, Line
from mindspore_rnnt.recipe.decoding.found import Found
from mindspore_rnnt.tools.configs import config_path

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
    "evaluate.noise_hours=0.001",
    "evaluate.others=4",
    "evaluate.pairs=0",
    "evaluate.streamed=0",
]


SPEED = {
    "real-time factor": 0.25,
    "decoder steps a second": 6.0,
    "taken back of best hypotheses": 0.125,
    "taken back of what is shown": 0.0,
}


@pytest.fixture
def answers(monkeypatch, tmp_path):
    """The folder of a run. Its decoding hears everything rightly but voice m4, of whom the last
    character is lost."""
    settings = config.load(None, OVERRIDES)
    train, heldout, vocabulary = dataset.load(settings)
    by_frames = {}

    def load_run(folder, config=None, weights="mean"):
        config = config or settings
        return Deaf(config.model.chunk_size), config, vocabulary, cmvn

    def decode(recogniser, features, frame_lengths, *_):
        assert features.shape[0] == len(frame_lengths) == 4
        found = []
        for frames in frame_lengths:
            text, voice = by_frames.get(int(frames), ("", ""))
            ids = tuple(vocabulary.encode(text)[: -1 if voice == "m4" else None].tolist())
            sure = (np.log(0.7 if voice == "m4" else 0.999),) * len(ids)
            found.append(Found(ids, tuple(range(len(ids))), sure))
        return found

    def speed(recogniser, config, cmvn, recordings, biases):
        seconds = sum(len(audio) for audio in recordings) / 16000
        return {"seconds": seconds, **SPEED}

    extractor = scoring.LogMel(settings.features)
    cmvn = scoring.Cmvn.of([extractor(item.audio()) for item in train])
    for item in heldout:
        by_frames[extractor.num_frames(item.samples)] = (item.text, item.voice)
    assert len(by_frames) == 6, "the answers are told apart by their length"
    monkeypatch.setattr(evaluate, "load_run", load_run)
    monkeypatch.setattr(scoring, "decode", decode)
    monkeypatch.setattr(evaluate, "stream_speed", speed)
    monkeypatch.setattr(evaluate.lattices, "draw", lambda *parts: parts[-1].touch())
    config.save(settings, tmp_path / "config.yaml")
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
    assert "0.00 false tickets an hour in 0.001 hours of noise; 4 sayings" in shown
    assert "0.0 % tickets; 50.0 % of 6 commands are missed" in shown, "those of m4"
    seconds = sum(item.samples for item in answers) / 16000
    assert written["streaming"]["seconds"] == pytest.approx(seconds)
    assert f"{seconds:.0f} s of clean speech: real-time factor 0.250, 6.0 decoder steps" in shown
    assert "0.0 % are taken back, and if the best hypothesis were shown 12.5 % (decode" in shown
    assert f"in {tmp_path}: emissions_1.png, lattice_1.png" in shown
    assert (tmp_path / "lattice_1.png").is_file()


def test_pairs_of_commands_have_rows_of_their_own(answers, tmp_path, monkeypatch):
    """Each is recognised without its second command, so each is a wrong order."""
    settings = config.load(None, [*OVERRIDES, "evaluate.pairs=3", "decode.min_confidence=0"])
    joined = pairs(answers, 3, settings.evaluate.seed, settings)
    sentences = {item.text for item in answers}
    heard = evaluate.decode_all

    def hear(recogniser, config, utterances, vocabulary, *rest):
        if [item.text for item in utterances] != [item.text for item in joined]:
            return heard(recogniser, config, utterances, vocabulary, *rest)
        firsts = [next(t for t in sentences if item.text.startswith(t)) for item in joined]
        ids = [tuple(vocabulary.encode(text).tolist()) for text in firsts]
        found = [Found(one, tuple(range(len(one))), (0.0,) * len(one)) for one in ids]
        parts = zip(joined, firsts, found)
        return [scoring.Decoded(*part, tuple(map(float, part[2].frames))) for part in parts]

    monkeypatch.setattr(evaluate, "decode_all", hear)
    config.save(settings, tmp_path / "config.yaml")
    rows = evaluate.run(tmp_path, settings)
    assert [row["noise"] for row in rows] == [
        "clean",
        "5 dB",
        "two commands, clean",
        "two commands, 5 dB",
    ]
    for row in rows[2:]:
        assert (row["sentences"], row["wrong orders"], row["missed"]) == (0.0, 1.0, 0.0)
        assert row["utterances"] == 3
    lines = (tmp_path / "hypotheses.jsonl").read_text(encoding="utf-8").splitlines()
    told = [json.loads(line) for line in lines]
    references = [item["reference"] for item in told if item["noise"] == "two commands, 5 dB"]
    assert references == [item.text for item in joined]


def test_a_model_of_whole_utterances_hears_no_noise(answers, tmp_path, capsys):
    whole = config.load(None, [*OVERRIDES, "model.chunk_size=-1"])
    config.save(whole, tmp_path / "config.yaml")
    evaluate.run(tmp_path, whole)
    shown = capsys.readouterr().out
    assert "no noise was heard; 4 sayings" in shown and "Streaming" not in shown
    written = json.loads((tmp_path / "evaluation.json").read_text())
    assert set(written["alarms"]) == {"least confidence", "other speech", "missed"}
    assert "streaming" not in written and (tmp_path / "rejection.png").stat().st_size > 5000


def test_streams_have_the_biases_that_listen_has(answers, tmp_path, monkeypatch):
    biased = config.load(None, [*OVERRIDES, "decode.method=beam", "decode.grammar_weight=2"])
    seen = []
    decoder = alarms.StreamingDecoder

    def watched(recogniser, settings, biases):
        seen.append(biases)
        return decoder(recogniser, settings, biases)

    def speed(recogniser, settings, cmvn, recordings, biases):
        seen.append(biases)
        return {"seconds": 1.0, **SPEED}

    monkeypatch.setattr(alarms, "StreamingDecoder", watched)
    monkeypatch.setattr(evaluate, "stream_speed", speed)
    evaluate.run(tmp_path, biased)
    assert [[type(item) for item in biases] for biases in seen] == [[GrammarBias]] * 2


@pytest.mark.parametrize("place", [0, 3])
def test_a_silent_recording_is_named_and_the_rest_is_written(
    answers, tmp_path, monkeypatch, place, capsys
):
    """Wherever in the corpus it is, and though it says most."""
    silent = replace(answers[place], key="silent", text="记" * 40, pcm=np.zeros(9000, np.int16))
    corpus = [*answers[:place], silent, *answers[place:]]
    monkeypatch.setattr(evaluate.dataset, "load_heldout", lambda config: corpus)
    with pytest.warns(UserWarning, match=r"held-out speech: 1 of 7 .*\n.*: 1: silent \("):
        rows = evaluate.run(tmp_path)
    assert [row["utterances"] for row in rows] == [6, 6]
    written = json.loads((tmp_path / "evaluation.json").read_text())
    assert written["rates"] == rows and {"streaming", "alarms"} <= set(written)
    lines = (tmp_path / "hypotheses.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 12 and (tmp_path / "rejection.png").is_file()
    assert "confidence:" in capsys.readouterr().out, "to the end"


@pytest.mark.parametrize("fails", ["stream_speed", "sound_alarms", "pictures"])
def test_what_is_known_is_written_before_the_next_step_can_fail(
    answers, tmp_path, monkeypatch, fails
):
    def broken(*parts):
        raise OSError("the disk is full")

    part = (evaluate.pictures, "emissions") if fails == "pictures" else (evaluate, fails)
    monkeypatch.setattr(*part, broken)
    with pytest.raises(OSError, match="full"):
        evaluate.run(tmp_path)
    written = json.loads((tmp_path / "evaluation.json").read_text())
    assert [row["utterances"] for row in written["rates"]] == [6, 6]
    assert sum(row["count"] for row in written["reliability"]) > 0
    assert ("streaming" in written) == (fails != "stream_speed")
    assert ("alarms" in written) == (fails == "pictures")
    lines = (tmp_path / "hypotheses.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 12


def test_only_the_runs_own_test_changes_what_listen_refuses(answers, tmp_path, capsys):
    own, kept = config.load(tmp_path / "config.yaml"), Calibration(Line(0.5, -2.0), Line(3.0, 1.0))
    own.evaluate.others = own.evaluate.pictures = 0
    beam = own.model_copy(deep=True)
    beam.evaluate.snr_db, beam.decode.min_confidence = [3.0], 0.9
    for how in ({"config": beam}, {"config": own, "weights": "best"}):
        evaluate.run(tmp_path, **how)
        shown = capsys.readouterr().out
        assert "calibration.json is not made, and confidences are plain posteriors, as " in shown
        assert not (tmp_path / "calibration.json").exists()
        kept.save(tmp_path)
        evaluate.run(tmp_path, **how)
        shown = capsys.readouterr().out.splitlines()
        (line,) = [line for line in shown if "calibration.json stays as it is" in line]
        why = "weights: mean -> best" if "weights" in how else "evaluate.snr_db: [5.0] -> [3.0];"
        assert why in line and "min_confidence" not in line and "--recalibrate" in line
        assert Calibration.load(tmp_path) == kept
        row = json.loads((tmp_path / "hypotheses.jsonl").read_text().splitlines()[0])
        sure = np.log(0.7 if row["voice"] == "m4" else 0.999)
        count = len(row["text"])
        expected = kept.whole(Found((1,) * count, (0,) * count, (sure,) * count))
        assert row["confidence"] == pytest.approx(expected, abs=1e-4)
        (tmp_path / "calibration.json").unlink()
    kept.save(tmp_path)
    evaluate.run(tmp_path, beam, recalibrate=True)
    assert Calibration.load(tmp_path) != kept
    for again in (None, own):  # free: where its results go, pictures, the grammar's copy
        if again:
            again.train.output = "elsewhere"
            grammar = config_path(again.data.grammar).read_bytes()
            (tmp_path / "grammar.yaml").write_bytes(grammar)
        kept.save(tmp_path)
        evaluate.run(tmp_path, again)
        assert Calibration.load(tmp_path) != kept
        assert "stays as it is" not in capsys.readouterr().out


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


def test_conditions_have_a_bar_on_a_terminal(answers, tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr(bar, "DELAY", 0.0)
    evaluate.run(tmp_path)
    assert "\rdecoding:   0%|" in sys.stderr.getvalue() and " 0/2 [" in sys.stderr.getvalue()


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
    config.save(recorded, tmp_path / "config.yaml")
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
