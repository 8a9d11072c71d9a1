# SPDX-License-Identifier: Apache-2.0
"""Held-out utterances decoded in a noise condition, and the table of their error rates."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ..data import buckets, dataset
from ..data.conditions import CLEAN, Condition, Trials
from ..data.corpus import Utterance
from ..data.features import Cmvn, LogMel
from ..data.grammar import Grammar
from ..data.text import Vocabulary
from ..settings import Config
from .bias import build_biases
from .found import Found
from .metrics import (
    CharErrorRate,
    MissedOrders,
    SentenceAccuracy,
    SlotAccuracy,
    WordErrorRate,
    WrongOrders,
)
from .recogniser import Recogniser
from .search import decode
from .ticket import TicketParser
from .verdict import Judge

SHAPES = 2  # padded lengths of held-out batches: decoding is cheap, compiling is not


@dataclass(frozen=True)
class Decoded:
    """A held-out utterance, what was recognised, and when each character came."""

    utterance: Utterance
    text: str
    found: Found
    seconds: tuple[float, ...]  # the end of the encoder frame that emitted it
    features: np.ndarray | None = None  # what was decoded, of an utterance to draw


def decode_all(
    recogniser: Recogniser,
    config: Config,
    heldout: Sequence[Utterance],
    vocabulary: Vocabulary,
    cmvn: Cmvn,
    condition: Condition = CLEAN,
    drawn: Collection[Utterance] = (),
    trials: Trials | None = None,
) -> list[Decoded]:
    """Every held-out utterance decoded, heard under one condition, in a fixed order.

    Those in `drawn` keep their features.
    """
    extractor, biases = LogMel(config.features), build_biases(config, vocabulary)
    pads = round(2 * max(config.evaluate.pad_seconds) * config.features.sample_rate)
    samples = np.array([item.samples for item in heldout])
    longest = extractor.num_frames(samples.max() + pads)
    shapes = buckets.padded_shapes(extractor.num_frames(samples + pads // 2), SHAPES, longest)
    seconds = buckets.SUBSAMPLING * config.features.hop_ms / 1000
    decoded = []
    for batch in dataset.heldout_batches(config, heldout, cmvn, shapes, condition, trials):
        results = decode(recogniser, batch["features"], batch["frame_lengths"], config, biases)
        for row, (utterance, found) in enumerate(zip(batch["utterances"], results)):
            when = tuple((frame + 1) * seconds for frame in found.frames)
            heard = batch["features"][row, : batch["frame_lengths"][row]]
            kept = heard if utterance in drawn else None
            text = vocabulary.decode(found.ids)
            decoded.append(Decoded(utterance, text, found, when, kept))
    return decoded


def table(
    results: dict[str, list[Decoded]],
    grammar: Grammar | None,
    judge: Judge | None = None,
    by_voice: bool = False,
) -> list[dict]:
    """One row for each noise condition, and with `by_voice` for each voice in it."""
    rows = []
    for condition, decoded in results.items():
        groups = {"all": decoded}
        if by_voice:
            for item in decoded:
                groups.setdefault(item.utterance.voice or "plain", []).append(item)
        for voice, group in groups.items():
            rows.append({"noise": condition, "voice": voice, **scores(group, grammar, judge)})
    return rows


def scores(decoded: Sequence[Decoded], grammar: Grammar | None, judge: Judge | None = None) -> dict:
    """Rates of some utterances; those of orders where some said a command.

    The orders are those that `judge` lets pass; without it every text that the grammar parses.
    """
    hypotheses, references = zip(*((item.text, item.utterance.text) for item in decoded))
    metrics: dict = {"cer": CharErrorRate(), "sentences": SentenceAccuracy()}
    if any(" " in text for text in references):
        metrics["wer"] = WordErrorRate()
    for metric in metrics.values():
        metric.update(hypotheses, references)
    if grammar:
        parser = TicketParser(grammar)
        orders: dict = {
            "slots": SlotAccuracy(parser),
            "wrong orders": WrongOrders(parser),
            "missed": MissedOrders(parser),
        }
        passed = [
            item.text if judge is None or judge.passes(item.found) else "" for item in decoded
        ]
        for name, metric in orders.items():
            metric.update(hypotheses if name == "slots" else passed, references)
            if metric.counted:
                metrics[name] = metric
    return {name: metric.eval() for name, metric in metrics.items()} | {"utterances": len(decoded)}


def format_table(rows: Sequence[dict]) -> str:
    """Markdown: rates in percent, other columns as they are, a dash where a row has none."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for row in rows:
        values = [row.get(name, "-") for name in names]
        cells = [f"{100 * v:.2f} %" if isinstance(v, float) else str(v) for v in values]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
