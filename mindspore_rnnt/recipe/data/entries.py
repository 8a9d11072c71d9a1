# SPDX-License-Identifier: Apache-2.0
"""The lines of a corpus in its three forms, not yet looked at: who says what in which file.

A JSON-lines manifest ({wav | audio_filepath, text | txt, key, voice | speaker, offset, duration}),
a Kaldi folder (wav.scp, text, and if there are segments and utt2spk), or AISHELL's folders.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from .text import normalise, read_lines


@dataclass(frozen=True)
class Entry:
    """A line of a corpus: a whole file, or with `seconds` a piece. `problem`: the line is bad."""

    key: str
    path: str = ""
    text: str = ""
    voice: str = ""
    problem: str = ""
    start: float = 0.0
    seconds: float | None = None


def read_entries(source: str | Path) -> list[Entry]:
    """The lines of a corpus in whichever form it has; those that do not agree are bad."""
    source = Path(source)
    if source.is_file():
        return _agreeing(_manifest(source))
    if (source / "wav.scp").is_file():
        return _agreeing(_kaldi(source))
    if source.is_dir():
        return _agreeing(_aishell(source))
    raise FileNotFoundError(f"no corpus at {str(source)!r}: neither a manifest nor a folder")


def wav_files(folder: str | Path) -> list[Path]:
    """Every wav file in a folder and those below, links to folders among them, sorted."""
    return sorted(path for path in _walk(Path(folder), set()) if path.suffix.lower() == ".wav")


def _walk(folder: Path, seen: set[str]) -> Iterator[Path]:
    if os.path.realpath(folder) in seen or not folder.is_dir():  # a link may lead back
        return
    seen.add(os.path.realpath(folder))
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            yield from _walk(path, seen)
        elif path.is_file():
            yield path


def _agreeing(entries: list[Entry]) -> list[Entry]:
    """A recording, or piece of one, has one text and one speaker, on however many lines it is."""
    said = defaultdict(set)
    for item in entries:
        if not item.problem:
            said[_piece(item)].add((normalise(item.text), item.voice))
    problem = "recording on lines that do not agree"
    return [
        replace(item, problem=problem) if len(said.get(_piece(item), ())) > 1 else item
        for item in entries
    ]


def _piece(item: Entry) -> tuple[str, float, float | None]:
    return os.path.normpath(item.path), item.start, item.seconds


def _manifest(path: Path) -> list[Entry]:
    entries = []
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            wav = row["wav"] if "wav" in row else row["audio_filepath"]
            text = row.get("text", row.get("txt", ""))
            key = str(row.get("key", Path(wav).stem))
            if not isinstance(text, str):
                entries.append(Entry(key, problem="transcript that is not a string"))
                continue
            voice = str(row.get("voice") or row.get("speaker") or "")
            start = float(row.get("offset", 0.0))
            seconds = float(row["duration"]) if {"offset", "duration"} <= set(row) else None
            wav = str(path.parent / wav)
            entries.append(Entry(key, wav, text, voice, start=start, seconds=seconds))
        except (json.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
            entries.append(Entry(f"line {number}", problem="line that is not {wav, text}"))
    return entries


def _kaldi(folder: Path) -> list[Entry]:
    """wav.scp and text, with segments and utt2spk if there are any."""
    files, texts = _Table(folder / "wav.scp"), _Table(folder / "text")
    pieces = _Table(folder / "segments") if (folder / "segments").is_file() else None
    voices = _Table(folder / "utt2spk") if (folder / "utt2spk").is_file() else None
    audio = files if pieces is None else pieces
    entries = []
    for key in audio.values:
        recording, start, seconds = key, 0.0, None
        if pieces is not None:
            try:
                recording, begin, end = pieces.values[key].split()
                start, seconds = float(begin), float(end) - float(begin)
            except ValueError:
                entries.append(Entry(key, problem="segment that is not recording, begin, end"))
                continue
        problem = _problem(key, recording, audio, files, texts)
        if voices and key in voices.repeated:
            problem = problem or "two speakers in utt2spk"
        if problem:
            entries.append(Entry(key, problem=problem))
            continue
        path = str(folder / files.values[recording])
        voice = voices.values.get(key, "") if voices else ""
        entries.append(Entry(key, path, texts.values[key], voice, start=start, seconds=seconds))
    lost = [key for key in texts.values if key not in audio.values]
    return entries + [Entry(key, problem="text without audio") for key in lost]


def _problem(key: str, recording: str, audio: _Table, files: _Table, texts: _Table) -> str:
    if {key} & (audio.repeated | texts.repeated) or recording in files.repeated:
        return "id on two lines"
    if recording not in files.values:
        return "segment of no recording"
    if files.values[recording].endswith("|"):
        return "command in wav.scp, not a file"
    return "" if key in texts.values else "no transcript"


def _aishell(folder: Path) -> list[Entry]:
    """`.../data_aishell/wav/train` with `.../data_aishell/transcript/*.txt`; a folder a speaker."""
    transcripts = sorted((folder.parent.parent / "transcript").glob("*.txt"))
    if not transcripts:
        raise FileNotFoundError(
            f"{folder} has no wav.scp, and {folder.parent.parent}/transcript has no *.txt"
        )
    texts = _Table(*transcripts)
    paths = wav_files(folder)
    stems = Counter(path.stem for path in paths)
    entries = []
    for path in paths:
        if stems[path.stem] > 1:
            problem = "one name for two files"
        elif path.stem in texts.repeated:
            problem = "id on two lines"
        else:
            problem = "" if path.stem in texts.values else "no transcript"
        text = "" if problem else texts.values[path.stem]
        entries.append(Entry(path.stem, str(path), text, path.parent.name, problem))
    return entries


class _Table:
    """`key value ...` lines of files; `repeated` are the keys of lines that do not agree."""

    def __init__(self, *paths: Path):
        self.values: dict[str, str] = {}
        self.repeated: set[str] = set()
        for path in paths:
            if not path.is_file():
                raise FileNotFoundError(f"the corpus lacks {path}")
            for line in filter(str.strip, read_lines(path)):
                key, *rest = re.split(r"[ \t]+", line.strip(" \t"), maxsplit=1)
                value = rest[0] if rest else ""
                if self.values.setdefault(key, value) != value:
                    self.repeated.add(key)
