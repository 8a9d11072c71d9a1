# SPDX-License-Identifier: Apache-2.0
"""Write the synthetic commands as wav files and manifests; negatives are left out."""

from __future__ import annotations

from pathlib import Path

from ..bar import bar
from ..data import corpus, dataset
from ..decoding.run_folder import refuse_model
from ..settings import Config


def run(config: Config, output: str | Path) -> None:
    folder = Path(output)
    refuse_model(folder)
    corpus.prepare_manifests(folder, ("train", "heldout"))
    train, heldout, vocabulary = dataset.load(config)
    spoken = [item for item in train if item.text]
    for name, part in (("train", spoken), ("heldout", heldout)):
        print(corpus.write_manifest(bar(part, name, "file"), folder, name), len(part), "utterances")
    vocabulary.save(folder / "vocabulary.txt")
