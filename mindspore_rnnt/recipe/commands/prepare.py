# SPDX-License-Identifier: Apache-2.0
"""Manifests and wav files from recordings of people that a Debian package holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ..bar import bar
from ..data import corpus, packages
from ..data.grammar import load_grammar
from ..settings import Config


def run(
    kind: str,
    folder: str | Path,
    output: str | Path,
    config: Config,
    heldout_speakers: Sequence[str] = (),
    limit: int = 0,
    share: float = 0.1,
) -> dict[str, Path]:
    """Write train.jsonl, heldout.jsonl and, with held-out speakers, speakers.jsonl.

    `folder` is where the package is unpacked; `limit` is the most utterances of a part, drawn at
    random, and `share` that of the sentences that are held out, where a grammar does not say which.
    """
    grammar = load_grammar(config.data.grammar or "inspection.yaml")
    found = packages.KINDS[kind](Path(folder), grammar)
    data = config.data
    if kind == "gcin-voice":  # held out are the sentences that synthetic speech holds out, too
        unseen = set(grammar.split(0, data.heldout_utterances, data.seed)[1])
    else:
        unseen = packages.draw_sentences(found, share, data.seed)
    parts = packages.split(found, unseen, heldout_speakers)
    parts = {name: part for name, part in parts.items() if part}
    corpus.prepare_manifests(output, parts)
    manifests, rate = {}, config.features.sample_rate
    for name, part in parts.items():
        some = _draw(part, limit, config.data.seed) if limit else part
        bad = corpus.BadFiles()
        written = corpus.write_manifest(_utterances(some, name, rate, bad), output, name)
        bad.report(str(folder), len(some), data.strict)
        manifests[name] = written
        speakers = ", ".join(sorted({item.speaker for item in some}))
        print(f"{written}: {len(some) - len(bad)} utterances by {speakers}")
    print(f"licence of these recordings: {packages.LICENCES[kind]}")
    return manifests


def _draw(part: Sequence[packages.Recording], limit: int, seed: int) -> list[packages.Recording]:
    order = np.random.default_rng(seed).permutation(len(part))[:limit]
    return [part[number] for number in sorted(order)]


def _utterances(
    recordings: Sequence[packages.Recording], name: str, rate: int, bad: corpus.BadFiles
) -> Iterator[corpus.Utterance]:
    for number, item in enumerate(bar(recordings, name, "file")):
        try:
            audio = packages.samples(item, rate, np.random.default_rng([1, number]))
        except corpus.UNREADABLE as error:
            bad.add("unreadable", item.key, str(error))
            continue
        peak = np.abs(audio).max(initial=0.0)
        if peak == 0.0:
            bad.add("silent", item.key)
            continue
        pcm = np.rint(audio * (16384 / max(peak, 1e-3))).astype(np.int16)
        yield corpus.Utterance(item.key, item.text, len(pcm), rate, item.speaker, pcm=pcm)
