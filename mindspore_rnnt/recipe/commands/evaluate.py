# SPDX-License-Identifier: Apache-2.0
"""What a trained model is worth: error rates, confidence, false tickets, pictures, orders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...tools.command import prepare_file
from ..bar import bar
from ..data import dataset
from ..data.conditions import CLEAN, PLANT, Condition, Trials, conditions
from ..data.corpus import BadFiles, Utterance, readable
from ..data.features import Cmvn
from ..data.grammar import Grammar, load_grammar
from ..data.negatives import speak_others
from ..data.pairs import pairs
from ..data.text import Vocabulary
from ..decoding import confidence, lattices, pictures
from ..decoding.alarms import Alarms, sound_alarms
from ..decoding.bias import Bias, build_biases
from ..decoding.confidence import Calibration, calibrate, reliability
from ..decoding.metrics import CharErrorRate, right_characters
from ..decoding.microphone import open_microphone
from ..decoding.recogniser import Recogniser
from ..decoding.run_folder import changes, load_run
from ..decoding.scoring import Decoded, decode_all, format_table, table
from ..decoding.speed import stream_speed
from ..decoding.ticket import TicketParser
from ..decoding.verdict import Judge
from ..settings import Config
from ..sound.levels import gain, power

TICKETS = 3
STREAMED = 10  # utterances
EVALUATION, HYPOTHESES = "evaluation.json", "hypotheses.jsonl"
Results = dict[str, list[Decoded]]


def run(
    folder: str | Path,
    config: Config | None = None,
    by_voice: bool = False,
    weights: str = "mean",
    recalibrate: bool = False,
) -> list[dict]:
    """Evaluate a run's folder: print and save its tables, pictures and some work orders.

    `config` takes the place of the run's own. Returns the rows of the table. In the folder appear
    evaluation.json, hypotheses.jsonl (a line for each utterance and condition) and pictures, each
    as soon as it is known, and calibration.json (what `listen` takes for confidence): that only
    where speech, settings and weights are the run's own, or with `recalibrate`.
    """
    folder = Path(folder)
    recogniser, config, vocabulary, cmvn = load_run(folder, config, weights)
    for name in (EVALUATION, HYPOTHESES, confidence.FILE):
        prepare_file(folder / name)
    heldout = dataset.load_heldout(config)
    grammar = load_grammar(config.data.grammar) if config.data.grammar else None
    parser = TicketParser(grammar) if grammar else None
    drawn, trials = longest(heldout, config.evaluate.pictures), Trials(config)
    biases = build_biases(config, vocabulary)

    def decoded(utterances: Sequence[Utterance], condition: Condition) -> list[Decoded]:
        parts = (recogniser, config, utterances, vocabulary, cmvn, condition, drawn, trials)
        return decode_all(*parts) if utterances else []

    tested = bar(conditions(config), "decoding", "condition")
    results = {condition.name: decoded(heldout, condition) for condition in tested}
    heldout = _heard(heldout, results[CLEAN.name])
    changed = _not_own(folder, config, weights)
    if recalibrate or not changed:
        calibration = _calibrate(results, parser)
        calibration.save(folder)
    else:
        calibration = Calibration.load(folder)
    judge = Judge(config, vocabulary, parser, calibration)
    near, commands = _nearest(config, 5.0), _commands(heldout, parser)
    count = config.evaluate.pairs if commands else 0
    joined = pairs(commands, count, config.evaluate.seed, config)
    heard = dict.fromkeys((CLEAN, near)) if joined else ()  # each once, where both are CLEAN
    paired = {f"two commands, {each.name}": decoded(joined, each) for each in heard}
    rows = table(results | paired, grammar, judge, by_voice)
    streamed = commands[: config.evaluate.streamed]
    if parser and streamed and recogniser.chunk_size > 0:
        what = (streamed, trials, near, judge, parser)
        rows.append(open_microphone(recogniser, config, cmvn, biases, *what))
    print(format_table(rows))
    found: dict = {"rates": rows, "reliability": _reliability(results, calibration)}
    _save(found, folder)
    _write_hypotheses(results | paired, judge, folder / HYPOTHESES)
    print("\nConfidence of characters, on utterances that the calibration has not seen:")
    print(format_table(found["reliability"]))
    if changed and not recalibrate:
        print(f"{_kept(folder)}, as {', '.join(changed)}; --recalibrate fits it to what was heard")
    if recogniser.chunk_size > 0:
        found["streaming"] = _stream(recogniser, config, cmvn, biases, heldout, trials)
        _save(found, folder)
    noise = list(results)[len(config.evaluate.snr_db)]  # the last of those in plant noise
    if grammar:
        others = decoded(speak_others(config, "heldout", config.evaluate.others), CLEAN)
        loud = _speech_power(heldout, config)
        parts = (recogniser, config, cmvn, biases, judge, trials)
        alarms = sound_alarms(*parts, others, results[near.name], loud)
        found["alarms"] = alarms.at(config.decode.min_confidence)
        _save(found, folder)
        _print_alarms(found["alarms"], alarms, config)
        pictures.rejection(alarms.curve(), config.decode.min_confidence, folder / "rejection.png")
    files = _draw(results[noise], drawn, noise, config, grammar, folder)
    clean = results[CLEAN.name], drawn, vocabulary, config, grammar, folder
    files += _draw_lattices(recogniser, *clean)
    if files:
        print(f"\npictures of the longest in {folder}: {', '.join(files)}")
    if parser:
        _print_tickets(results[CLEAN.name], commands, judge)
    return rows


def longest(utterances: Sequence[Utterance], count: int) -> list[Utterance]:
    """Those with most characters: the commands that fill every slot."""
    return sorted(utterances, key=lambda item: len(item.text), reverse=True)[:count]


def _heard(heldout: Sequence[Utterance], decoded: Sequence[Decoded]) -> list[Utterance]:
    """Without those that cannot be read, which are named when they are decoded."""
    known = {item.utterance for item in decoded}
    return [item for item in heldout if item in known]


def _commands(heldout: Sequence[Utterance], parser: TicketParser | None) -> list[Utterance]:
    return [item for item in heldout if parser and parser.parse(item.text)["understood"]]


def _save(found: dict, folder: Path) -> None:
    (folder / EVALUATION).write_text(json.dumps(found, indent=1), encoding="utf-8")


def _not_own(folder: Path, config: Config, weights: str) -> list[str]:
    """What is not as in the run itself, whose model `listen` takes."""
    return [*changes(folder, config), *([f"weights: mean -> {weights}"] * (weights != "mean"))]


def _kept(folder: Path) -> str:
    if (folder / confidence.FILE).is_file():
        return f"{folder / confidence.FILE} stays as it is and was used here"
    return f"{folder / confidence.FILE} is not made, and confidences are plain posteriors"


def _print_alarms(row: dict[str, float], alarms: Alarms, config: Config) -> None:
    tickets = "no noise was heard"
    if alarms.noise_hours:
        tickets = (
            f"{row['false tickets an hour']:.2f} false tickets an hour in "
            f"{alarms.noise_hours:g} hours of noise"
        )
    print(
        f"\nWith decode.min_confidence {config.decode.min_confidence:g}: {tickets}; "
        f"{alarms.others_count} sayings that are no command give "
        f"{100 * row['other speech']:.1f} % tickets; "
        f"{100 * row['missed']:.1f} % of {alarms.commands_count} commands are missed"
    )


def _calibrate(results: Results, parser: TicketParser | None) -> Calibration:
    """From every second utterance; the others show how well it fits.

    Only what would be a ticket says how sure a ticket is.
    """
    some = [item for decoded in results.values() for item in decoded[::2] if item.text]
    commands = [item for item in some if not parser or parser.parse(item.text)["understood"]]
    return calibrate(
        [(item.found, right_characters(item.utterance.text, item.text)) for item in some],
        [(item.found, item.text == item.utterance.text) for item in commands],
    )


def _reliability(results: Results, calibration: Calibration) -> list[dict]:
    others = [item for decoded in results.values() for item in decoded[1::2]]
    sure = [value for item in others for value in calibration.labels(item.found.log_probs)]
    right = [one for item in others for one in right_characters(item.utterance.text, item.text)]
    return reliability(sure, right)


def _nearest(config: Config, snr_db: float) -> Condition:
    """The condition of plant noise with the nearest ratio; CLEAN if there is none."""
    noisy = [item for item in conditions(config) if item.noise == PLANT]
    return min(noisy, key=lambda item: abs(item.snr_db - snr_db), default=CLEAN)


def _speech_power(heldout: Sequence[Utterance], config: Config) -> float:
    """Mean power of speech at the middle of the tested levels."""
    some = readable(dataset.spread(heldout, 20), BadFiles())
    powers = [power(audio) for _, audio in some]
    return float(np.mean(powers)) * float(gain(float(np.mean(config.evaluate.gain_db)))) ** 2


def _write_hypotheses(results: Results, judge: Judge, path: Path) -> None:
    lines = [
        json.dumps({"noise": condition, **_hypothesis(item, judge)}, ensure_ascii=False)
        for condition, decoded in results.items()
        for item in decoded
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _hypothesis(item: Decoded, judge: Judge) -> dict:
    """What was said, what was found, and the edits between them."""
    edits = CharErrorRate()
    edits.update([item.text], [item.utterance.text])
    kinds = ("substitutions", "insertions", "deletions")
    return {
        "key": item.utterance.key,
        "voice": item.utterance.voice,
        "reference": item.utterance.text,
        **{kind: getattr(edits, kind) for kind in kinds},
        **judge(item.found, item.seconds),
    }


def _draw(
    decoded: Sequence[Decoded],
    drawn: Sequence[Utterance],
    noise: str,
    config: Config,
    grammar: Grammar | None,
    folder: Path,
) -> list[str]:
    """Each character over the very features that it was found in; the names of the files."""
    pinyin, hop = grammar.pinyin if grammar else {}, config.features.hop_ms / 1000
    names = []
    for number, item in enumerate(_those(decoded, drawn), start=1):
        what = (item.features, hop, item.text, item.seconds, item.utterance.text)
        names.append(f"emissions_{number}.png")  # those drawn keep their features
        pictures.emissions(*what, pinyin, folder / names[-1], noise)  # type: ignore[arg-type]
    return names


def _draw_lattices(
    recogniser: Recogniser,
    decoded: Sequence[Decoded],
    drawn: Sequence[Utterance],
    vocabulary: Vocabulary,
    config: Config,
    grammar: Grammar | None,
    folder: Path,
) -> list[str]:
    """The lattice of what was said in each, without noise; the names of the files."""
    pinyin, hop = grammar.pinyin if grammar else {}, config.features.hop_ms / 1000
    names: list[str] = []
    if config.loss.kind == "tdt":
        print("\nno pictures of lattices: rnnt_posteriors is for models without durations")
        return names
    for number, item in enumerate(_those(decoded, drawn), start=1):
        what = (item.features, item.utterance.text, vocabulary, hop, pinyin)
        names.append(f"lattice_{number}.png")
        lattices.draw(recogniser, *what, folder / names[-1])  # type: ignore[arg-type]
    return names


def _stream(
    recogniser: Recogniser,
    config: Config,
    cmvn: Cmvn,
    biases: Sequence[Bias],
    heldout: Sequence[Utterance],
    trials: Trials,
) -> dict[str, float]:
    """Some clean utterances as a microphone would hear them."""
    some = readable(dataset.spread(heldout, min(STREAMED, len(heldout))), BadFiles())
    heard = (trials.hear(audio, CLEAN, number) for number, (_, audio) in enumerate(some))
    speed = stream_speed(recogniser, config, cmvn, heard, biases)
    print(
        f"\nStreaming {speed['seconds']:.0f} s of clean speech: real-time factor "
        f"{speed['real-time factor']:.3f}, {speed['decoder steps a second']:.1f} decoder steps a "
        "second of audio; of the characters that appear "
        f"{100 * speed['taken back of what is shown']:.1f} % are taken back, and if the best "
        f"hypothesis were shown {100 * speed['taken back of best hypotheses']:.1f} % "
        f"(decode.method {config.decode.method})"
    )
    return speed


def _print_tickets(decoded: Sequence[Decoded], commands: Sequence[Utterance], judge: Judge) -> None:
    for item in _those(decoded, longest(commands, TICKETS)):
        print(f"\nsaid:       {item.utterance.text}\nrecognised: {item.text}")
        report = judge(item.found, item.seconds)
        if report["reason"]:
            print(f"no ticket:  {report['reason']}")
        for order in report["orders"]:
            print("work order:", json.dumps(order, ensure_ascii=False))
        print(f"confidence: {report['confidence']:.2f}")


def _those(decoded: Sequence[Decoded], utterances: Sequence[Utterance]) -> list[Decoded]:
    """In the order of `utterances`, without those that could not be read."""
    found = {item.utterance: item for item in decoded}
    return [found[utterance] for utterance in utterances if utterance in found]
