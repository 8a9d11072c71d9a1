# SPDX-License-Identifier: Apache-2.0
"""Write a corpus as MindRecord files, which `train` reads in place of the recordings."""

from __future__ import annotations

from pathlib import Path

from ..data import dataset, shards
from ..settings import Config


def run(config: Config, output: str | Path, count: int) -> None:
    """train.mindrecord* and heldout.mindrecord* in a folder, and the vocabulary beside them."""
    train, heldout, vocabulary = dataset.load(config)
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    spoken = [item for item in train if item.text]
    for name, part in (("train", spoken), ("heldout", heldout)):
        path = folder / f"{name}{shards.SUFFIX}"
        written = shards.pack(part, path, count)
        hours = sum(item.samples / item.sample_rate for item in part) / 3600
        print(f"data.{name}={path}: {written} utterances, {hours:.2f} hours")
    vocabulary.save(folder / "vocabulary.txt")
    print(f"data.vocabulary={folder / 'vocabulary.txt'}")
