# SPDX-License-Identifier: Apache-2.0
"""What a trained model is worth: error rates in noise and by voice, pictures, work orders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import dataset, plots
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


@dataclass(frozen=True)
class Decoded:
    """A held-out utterance, what was recognised, and when each character came."""

    utterance: Utterance
    text: str
    seconds: tuple[float, ...]


def run(folder: str | Path, config: Config | None = None, by_voice: bool = False) -> list[dict]:
    """Evaluate a run's folder: print and save its table, pictures and some work orders.

    Returns the rows of the table; `evaluation.json`, `*.png` appear in the folder.
    """
    folder = Path(folder)
    recogniser, saved, vocabulary, cmvn = load_run(folder)
    config = config or saved
    heldout = dataset.load_heldout(config, vocabulary)
    grammar = None if config.data.train else load_grammar(config.data.grammar)
    results = {
        CLEAN if snr is None else f"{snr:g} dB": decode_all(
            recogniser, config, heldout, vocabulary, cmvn, snr
        )
        for snr in (None, *config.evaluate.snr_db)
    }
    rows = table(results, grammar, by_voice)
    print(format_table(rows))
    (folder / "evaluation.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    noisiest = results[list(results)[-1]]
    examples = noisiest[: config.evaluate.pictures]
    for number, item in enumerate(examples, start=1):
        _picture(item, config, grammar, folder / f"emissions_{number}.png")
    if grammar:
        _print_tickets(results[CLEAN][:3], TicketParser(grammar))
    return rows


def decode_all(
    recogniser: Recogniser,
    config: Config,
    heldout: Sequence[Utterance],
    vocabulary: Vocabulary,
    cmvn: Cmvn,
    snr_db: float | None = None,
) -> list[Decoded]:
    """Every held-out utterance decoded, clean or with noise at one ratio, in a fixed order."""
    extractor = LogMel(config.features)
    frames = np.array([extractor.num_frames(item.samples) for item in heldout])
    shapes = dataset.padded_shapes(frames, SHAPES)
    seconds = dataset.SUBSAMPLING * config.features.hop_ms / 1000
    decoded = []
    for batch in dataset.heldout_batches(config, heldout, cmvn, shapes, snr_db):
        found = decode(recogniser, batch["features"], batch["frame_lengths"], config)
        for utterance, (ids, times) in zip(batch["utterances"], found):
            when = tuple((int(time) + 1) * seconds for time in times)
            decoded.append(Decoded(utterance, vocabulary.decode(ids), when))
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
    """CER, sentence and (with a grammar) slot accuracy of some utterances."""
    metrics = {"cer": CharErrorRate(), "sentences": SentenceAccuracy()}
    if grammar:
        metrics["slots"] = SlotAccuracy(TicketParser(grammar))
    for metric in metrics.values():
        metric.update([item.text for item in decoded], [item.utterance.text for item in decoded])
    return {name: metric.eval() for name, metric in metrics.items()} | {"utterances": len(decoded)}


def format_table(rows: Sequence[dict]) -> str:
    """Markdown: rates in percent, other columns as they are."""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for row in rows:
        cells = [f"{100 * v:.2f} %" if isinstance(v, float) else str(v) for v in row.values()]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _picture(item: Decoded, config: Config, grammar: Grammar | None, path: Path) -> None:
    pinyin = grammar.pinyin if grammar else {}
    extractor = LogMel(config.features)
    audio = item.utterance.audio()
    plots.emissions(audio, extractor, item.text, item.seconds, item.utterance.text, pinyin, path)


def _print_tickets(decoded: Sequence[Decoded], parser: TicketParser) -> None:
    for item in decoded:
        print(f"\nsaid:       {item.utterance.text}\nrecognised: {item.text}")
        print("work order:", json.dumps(parser.parse(item.text), ensure_ascii=False))
