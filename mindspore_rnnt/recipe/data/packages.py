# SPDX-License-Identifier: Apache-2.0
"""Recordings of people, with what they say, from Debian packages unpacked by `dpkg -x`.

Nothing of them is shipped with this project. Each has a licence of its own, LICENCES; its text lies
beside the recordings, in usr/share/doc/<package>/copyright.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ...tools.text_files import read_text
from .corpus import read_audio
from .grammar import Grammar
from .text import read_lines

GAP_SECONDS = (0.0, 0.06)  # between two syllables of a joined command
EDGE = 0.02  # of a syllable's peak: what is quieter at its ends is cut off
FILLETS_SAYING = re.compile(
    r'dialogId\("([^"]+)",\s*"([^"]*)",\s*"(?:[^"\\]|\\.)*"\)\s*dialogStr\("((?:[^"\\]|\\.)*)"\)'
)
GCIN_SPEAKERS = ("3", "5")  # the files' names


@dataclass(frozen=True)
class Recording:
    key: str
    text: str
    speaker: str
    paths: tuple[Path, ...]  # one file, or the syllables to join


def gcin_voice(folder: Path, grammar: Grammar) -> list[Recording]:
    """Every sentence of the grammar, to be joined from tonal syllables, by both speakers.

    A syllable's folder has its name in bopomofo, with the tone as a digit but for the first.
    """
    root = _one(folder, "gcin-voice/ogg")
    lacking = sorted(set(grammar.characters()) - set(grammar.bopomofo))
    if lacking:
        raise ValueError(f"the grammar's 'bopomofo' lacks {''.join(lacking)}")
    found = []
    for number, text in enumerate(grammar.sentences()):
        for speaker in GCIN_SPEAKERS:
            paths = tuple(root / grammar.bopomofo[item] / f"{speaker}.ogg" for item in text)
            found.append(Recording(f"gcin-{speaker}-{number:05d}", text, speaker, paths))
    return found


def fillets(folder: Path, language: str) -> list[Recording]:
    """The sayings of a game's actors; a speaker is named after the letters of his subtitles."""
    root = _one(folder, "fillets-ng/sound").parent
    audio, said = defaultdict(list), defaultdict(set)
    for path in sorted((root / "sound").rglob(f"{language}/*.ogg")):
        audio[path.stem].append(path)
    for path in sorted((root / "script").rglob(f"*dialogs_{language}.lua")):
        for key, letters, text in FILLETS_SAYING.findall(read_text(path)):
            said[key].add((letters.removeprefix("font_") or "plain", text))
    found = []
    for key in sorted(audio.keys() & said.keys()):
        if len(audio[key]) == len(said[key]) == 1:  # else nothing says which belongs to which
            ((speaker, text),) = said[key]
            found.append(Recording(f"{language}-{key}", _words(text), speaker, (audio[key][0],)))
    return found


def asterisk(folder: Path) -> list[Recording]:
    """Prompts of a telephone exchange, with the list that asterisk-core-sounds-en holds."""
    lines = _one(folder, "core-sounds-en.txt.gz")
    try:
        texts = gzip.decompress(lines.read_bytes()).decode("utf-8", "replace").split("\n")
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"cannot decompress {lines}: {error}") from error
    said = dict(line.split(":", 1) for line in texts if ":" in line and not line.startswith(";"))
    root = _one(folder, "asterisk/sounds/en_US_f_Allison")
    found = []
    for name, text in said.items():
        path = root / f"{name.strip()}.wav"
        if path.is_file() and "[" not in text:  # brackets: a sound and not words
            key = "allison-" + name.strip().replace("/", "-")
            found.append(Recording(key, _words(text), "allison", (path,)))
    return found


def pocketsphinx(folder: Path) -> list[Recording]:
    """A few read sentences and playing cards, 16 kHz."""
    root = _one(folder, "pocketsphinx/test/data")
    found = []
    for path in sorted(root.glob("*/*transcription")):
        for line in read_lines(path):
            match = re.fullmatch(r"<s>(.*)</s>\s*\((.+)\)\s*", line)
            if match and (path.parent / f"{match[2]}.wav").is_file():
                text, name = " ".join(match[1].split()), match[2]
                speaker = path.parent.name
                found.append(Recording(name, text, speaker, (path.parent / f"{name}.wav",)))
    return found


KINDS: dict[str, Callable[[Path, Grammar], list[Recording]]] = {
    "gcin-voice": gcin_voice,
    "fillets-cs": lambda folder, _: fillets(folder, "cs"),
    "fillets-nl": lambda folder, _: fillets(folder, "nl"),
    "asterisk-en": lambda folder, _: asterisk(folder),
    "pocketsphinx": lambda folder, _: pocketsphinx(folder),
}
LICENCES = {
    "gcin-voice": "speaker 3: GPL-3 or LGPL-3 (Edward Der-Hua Liu); speaker 5: CC-BY-3.0 (Chu Lo)",
    "fillets-cs": "GPL-2 (ALTAR interactive and others)",
    "fillets-nl": "GPL-2 (ALTAR interactive and others)",
    "asterisk-en": "CC-BY-SA-3.0 (Allison Smith, Digium)",
    "pocketsphinx": "BSD-2-Clause (Carnegie Mellon University); the read book is public domain",
}
PACKAGES = {
    "gcin-voice": ("gcin-voice",),
    "fillets-cs": ("fillets-ng-data", "fillets-ng-data-cs"),
    "fillets-nl": ("fillets-ng-data", "fillets-ng-data-nl"),
    "asterisk-en": ("asterisk-core-sounds-en", "asterisk-core-sounds-en-wav"),
    "pocketsphinx": ("pocketsphinx-testdata",),
}


def samples(recording: Recording, sample_rate: int, rng: np.random.Generator) -> np.ndarray:
    """float32 mono at the rate; syllables are joined with short gaps drawn from the generator."""
    parts = [_read(path, sample_rate) for path in recording.paths]
    if len(parts) == 1:
        return parts[0]
    joined = []
    for part in parts:
        gap = rng.uniform(*GAP_SECONDS)
        joined += [_trim(part), np.zeros(int(gap * sample_rate), np.float32)]
    return np.concatenate(joined[:-1])


@lru_cache(maxsize=256)  # a syllable is part of many commands
def _read(path: Path, sample_rate: int) -> np.ndarray:
    return read_audio(path, sample_rate)


def _trim(audio: np.ndarray) -> np.ndarray:
    """Without the quiet before and after it."""
    loud = np.flatnonzero(np.abs(audio) > EDGE * np.abs(audio).max(initial=0.0))
    return audio[loud[0] : loud[-1] + 1] if len(loud) else audio


def _words(text: str) -> str:
    """Small letters without punctuation, as they are heard."""
    text = re.sub(r"\\.", " ", text).lower().replace("’", "'")
    return " ".join(re.sub(r"[^\w' ]|_", " ", text).split())


def _one(folder: Path, ending: str) -> Path:
    """The one path below the folder, or the folder itself, that ends so."""
    parts = Path(ending).parts
    found = [path for path in Path(folder).rglob(parts[-1]) if path.parts[-len(parts) :] == parts]
    if not found:
        raise FileNotFoundError(f"{str(folder)!r} holds no .../{ending}; is the package unpacked?")
    return found[0]


def draw_sentences(recordings: Sequence[Recording], share: float, seed: int) -> set[str]:
    """A share of all that is said, to hold out."""
    texts = sorted({item.text for item in recordings})
    order = np.random.default_rng(seed).permutation(len(texts))
    return {texts[number] for number in order[: round(share * len(texts))]}


def split(
    recordings: Sequence[Recording], unseen: Collection[str], heldout_speakers: Collection[str]
) -> dict[str, list[Recording]]:
    """train; heldout: `unseen` sentences by the same speakers; speakers: those of other speakers,
    and all of theirs that is not said in training."""
    mine = [item for item in recordings if item.speaker not in heldout_speakers]
    others = [item for item in recordings if item.speaker in heldout_speakers]
    train = [item for item in mine if item.text not in unseen]
    trained = {item.text for item in train}
    return {
        "train": train,
        "heldout": [item for item in mine if item.text in unseen],
        "speakers": [item for item in others if item.text not in trained],
    }
