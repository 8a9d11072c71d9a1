# SPDX-License-Identifier: Apache-2.0
"""Utterances of a corpus: a JSON-lines manifest, wav.scp + text, or AISHELL's folders as they come.

Every file is looked at before training starts. What cannot be used is skipped with one warning
that counts and names it, or is an error with `data.strict: true`.
"""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from ..config import Config
from .text import Vocabulary, normalise

NAMED = 5  # bad files that a warning names, of each kind
UNREADABLE = (soundfile.SoundFileError, OSError, ValueError)  # what `read_audio` may raise


@dataclass(frozen=True, eq=False)
class Utterance:
    """Audio in memory (`pcm`, int16) or in a file, with what is said."""

    key: str
    text: str
    samples: int
    sample_rate: int
    voice: str = ""
    path: str = ""
    pcm: np.ndarray | None = None

    def audio(self) -> np.ndarray:
        """float32 in [-1, 1]."""
        if self.pcm is not None:
            return self.pcm.astype(np.float32) / 32768
        return read_audio(self.path, self.sample_rate)


@dataclass(frozen=True)
class Entry:
    """A line of a corpus, not yet looked at; `problem` when the line itself is bad."""

    key: str
    path: str = ""
    text: str = ""
    voice: str = ""
    problem: str = ""


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
        if strict:
            raise ValueError("\n".join(lines))
        warnings.warn("\n".join([*lines, "  they are skipped"]), stacklevel=2)


def load_corpus(
    source: str | Path, config: Config, vocabulary: Vocabulary | None = None
) -> list[Utterance]:
    """The usable utterances of a corpus; with a vocabulary, only texts that it can spell."""
    entries = read_entries(source)
    bad, good = BadFiles(), []
    for entry in entries:
        utterance = _inspect(entry, config, vocabulary, bad)
        if utterance is not None:
            good.append(utterance)
    bad.report(str(source), len(entries), config.data.strict)
    if not good:
        raise ValueError(f"{source} has no usable utterance")
    return good


def read_entries(source: str | Path) -> list[Entry]:
    """The lines of a corpus in whichever of the three forms it has."""
    source = Path(source)
    if source.is_file():
        return _manifest(source)
    if (source / "wav.scp").is_file():
        return _kaldi(source)
    if source.is_dir():
        return _aishell(source)
    raise FileNotFoundError(f"no corpus at {str(source)!r}: neither a manifest nor a folder")


def read_audio(path: str | Path, sample_rate: int) -> np.ndarray:
    """A whole file as float32 in [-1, 1], channels averaged.

    A ValueError for another rate, and for samples that are not finite: one NaN in a float file
    would spread over the mean and variance of all.
    """
    audio, rate = soundfile.read(str(path), dtype="float32", always_2d=True)
    if rate != sample_rate:
        raise ValueError(f"{path} has {rate} Hz, but {sample_rate} Hz is expected")
    if not np.isfinite(audio).all():
        raise ValueError(f"{path} has samples that are not finite")
    return audio.mean(axis=1) if audio.shape[1] > 1 else audio[:, 0]


def wav_files(folder: str | Path) -> list[Path]:
    """Every wav file in a folder and those below, sorted."""
    return sorted(
        path for path in Path(folder).rglob("*") if path.suffix.lower() == ".wav" and path.is_file()
    )


def write_manifest(utterances: Iterable[Utterance], folder: str | Path, name: str) -> Path:
    """Write wav files and `<name>.jsonl` that names them: the form `load_corpus` reads."""
    folder = Path(folder)
    (folder / name).mkdir(parents=True, exist_ok=True)
    lines = []
    for item in utterances:
        wav = Path(name) / f"{item.key}.wav"
        audio = item.pcm if item.pcm is not None else item.audio()
        soundfile.write(str(folder / wav), audio, item.sample_rate, subtype="PCM_16")
        row = {"key": item.key, "wav": str(wav), "text": item.text, "voice": item.voice}
        lines.append(json.dumps(row, ensure_ascii=False))
    manifest = folder / f"{name}.jsonl"
    manifest.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return manifest


def _inspect(
    entry: Entry, config: Config, vocabulary: Vocabulary | None, bad: BadFiles
) -> Utterance | None:
    """The utterance of an entry, or None and a record of what is wrong with it."""
    text = normalise(entry.text)
    path = Path(entry.path)
    rate = config.features.sample_rate
    if entry.problem:
        return bad.add(entry.problem, entry.key)
    if not text:
        return bad.add("empty transcript", entry.key)
    if vocabulary is not None and vocabulary.unknown(text):
        return bad.add("unknown characters", entry.key, vocabulary.unknown(text))
    if not path.is_file():
        return bad.add("missing file", entry.key, str(path))
    if path.stat().st_size == 0:
        return bad.add("empty file", entry.key, str(path))
    try:
        info = soundfile.info(str(path))
    except (soundfile.SoundFileError, OSError):
        return bad.add("unreadable file", entry.key, str(path))
    if info.frames == 0:
        return bad.add("empty file", entry.key, str(path))
    if info.samplerate != rate:
        return bad.add(f"sample rate other than {rate} Hz", entry.key, f"{info.samplerate} Hz")
    if not config.data.min_seconds <= info.frames / rate <= config.data.max_seconds:
        return bad.add("too short or too long", entry.key, f"{info.frames / rate:.2f} s")
    return Utterance(entry.key, text, info.frames, rate, entry.voice, str(path))


def _manifest(path: Path) -> list[Entry]:
    entries = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            wav, text = row["wav"], row.get("text", row.get("txt", ""))
            key = str(row.get("key", Path(wav).stem))
            if not isinstance(text, str):
                entries.append(Entry(key, problem="transcript that is not a string"))
                continue
            voice = str(row.get("voice") or row.get("speaker") or "")
            entries.append(Entry(key, str(path.parent / wav), text, voice))
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError):
            entries.append(Entry(f"line {number}", problem="line that is not {wav, text}"))
    return entries


def _kaldi(folder: Path) -> list[Entry]:
    """wav.scp and text, with utt2spk if there is one."""
    texts = _keyed(folder / "text")
    voices = _keyed(folder / "utt2spk") if (folder / "utt2spk").is_file() else {}
    entries = []
    for key, path in _keyed(folder / "wav.scp").items():
        if path.rstrip().endswith("|"):
            entries.append(Entry(key, problem="command in wav.scp, not a file"))
        elif key not in texts:
            entries.append(Entry(key, problem="no transcript"))
        else:
            entries.append(Entry(key, str(folder / path), texts[key], voices.get(key, "")))
    return entries


def _aishell(folder: Path) -> list[Entry]:
    """`.../data_aishell/wav/train` with `.../data_aishell/transcript/*.txt`; a folder a speaker."""
    transcripts = sorted((folder.parent.parent / "transcript").glob("*.txt"))
    if not transcripts:
        raise FileNotFoundError(
            f"{folder} has no wav.scp, and {folder.parent.parent}/transcript has no *.txt"
        )
    texts = {key: text for path in transcripts for key, text in _keyed(path).items()}
    return [
        Entry(path.stem, str(path), texts[path.stem], path.parent.name)
        if path.stem in texts
        else Entry(path.stem, problem="no transcript")
        for path in wav_files(folder)
    ]


def _keyed(path: Path) -> dict[str, str]:
    """`key value ...` lines."""
    if not path.is_file():
        raise FileNotFoundError(f"the corpus lacks {path}")
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    pairs = (line.split(maxsplit=1) for line in lines if line.strip())
    return {pair[0]: pair[1] if len(pair) > 1 else "" for pair in pairs}
