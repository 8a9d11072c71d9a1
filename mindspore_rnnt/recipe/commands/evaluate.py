# SPDX-License-Identifier: Apache-2.0
"""What a trained model is worth: error rates in noise and by voice, pictures, work orders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..config import Config
from ..data import dataset
from ..data.conditions import CLEAN, Trials, conditions
from ..data.corpus import Utterance
from ..data.grammar import Grammar, load_grammar
from ..decoding import pictures
from ..decoding.run_folder import load_run
from ..decoding.scoring import Decoded, decode_all, format_table, table
from ..decoding.ticket import TicketParser

TICKETS = 3


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
    trials = Trials(config)
    results = {
        condition.name: decode_all(
            recogniser, config, heldout, vocabulary, cmvn, condition, drawn, trials
        )
        for condition in conditions(config)
    }
    rows = table(results, grammar, by_voice)
    print(format_table(rows))
    (folder / "evaluation.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    noise = list(results)[len(config.evaluate.snr_db)]  # the last of those in plant noise
    _draw(results[noise], drawn, noise, config, grammar, folder)
    if grammar:
        _print_tickets(results[CLEAN.name], heldout, TicketParser(grammar))
    return rows


def longest(utterances: Sequence[Utterance], count: int) -> list[Utterance]:
    """Those with most characters: the commands that fill every slot."""
    return sorted(utterances, key=lambda item: len(item.text), reverse=True)[:count]


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
        file = folder / f"emissions_{number}.png"  # those drawn keep their features
        pictures.emissions(*what, pinyin, file, noise)  # type: ignore[arg-type]


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
