# SPDX-License-Identifier: Apache-2.0
"""Synthetic speech from espeak-ng, which always runs in a child process.

espeak-ng carries state from one utterance to the next: a text sounds a little different the
second time. A corpus is therefore always spoken by one fresh process in one fixed order, which
gives the same bits every time.
"""

from __future__ import annotations

import importlib.util
import io
import itertools
import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryFile
from typing import IO, cast

import numpy as np
import soundfile
from scipy.signal import resample_poly

from ..bar import bar
from ..settings import Config, DataConfig
from .corpus import Utterance
from .grammar import load_grammar

WORKER = Path(__file__).with_name("espeak_worker.py")
LANGUAGE = "cmn-latn-pinyin"  # reads hanzi rightly in 1.51 and in 1.52; `cmn` does not in 1.51
PEAK = 0.5  # of full scale: what a level-controlled microphone delivers
LONGEST_FRAGMENT = 6  # characters of a fragment, about a second
MISSING = (
    "no espeak-ng found to synthesise speech with; install it by "
    "`pip install mindspore-rnnt[demo]` (espeakng-loader) or as the program `espeak-ng`, "
    "or set data.train and data.heldout to a corpus of your own"
)


@dataclass(frozen=True)
class Spoken:
    """What to say and how."""

    text: str
    voice: str  # variant of the language, e.g. f2; empty: the plain voice
    rate: int  # words a minute
    pitch: int  # 0..99
    language: str = LANGUAGE


def speak_train(config: Config) -> list[Utterance]:
    """The training part of the synthetic corpus: data.train_utterances sentences, then the rest."""
    data, grammar = config.data, load_grammar(config.data.grammar)
    sentences, _ = grammar.split(data.train_utterances, data.heldout_utterances, data.seed)
    # Alone, a phrase shows where its sound is; a grammar's sentences can be guessed without it.
    phrases = itertools.islice(itertools.cycle(grammar.phrases()), data.train_phrases)
    texts = [*sentences, *phrases, *fragments(sentences, data.train_fragments, data.seed)]
    return utterances(cast_voices(texts, data.train_voices, data, data.seed), "train", config)


def fragments(sentences: Sequence[str], count: int, seed: int) -> list[str]:
    """Pieces of 1 to LONGEST_FRAGMENT characters from anywhere in the sentences.

    Neither what comes next in them nor where they end can be guessed: each character has to be
    heard, where a phrase that is known from its first sound is not.
    """
    rng = np.random.default_rng(seed)
    pieces = []
    for _ in range(count):
        sentence = sentences[rng.integers(len(sentences))]
        length = int(rng.integers(1, min(LONGEST_FRAGMENT, len(sentence)) + 1))
        start = int(rng.integers(len(sentence) - length + 1))
        pieces.append(sentence[start : start + length])
    return pieces


def speak_heldout(config: Config) -> list[Utterance]:
    """The held-out part: sentences that are never trained, in voices that are not either."""
    data = config.data
    shared = set(data.train_voices) & set(data.heldout_voices)
    if shared:
        raise ValueError(f"data.heldout_voices has voices of data.train_voices: {sorted(shared)}")
    _, texts = load_grammar(data.grammar).split(
        data.train_utterances, data.heldout_utterances, data.seed
    )
    spoken = cast_voices(texts, data.heldout_voices, data, data.seed + 1)
    return utterances(spoken, "heldout", config)


def cast_voices(
    texts: Sequence[str], voices: Sequence[str], data: DataConfig, seed: int
) -> list[Spoken]:
    """A voice, a rate and a pitch for each text: voices in turn, the rest at random."""
    rng = np.random.default_rng(seed)
    return [
        Spoken(
            text,
            voices[number % len(voices)],
            int(rng.integers(data.rate_wpm[0], data.rate_wpm[1] + 1)),
            int(rng.integers(data.pitch[0], data.pitch[1] + 1)),
        )
        for number, text in enumerate(texts)
    ]


def synthesise(spoken: Sequence[Spoken], sample_rate: int = 16000) -> list[np.ndarray]:
    """int16 audio of each request, resampled to `sample_rate` and set to one peak level."""
    if importlib.util.find_spec("espeakng_loader") is not None:
        raw = _by_library(spoken)
    elif shutil.which("espeak-ng"):
        raw = [_by_program(item) for item in bar(spoken, "speaking", "utterance")]
    else:
        raise RuntimeError(MISSING)
    return [
        _level(item, rate, sample_rate, request.text)
        for request, (rate, item) in zip(spoken, raw, strict=True)
    ]


def utterances(spoken: Sequence[Spoken], name: str, config: Config) -> list[Utterance]:
    """The requests as utterances of a corpus, with the keys <name>-00000 and so on."""
    rate = config.features.sample_rate
    return [
        Utterance(f"{name}-{number:05d}", item.text, len(pcm), rate, item.voice, pcm=pcm)
        for number, (item, pcm) in enumerate(zip(spoken, synthesise(spoken, rate)))
    ]


def _by_library(spoken: Sequence[Spoken]) -> list[tuple[int, np.ndarray]]:
    requests = [asdict(item) | {"voice": _voice(item)} for item in spoken]
    audio = []
    # Files for what goes in and for errors: none of the pipes can fill up while another is read.
    with TemporaryFile() as asked, TemporaryFile() as errors:
        asked.write(json.dumps(requests).encode("utf-8"))
        asked.seek(0)
        command = [sys.executable, str(WORKER)]
        with Popen(command, stdin=asked, stdout=PIPE, stderr=errors) as worker:
            stream = cast(IO[bytes], worker.stdout)
            for _ in bar(spoken, "speaking", "utterance"):
                head = stream.read(8)
                if len(head) < 8:
                    break
                rate, count = struct.unpack("<ii", head)
                audio.append((rate, np.frombuffer(stream.read(2 * count), dtype="<i2")))
        errors.seek(0)
        if worker.returncode != 0 or len(audio) < len(spoken):
            raise RuntimeError(
                f"espeak-ng's process failed ({worker.returncode}): "
                + errors.read().decode("utf-8", "replace").strip()
            )
    return audio


def _by_program(item: Spoken) -> tuple[int, np.ndarray]:
    command = ["espeak-ng", "-v", _voice(item), "-s", str(item.rate), "-p", str(item.pitch)]
    # What comes after -- is no option, even where the text begins with a dash.
    command += ["--stdout", "--", item.text]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            f"`{' '.join(command)}` failed: " + done.stderr.decode("utf-8", "replace").strip()
        )
    audio, rate = soundfile.read(io.BytesIO(done.stdout), dtype="int16")
    return rate, audio


def _voice(item: Spoken) -> str:
    return f"{item.language}+{item.voice}" if item.voice else item.language


def _level(audio: np.ndarray, rate: int, sample_rate: int, text: str) -> np.ndarray:
    peak = float(np.abs(audio.astype(np.float64)).max(initial=0.0))
    if peak == 0.0:
        raise RuntimeError(f"espeak-ng gave no sound for {text!r}")
    ratio = Fraction(sample_rate, rate)
    resampled = resample_poly(audio / peak, ratio.numerator, ratio.denominator)
    scaled = resampled * (PEAK * 32767 / np.abs(resampled).max())
    return np.rint(scaled).astype(np.int16)
