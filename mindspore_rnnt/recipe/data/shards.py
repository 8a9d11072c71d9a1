# SPDX-License-Identifier: Apache-2.0
"""A corpus in a few MindRecord files, for shared storage that is slow with many small ones.

`data.train: folder/train.mindrecord` stands for train.mindrecord0, train.mindrecord1 and so on, as
`pack` writes them. A record has key, text, voice, the number of samples and the samples (int16).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import mindspore.dataset as ds
import numpy as np
from mindspore.mindrecord import FileWriter

from ..settings import Config
from .corpus import BadFiles, Utterance
from .text import Vocabulary

SUFFIX = ".mindrecord"
SCHEMA = {
    "key": {"type": "string"},
    "text": {"type": "string"},
    "voice": {"type": "string"},
    "samples": {"type": "int64"},
    "rate": {"type": "int32"},
    "pcm": {"type": "bytes"},
}
BLOCK = 64  # records written at once


@dataclass(frozen=True, eq=False)
class PackedUtterance(Utterance):
    """`path` is a file of many; `record` is the number in it."""

    record: int = 0

    def audio(self) -> np.ndarray:
        """float32 in [-1, 1]."""
        (pcm,) = next(_rows(self.path, ["pcm"], ds.SubsetSampler([self.record])))
        return np.frombuffer(pcm, "<i2").astype(np.float32) / 32768


def pack(utterances: Sequence[Utterance], path: str | Path, shards: int) -> int:
    """Write utterances, in their order, evenly to so many files; returns how many there are."""
    writer = FileWriter(str(path), max(1, min(shards, len(utterances))), overwrite=True)
    writer.add_schema(SCHEMA, "utterances of a corpus")
    for start in range(0, len(utterances), BLOCK):
        writer.write_raw_data([_record(item) for item in utterances[start : start + BLOCK]])
    writer.commit()
    return len(utterances)


def load(source: str | Path, config: Config, vocabulary: Vocabulary | None) -> list[Utterance]:
    """The utterances of the files; with a vocabulary, only texts that it can spell."""
    good: list[Utterance] = []
    bad, rate = BadFiles(), config.features.sample_rate
    names = ["key", "text", "voice", "samples", "rate"]
    for path in files(source):
        for number, row in enumerate(_rows(path, names, ds.SequentialSampler())):
            key, text, voice = (str(item) for item in row[:3])
            samples, its_rate = (int(item) for item in row[3:])
            if vocabulary is not None and vocabulary.unknown(text):
                bad.add("unknown characters", key, vocabulary.unknown(text))
            elif its_rate != rate:
                bad.add(f"sample rate other than {rate} Hz", key, f"{its_rate} Hz")
            else:
                good.append(
                    PackedUtterance(key, text, samples, rate, voice, str(path), record=number)
                )
    bad.report(str(source), len(good) + len(bad), config.data.strict)
    if not good:
        raise ValueError(f"{source} has no usable utterance")
    return good


def is_packed(source: str | Path) -> bool:
    return str(source).endswith(SUFFIX)


def files(source: str | Path) -> list[Path]:
    """The files of a packed corpus, in the order of their numbers."""
    source = Path(source)
    found = [path for path in source.parent.glob(f"{source.name}*") if path.suffix != ".db"]
    if not found:
        raise FileNotFoundError(f"no packed corpus at {str(source)!r}")
    return sorted(found, key=lambda path: (len(path.name), path.name))


def _record(item: Utterance) -> dict:
    pcm = item.pcm
    if pcm is None:
        pcm = np.clip(np.rint(item.audio() * 32768), -32768, 32767).astype(np.int16)
    return {
        "key": item.key,
        "text": item.text,
        "voice": item.voice,
        "samples": len(pcm),
        "rate": item.sample_rate,
        "pcm": pcm.astype("<i2").tobytes(),
    }


def _rows(path: str | Path, names: list[str], sampler: ds.Sampler) -> Iterator[list[np.ndarray]]:
    """Records of one file; what MindSpore cannot read is an OSError that names the file."""
    try:
        # A list of one: a path alone stands for all files that were written with it.
        dataset = ds.MindDataset([str(path)], names, num_parallel_workers=1, sampler=sampler)
        yield from dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    except RuntimeError as error:
        raise OSError(f"cannot read {path}: {str(error).strip().splitlines()[0]}") from error
