# SPDX-License-Identifier: Apache-2.0
"""A corpus in a few MindRecord files, for shared storage that is slow with many small ones.

`data.train: folder/train.mindrecord` stands for train.mindrecord0, train.mindrecord1 and so on, as
`pack` writes them. A record has key, text, voice, the number of samples and the samples (int16).
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import mindspore.dataset as ds
import numpy as np
from mindspore.mindrecord import FileWriter

from ..bar import bar
from ..settings import Config
from .corpus import BadFiles, Utterance, readable
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

    def _read(self) -> np.ndarray:
        (pcm,) = next(_rows(self.path, ["pcm"], ds.SubsetSampler([self.record])))
        return np.frombuffer(pcm, "<i2").astype(np.float32) / 32768


def pack(
    utterances: Sequence[Utterance], path: str | Path, shards: int, strict: bool = False
) -> list[Utterance]:
    """Write utterances, in their order, evenly to so many files; returns those that are written.

    What cannot be read is left out with a warning, or is an error if `strict`. Files of that name
    are replaced by the new ones when all of these are whole.
    """
    path, bad = Path(path), BadFiles()
    written: list[Utterance] = []
    parts = np.array_split(np.arange(len(utterances)), max(1, min(shards, len(utterances))))
    with replacing(path.parent) as draft:
        for number, part in enumerate(bar(parts, "packing", "file")):
            some = readable((utterances[i] for i in part), bad)
            suffix = f"{number:0{len(str(len(parts) - 1))}}" if len(parts) > 1 else ""
            written += _write(some, draft / f"{path.name}{suffix}")
        bad.report(path.name, len(utterances), strict)
        if not written:
            raise ValueError(f"no utterance for {path.name} can be read")
    return written


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A folder to write in. At the end its files move to `folder`, and packed corpora of their
    names that were there are gone: files of two packings would read as one corpus."""
    draft = Path(tempfile.mkdtemp(prefix="packing-", dir=folder))
    try:
        yield draft
        for name in {_corpus(path) for path in draft.iterdir()} - {""}:
            for old in folder.iterdir():
                if _corpus(old) == name:
                    old.unlink()
        for new in sorted(draft.iterdir()):
            os.replace(new, folder / new.name)
    finally:
        shutil.rmtree(draft)


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
    beside = source.parent.iterdir() if source.parent.is_dir() else ()
    found = [path for path in beside if _corpus(path) == source.name and path.suffix != ".db"]
    if not found:
        raise FileNotFoundError(f"no packed corpus at {str(source)!r}")
    return sorted(found, key=lambda path: (len(path.name), path.name))


def _corpus(path: Path) -> str:
    """The name of the packed corpus that a file belongs to; empty for other files."""
    name = re.fullmatch(rf"(.*{re.escape(SUFFIX)})\d*(\.db)?", path.name)
    return name[1] if name else ""


def _write(found: Iterator[tuple[Utterance, np.ndarray]], path: Path) -> list[Utterance]:
    """One file of these utterances, none without any."""
    written: list[Utterance] = []
    writer = FileWriter(str(path))
    writer.add_schema(SCHEMA, "utterances of a corpus")
    while block := list(islice(found, BLOCK)):
        writer.write_raw_data([_record(*pair) for pair in block])
        written += [item for item, _ in block]
    if written:
        writer.commit()
    return written


def _record(item: Utterance, audio: np.ndarray) -> dict:
    pcm = item.pcm
    if pcm is None:
        pcm = np.clip(np.rint(audio * 32768), -32768, 32767).astype(np.int16)
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
