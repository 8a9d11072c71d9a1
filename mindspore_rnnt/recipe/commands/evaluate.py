# SPDX-License-Identifier: Apache-2.0
"""What a trained model is worth: error rates, confidence, false tickets, pictures, orders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..data import dataset
from ..data.conditions import CLEAN, PLANT, Condition, Trials, conditions
from ..data.corpus import Utterance
from ..data.features import Cmvn
from ..data.grammar import Grammar, load_grammar
from ..data.negatives import speak_others
from ..data.text import Vocabulary
from ..decoding import lattices, pictures
from ..decoding.alarms import sound_alarms
from ..decoding.confidence import Calibration, calibrate, reliability
from ..decoding.metrics import CharErrorRate, right_characters
from ..decoding.recogniser import Recogniser
from ..decoding.run_folder import load_run
from ..decoding.scoring import Decoded, decode_all, format_table, table
from ..decoding.speed import stream_speed
from ..decoding.ticket import TicketParser
from ..decoding.verdict import Judge
from ..settings import Config
from ..sound.levels import gain, power

TICKETS = 3
STREAMED = 10  # utterances
Results = dict[str, list[Decoded]]


def run(
    folder: str | Path,
    config: Config | None = None,
    by_voice: bool = False,
    weights: str = "mean",
) -> list[dict]:
    """Evaluate a run's folder: print and save its tables, pictures and some work orders.

    `config` takes the place of the run's own. Returns the rows of the table. In the folder appear
    evaluation.json, hypotheses.jsonl (a line for each utterance and condition), calibration.json
    (what `listen` takes for confidence) and pictures.
    """
    folder = Path(folder)
    recogniser, config, vocabulary, cmvn = load_run(folder, config, weights)
    heldout = dataset.load_heldout(config)
    grammar = load_grammar(config.data.grammar) if config.data.grammar else None
    parser = TicketParser(grammar) if grammar else None
    drawn, trials = longest(heldout, config.evaluate.pictures), Trials(config)

    def decoded(utterances: Sequence[Utterance], condition: Condition) -> list[Decoded]:
        parts = (recogniser, config, utterances, vocabulary, cmvn, condition, drawn, trials)
        return decode_all(*parts) if utterances else []

    results = {condition.name: decoded(heldout, condition) for condition in conditions(config)}
    calibration = _calibrate(results, parser)
    calibration.save(folder)
    judge = Judge(config, vocabulary, parser, calibration)
    rows = table(results, grammar, judge, by_voice)
    print(format_table(rows))
    found: dict = {"rates": rows, "reliability": _reliability(results, calibration)}
    print("\nConfidence of characters, on utterances that the calibration has not seen:")
    print(format_table(found["reliability"]))
    if recogniser.chunk_size > 0:
        found["streaming"] = _stream(recogniser, config, cmvn, heldout, trials)
    noise = list(results)[len(config.evaluate.snr_db)]  # the last of those in plant noise
    if grammar:
        others = decoded(speak_others(config, "heldout", config.evaluate.others), CLEAN)
        commands = _commands(results, config)
        loud = _speech_power(heldout, config)
        alarms = sound_alarms(recogniser, config, cmvn, judge, trials, others, commands, loud)
        found["alarms"] = alarms.at(config.decode.min_confidence)
        print(
            f"\nWith decode.min_confidence {config.decode.min_confidence:g}: "
            f"{found['alarms']['false tickets an hour']:.2f} false tickets an hour in "
            f"{config.evaluate.noise_hours:g} hours of noise; {len(others)} sayings that are no "
            f"command give {100 * found['alarms']['other speech']:.1f} % tickets; "
            f"{100 * found['alarms']['missed']:.1f} % of {len(commands)} commands are missed"
        )
        pictures.rejection(alarms.curve(), config.decode.min_confidence, folder / "rejection.png")
    (folder / "evaluation.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    _write_hypotheses(results, judge, folder / "hypotheses.jsonl")
    files = _draw(results[noise], drawn, noise, config, grammar, folder)
    clean = results[CLEAN.name], drawn, vocabulary, config, grammar, folder
    files += _draw_lattices(recogniser, *clean)
    if files:
        print(f"\npictures of the longest in {folder}: {', '.join(files)}")
    if parser:
        _print_tickets(results[CLEAN.name], heldout, parser, judge)
    return rows


def longest(utterances: Sequence[Utterance], count: int) -> list[Utterance]:
    """Those with most characters: the commands that fill every slot."""
    return sorted(utterances, key=lambda item: len(item.text), reverse=True)[:count]


def _calibrate(results: Results, parser: TicketParser | None) -> Calibration:
    """From every second utterance; the others show how well it fits.

    Only what would be a ticket says how sure a ticket is.
    """
    some = [item for decoded in results.values() for item in decoded[::2] if item.text]
    commands = [item for item in some if not parser or parser.parse(item.text)["understood"]]
    return calibrate(
        [(item.found.log_probs, right_characters(item.utterance.text, item.text)) for item in some],
        [(item.found.log_probs, item.text == item.utterance.text) for item in commands],
    )


def _reliability(results: Results, calibration: Calibration) -> list[dict]:
    others = [item for decoded in results.values() for item in decoded[1::2]]
    sure = [value for item in others for value in calibration.labels(item.found.log_probs)]
    right = [one for item in others for one in right_characters(item.utterance.text, item.text)]
    return reliability(sure, right)


def _commands(results: Results, config: Config) -> list[Decoded]:
    """The held-out speech in plant noise at the ratio that is nearest to 5 dB, else clean."""
    ratios = sorted(config.evaluate.snr_db, key=lambda snr: abs(snr - 5.0))
    names = [item.name for item in conditions(config) if item.noise == PLANT]
    ordered = dict(zip(config.evaluate.snr_db, names))
    return results[ordered[ratios[0]] if ratios else CLEAN.name]


def _speech_power(heldout: Sequence[Utterance], config: Config) -> float:
    """Mean power of speech at the middle of the tested levels."""
    powers = [power(item.audio()) for item in dataset.spread(heldout, 20)]
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
    heldout: Sequence[Utterance],
    trials: Trials,
) -> dict[str, float]:
    """Some clean utterances as a microphone would hear them."""
    some = enumerate(dataset.spread(heldout, min(STREAMED, len(heldout))))
    heard = (trials.hear(item.audio(), CLEAN, number) for number, item in some)
    speed = stream_speed(recogniser, config, cmvn, heard)
    print(
        f"\nStreaming {speed['seconds']:.0f} s of clean speech: real-time factor "
        f"{speed['real-time factor']:.3f}, {speed['decoder steps a second']:.1f} decoder steps a "
        "second of audio"
    )
    return speed


def _print_tickets(
    decoded: Sequence[Decoded], heldout: Sequence[Utterance], parser: TicketParser, judge: Judge
) -> None:
    commands = [item for item in heldout if parser.parse(item.text)["understood"]]
    for item in _those(decoded, longest(commands, TICKETS)):
        print(f"\nsaid:       {item.utterance.text}\nrecognised: {item.text}")
        report = judge(item.found, item.seconds)
        if report["reason"]:
            print(f"no ticket:  {report['reason']}")
        else:
            print("work order:", json.dumps(report["order"], ensure_ascii=False))
        print(f"confidence: {report['confidence']:.2f}")


def _those(decoded: Sequence[Decoded], utterances: Sequence[Utterance]) -> list[Decoded]:
    """In the order of `utterances`, without those that could not be read."""
    found = {item.utterance: item for item in decoded}
    return [found[utterance] for utterance in utterances if utterance in found]
