# SPDX-License-Identifier: Apache-2.0
"""Write the synthetic corpus as wav files and manifests."""

from __future__ import annotations

from pathlib import Path

from ..config import Config
from ..data import corpus, dataset


def run(config: Config, output: str | Path) -> None:
    train, heldout, vocabulary = dataset.load(config)
    folder = Path(output)
    for name, part in (("train", train), ("heldout", heldout)):
        print(corpus.write_manifest(part, folder, name), len(part), "utterances")
    vocabulary.save(folder / "vocabulary.txt")
