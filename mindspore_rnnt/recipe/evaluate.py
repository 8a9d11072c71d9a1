# SPDX-License-Identifier: Apache-2.0
"""What a trained model is worth: error rates in noise and by voice, pictures, work orders."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import buckets, dataset, plots
from .checkpoint import load_run
from .config import Config
from .corpus import Utterance
from .decode import decode
from .features import Cmvn, LogMel
from .grammar import Grammar, load_grammar
from .metrics import CharErrorRate, SentenceAccuracy, SlotAccuracy
from .recogniser import Recogniser
from .text import Vocabulary
from .ticket import TicketParser

CLEAN = "clean"
SHAPES = 2  # padded lengths of held-out batches: decoding is cheap, compiling is not
TICKETS = 3


@dataclass(frozen=True)
class Decoded:
    """A held-out utterance, what was recognised, and when each character came."""

    utterance: Utterance
    text: str
    seconds: tuple[float, ...]
    features: np.ndarray | None = None  # what was decoded, of an utterance to draw


def run(
    folder: str | Path,
    config: Config | None = None,
    by_voice: bool = False,
    weights: str = "mean",
) -> list[dict]:
    """Evaluate a run's folder: print and save its table, pictures and some work orders.

    `config` takes the place of the run's own. Returns the rows of the table; `evaluation.json`,
    `*.png` appear in the folder.
    """
    folder = Path(folder)
    recogniser, config, vocabulary, cmvn = load_run(folder, config, weights)
    heldout = dataset.load_heldout(config, vocabulary)
    grammar = load_grammar(config.data.grammar) if config.data.grammar else None
    drawn = longest(heldout, config.evaluate.pictures)
    results = {
        CLEAN if snr is None else f"{snr:g} dB": decode_all(
            recogniser, config, heldout, vocabulary, cmvn, snr, drawn
        )
        for snr in (None, *config.evaluate.snr_db)
    }
    rows = table(results, grammar, by_voice)
    print(format_table(rows))
    (folder / "evaluation.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    noise = list(results)[-1]
    _draw(results[noise], drawn, noise, config, grammar, folder)
    if grammar:
        _print_tickets(results[CLEAN], heldout, TicketParser(grammar))
    return rows


def longest(utterances: Sequence[Utterance], count: int) -> list[Utterance]:
    """Those with most characters: the commands that fill every slot."""
    return sorted(utterances, key=lambda item: len(item.text), reverse=True)[:count]


def decode_all(
    recogniser: Recogniser,
    config: Config,
    heldout: Sequence[Utterance],
    vocabulary: Vocabulary,
    cmvn: Cmvn,
    snr_db: float | None = None,
    drawn: Collection[Utterance] = (),
) -> list[Decoded]:
    """Every held-out utterance decoded, clean or with noise at one ratio, in a fixed order.

    Those in `drawn` keep their features.
    """
    extractor = LogMel(config.features)
    frames = np.array([extractor.num_frames(item.samples) for item in heldout])
    shapes = buckets.padded_shapes(frames, SHAPES)
    seconds = dataset.SUBSAMPLING * config.features.hop_ms / 1000
    decoded = []
    for batch in dataset.heldout_batches(config, heldout, cmvn, shapes, snr_db):
        found = decode(recogniser, batch["features"], batch["frame_lengths"], config)
        for row, (utterance, (ids, times)) in enumerate(zip(batch["utterances"], found)):
            when = tuple((int(time) + 1) * seconds for time in times)
            heard = batch["features"][row, : batch["frame_lengths"][row]]
            kept = heard if utterance in drawn else None
            decoded.append(Decoded(utterance, vocabulary.decode(ids), when, kept))
    return decoded


def table(
    results: dict[str, list[Decoded]], grammar: Grammar | None, by_voice: bool = False
) -> list[dict]:
    """One row for each noise condition, and with `by_voice` for each voice in it."""
    rows = []
    for condition, decoded in results.items():
        groups = {"all": decoded}
        if by_voice:
            for item in decoded:
                groups.setdefault(item.utterance.voice or "plain", []).append(item)
        for voice, group in groups.items():
            rows.append({"noise": condition, "voice": voice, **scores(group, grammar)})
    return rows


def scores(decoded: Sequence[Decoded], grammar: Grammar | None) -> dict:
    """CER, sentence and slot accuracy of some utterances; slots where some said a command."""
    metrics = {"cer": CharErrorRate(), "sentences": SentenceAccuracy()}
    slots = SlotAccuracy(TicketParser(grammar)) if grammar else None
    texts = [item.text for item in decoded], [item.utterance.text for item in decoded]
    for metric in metrics.values():
        metric.update(*texts)
    if slots:
        slots.update(*texts)
        if slots.counted:
            metrics["slots"] = slots
    return {name: metric.eval() for name, metric in metrics.items()} | {"utterances": len(decoded)}


def format_table(rows: Sequence[dict]) -> str:
    """Markdown: rates in percent, other columns as they are, a dash where a row has none."""
    names = list(max(rows, key=len))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for row in rows:
        values = [row.get(name, "-") for name in names]
        cells = [f"{100 * v:.2f} %" if isinstance(v, float) else str(v) for v in values]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _draw(
    decoded: Sequence[Decoded],
    drawn: Sequence[Utterance],
    noise: str,
    config: Config,
    grammar: Grammar | None,
    folder: Path,
) -> None:
    """Each character over the very features that it was found in."""
    pinyin, hop = grammar.pinyin if grammar else {}, config.features.hop_ms / 1000
    for number, item in enumerate(_those(decoded, drawn), start=1):
        what = (item.features, hop, item.text, item.seconds, item.utterance.text)
        plots.emissions(*what, pinyin, folder / f"emissions_{number}.png", noise)


def _print_tickets(
    decoded: Sequence[Decoded], heldout: Sequence[Utterance], parser: TicketParser
) -> None:
    commands = [item for item in heldout if parser.parse(item.text)["understood"]]
    for item in _those(decoded, longest(commands, TICKETS)):
        print(f"\nsaid:       {item.utterance.text}\nrecognised: {item.text}")
        print("work order:", json.dumps(parser.parse(item.text), ensure_ascii=False))


def _those(decoded: Sequence[Decoded], utterances: Sequence[Utterance]) -> list[Decoded]:
    """In the order of `utterances`, without those that could not be read."""
    found = {item.utterance: item for item in decoded}
    return [found[utterance] for utterance in utterances if utterance in found]
