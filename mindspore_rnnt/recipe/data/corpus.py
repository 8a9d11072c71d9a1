# SPDX-License-Identifier: Apache-2.0
"""Utterances of a corpus, in any of the forms of `entries`.

Every file is looked at before training starts. What cannot be used is skipped with one warning
that counts and names it, or is an error with `data.strict: true`.
"""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import soundfile
from scipy.signal import resample_poly

from ...tools.command import prepare_file, prepare_folder
from ..bar import bar
from ..settings import Config
from .buckets import SUBSAMPLING
from .entries import Entry, read_entries
from .text import Vocabulary, normalise

NAMED = 5  # bad files that a warning names, of each kind
# What `read_audio` may raise; a TypeError comes for files without a header (.raw).
UNREADABLE = (soundfile.SoundFileError, OSError, ValueError, TypeError)
CANCELLED = 1e-4  # of the channels' power is left in their mean when they are of opposite phase


@dataclass(frozen=True, eq=False)
class Utterance:
    """Audio in memory (`pcm`, int16) or a piece of a file, with what is said."""

    key: str
    text: str
    samples: int
    sample_rate: int
    voice: str = ""
    path: str = ""
    pcm: np.ndarray | None = None
    start: int = 0  # sample of the file

    def audio(self) -> np.ndarray:
        """float32 in [-1, 1]; a ValueError for a recording of speech that is all zeros."""
        audio = self._read()
        if self.text and not audio.any():
            raise ValueError(f"{self.path or self.key} is silent: all samples are 0")
        return audio

    def _read(self) -> np.ndarray:
        if self.pcm is not None:
            return self.pcm.astype(np.float32) / 32768
        return read_audio(self.path, self.sample_rate, self.start, self.samples)


class BadFiles(list):
    """(kind, key, detail) of what was skipped."""

    def add(self, kind: str, key: str, detail: str = "") -> None:
        self.append((kind, key, detail))

    def report(self, source: str, total: int, strict: bool, what: str = "utterances") -> None:
        """One warning, or with `strict` a ValueError, with the number and some names per kind."""
        if not self:
            return
        kinds = defaultdict(list)
        for kind, key, detail in self:
            kinds[kind].append(f"{key} ({detail})" if detail else key)
        lines = [f"{source}: {len(self)} of {total} {what} cannot be used"]
        for kind, names in kinds.items():
            more = ", ..." if len(names) > NAMED else ""
            lines.append(f"  {kind}: {len(names)}: " + ", ".join(names[:NAMED]) + more)
        if strict:  # an error is one line
            kinds_named = "; ".join(" ".join(line.split()) for line in lines[1:])
            raise ValueError(f"{lines[0]}: {kinds_named}")
        warnings.warn("\n".join([*lines, "  they are skipped"]), stacklevel=2)


def load_corpus(
    source: str | Path,
    config: Config,
    vocabulary: Vocabulary | None = None,
    is_test: bool = False,
) -> list[Utterance]:
    """The usable utterances of a corpus; with a vocabulary, only texts that it can spell.

    In a test set all count that can be heard: nothing is left out for being short or long, hard to
    spell or too quickly spoken.
    """
    entries = read_entries(source)
    bad, good = BadFiles(), []
    for entry in bar(entries, "recordings", "file"):
        utterance = _inspect(entry, config, vocabulary, is_test, bad)
        if utterance is not None:
            good.append(utterance)
    bad.report(str(source), len(entries), config.data.strict)
    if not good:
        raise ValueError(f"{source} has no usable utterance")
    return good


def read_audio(
    path: str | Path, sample_rate: int, start: int = 0, samples: int | None = None
) -> np.ndarray:
    """A file or a piece of it as float32 in [-1, 1], at `sample_rate`, channels averaged.

    What cannot be used is an error that names the file. Samples that are not finite cannot: one NaN
    in a float file would spread over the mean and variance of all.
    """
    if not Path(path).exists():
        raise FileNotFoundError(f"no audio file at {str(path)!r}")
    try:
        with soundfile.SoundFile(str(path)) as file:
            ratio = Fraction(sample_rate, file.samplerate)
            if start:
                file.seek(start * ratio.denominator // ratio.numerator)
            frames = -1 if samples is None else -(-samples * ratio.denominator // ratio.numerator)
            audio = file.read(frames, dtype="float32", always_2d=True)
    except (soundfile.SoundFileError, OSError, TypeError) as error:  # TypeError: without a header
        raise ValueError(f"cannot read audio from {str(path)!r}: {error}") from error
    if not len(audio):
        raise ValueError(f"{path} has no samples")
    if not np.isfinite(audio).all():
        raise ValueError(f"{path} has samples that are not finite")
    mono = to_mono(audio, path)
    if ratio == 1:
        return mono
    resampled = resample_poly(mono, ratio.numerator, ratio.denominator).astype(np.float32)
    return resampled if samples is None else resampled[:samples]


def to_mono(audio: np.ndarray, path: str | Path) -> np.ndarray:
    """The mean of the channels of (n, channels); a ValueError where they cancel each other."""
    mono = audio.mean(axis=1) if audio.shape[1] > 1 else audio[:, 0]
    if np.square(mono).mean() < CANCELLED * np.square(audio).mean():
        raise ValueError(f"the channels of {path} cancel each other: keep one of them")
    return mono


def readable(
    utterances: Iterable[Utterance], bad: BadFiles
) -> Iterator[tuple[Utterance, np.ndarray]]:
    """Utterances and their audio; those that cannot be read any more go to `bad`."""
    for item in utterances:
        try:
            audio = item.audio()
        except UNREADABLE as error:
            bad.add("unreadable audio", item.key, str(error))
        else:
            yield item, audio


def prepare_manifests(folder: str | Path, names: Iterable[str]) -> None:
    """Makes and tries the folders and manifests that `write_manifest` will write."""
    for name in names:
        prepare_file(_manifest(folder, name))
        prepare_folder(Path(folder, name))


def write_manifest(utterances: Iterable[Utterance], folder: str | Path, name: str) -> Path:
    """Write wav files and `<name>.jsonl` that names them: the form `load_corpus` reads.

    What cannot be read is left out with a warning.
    """
    folder, bad = Path(folder), BadFiles()
    prepare_manifests(folder, (name,))
    lines: list[str] = []
    known: set[str] = set()
    for item, audio in readable(utterances, bad):
        if item.key in known:
            raise ValueError(f"two utterances have the key {item.key!r}")
        known.add(item.key)
        wav = Path(name) / f"{item.key}.wav"
        samples = audio if item.pcm is None else item.pcm
        soundfile.write(str(folder / wav), samples, item.sample_rate, subtype="PCM_16")
        row = {"key": item.key, "wav": str(wav), "text": item.text, "voice": item.voice}
        lines.append(json.dumps(row, ensure_ascii=False))
    bad.report(name, len(lines) + len(bad), strict=False)
    if not lines:
        raise ValueError(f"{name} has no usable utterance")
    manifest = _manifest(folder, name)
    manifest.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return manifest


def _manifest(folder: str | Path, name: str) -> Path:
    return Path(folder, f"{name}.jsonl")


def _inspect(
    entry: Entry, config: Config, vocabulary: Vocabulary | None, is_test: bool, bad: BadFiles
) -> Utterance | None:
    """The utterance of an entry, or None and a record of what is wrong with it."""
    text = normalise(entry.text, config.data.fold_case)
    path = Path(entry.path)
    rate = config.features.sample_rate
    if entry.problem:
        return bad.add(entry.problem, entry.key)
    if not text:
        return bad.add("empty transcript", entry.key)
    if not is_test and vocabulary is not None and vocabulary.unknown(text):
        return bad.add("unknown characters", entry.key, vocabulary.unknown(text))
    if not path.is_file():
        return bad.add("missing file", entry.key, str(path))
    if path.stat().st_size == 0:
        return bad.add("empty file", entry.key, str(path))
    try:
        info = soundfile.info(str(path))
    except UNREADABLE:
        return bad.add("unreadable file", entry.key, str(path))
    if info.frames == 0:
        return bad.add("empty file", entry.key, str(path))
    whole = -(-info.frames * rate // info.samplerate)  # samples when it is at our rate
    start = round(entry.start * rate)
    samples = whole - start if entry.seconds is None else round(entry.seconds * rate)
    if not 0 <= start < start + samples <= whole + rate // 100:  # ends are rounded
        return bad.add("segment beyond its file", entry.key, f"{entry.start} s")
    samples = min(samples, whole - start)
    if not (is_test or config.data.min_seconds <= samples / rate <= config.data.max_seconds):
        return bad.add("too short or too long", entry.key, f"{samples / rate:.2f} s")
    frames = samples / rate / (SUBSAMPLING * config.features.hop_ms / 1000)
    if not is_test and len(text) > frames * config.decode.max_symbols:
        return bad.add("more text than its audio holds", entry.key, f"{len(text)} characters")
    return Utterance(entry.key, text, samples, rate, entry.voice, str(path), start=start)
