# SPDX-License-Identifier: Apache-2.0
"""Write a corpus as MindRecord files, which `train` reads in place of the recordings."""

from __future__ import annotations

from pathlib import Path

from ...tools.command import prepare_folder
from ..data import dataset, shards
from ..decoding.run_folder import refuse_model
from ..settings import Config


def run(config: Config, output: str | Path, count: int) -> None:
    """train.mindrecord* and heldout.mindrecord* in a folder, and the vocabulary beside them.

    They take the place of those that are there when all are written.
    """
    if count < 1:
        raise ValueError(f"--shards must be at least 1, but got {count}")
    folder, lines = Path(output), []
    refuse_model(folder)
    prepare_folder(folder)
    train, heldout, vocabulary = dataset.load(config)
    spoken = [item for item in train if item.text]
    with shards.replacing(folder) as draft:
        for name, part in (("train", spoken), ("heldout", heldout)):
            file = f"{name}{shards.SUFFIX}"
            written = shards.pack(part, draft / file, count, config.data.strict)
            hours = sum(item.samples / item.sample_rate for item in written) / 3600
            lines.append(
                f"data.{name}={folder / file}: {len(written)} utterances, {hours:.2f} hours"
            )
        vocabulary.save(draft / "vocabulary.txt")
    print("\n".join(lines))
    print(f"data.vocabulary={folder / 'vocabulary.txt'}")
    if config.data.train_pairs:
        print("data.train_pairs=0: the shards have them")
