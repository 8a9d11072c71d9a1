# SPDX-License-Identifier: Apache-2.0
"""Speech to text to work order as the audio comes in, from a wav file or a microphone's pipe."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import soundfile
from scipy.signal import resample_poly

from ..data.features import FeatureStream, LogMel
from ..data.grammar import load_grammar
from ..decoding import exported
from ..decoding.run_folder import load_run
from ..decoding.streaming import StreamingDecoder
from ..decoding.ticket import TicketParser

PIECE_MS = 100
MICROPHONE = "-"  # raw int16 on stdin: `arecord -t raw -f S16_LE -r 16000 | ... listen --wav -`


def run(folder: str | Path, wav: str, weights: str = "mean") -> dict:
    """Print characters as they are recognised, then the work order; returns both and the speed.

    `folder` is that of a run or of exported files; of a run, `weights` says which of its models.
    Without a grammar the order is None.
    """
    recogniser, config, vocabulary, cmvn = _load(folder, weights)
    grammar = load_grammar(config.data.grammar) if config.data.grammar else None
    rate = config.features.sample_rate
    size = rate * PIECE_MS // 1000
    audio = _standard_input(size) if wav == MICROPHONE else _pieces(read_any(wav, rate), size)
    stream, decoder = FeatureStream(LogMel(config.features)), StreamingDecoder(recogniser, config)
    text, samples, busy = "", 0, 0.0
    for piece in audio:
        start = time.perf_counter()
        new = vocabulary.decode(decoder.accept(cmvn(stream.accept(piece))))
        busy += time.perf_counter() - start
        samples += len(piece)
        text += new
        print(new, end="", flush=True)
    start = time.perf_counter()
    new = vocabulary.decode(decoder.finish())
    busy += time.perf_counter() - start
    text += new
    print(new)
    order = TicketParser(grammar).parse(text) if grammar else None
    if order:
        print(json.dumps(order, ensure_ascii=False, indent=1))
    factor = busy / max(samples / rate, 1e-9)
    print(
        f"real-time factor {factor:.3f} ({busy:.2f} s of work for {samples / rate:.2f} s of audio)"
    )
    return {"text": text, "order": order, "real_time_factor": factor}


def read_any(path: str | Path, sample_rate: int) -> np.ndarray:
    """A wav file of any rate and number of channels, as float32 mono at `sample_rate`."""
    try:
        audio, rate = soundfile.read(str(path), dtype="float32", always_2d=True)
    except (soundfile.SoundFileError, OSError) as error:
        raise ValueError(f"cannot read audio from {str(path)!r}: {error}") from error
    ratio = Fraction(sample_rate, rate)
    mono = audio.mean(axis=1)
    if ratio != 1:
        mono = resample_poly(mono, ratio.numerator, ratio.denominator)
    return mono.astype(np.float32)


def _load(folder: str | Path, weights: str) -> tuple:
    if not (Path(folder) / "encoder.mindir").is_file():
        return load_run(folder, weights=weights)
    if weights != "mean":
        raise ValueError(f"{folder} holds exported files; choose their weights when exporting")
    return exported.load(folder)


def _pieces(audio: np.ndarray, size: int) -> Iterator[np.ndarray]:
    for start in range(0, len(audio), size):
        yield audio[start : start + size]


def _standard_input(size: int) -> Iterator[np.ndarray]:
    """Pieces until the pipe ends or the user stops it by Ctrl-C, after which the order follows."""
    is_stopped = is_reading = False

    def stop(*_: object) -> None:
        nonlocal is_stopped
        is_stopped = True
        if is_reading:  # else the piece at hand is decoded first
            raise KeyboardInterrupt

    while not is_stopped:
        # Before each read: MindSpore puts its own handler in place whenever it compiles.
        signal.signal(signal.SIGINT, stop)
        is_reading = True
        try:
            block = sys.stdin.buffer.read(2 * size)
        except KeyboardInterrupt:
            break
        is_reading = False
        if not block:
            break
        yield np.frombuffer(block[: len(block) // 2 * 2], "<i2").astype(np.float32) / 32768
    signal.signal(signal.SIGINT, signal.default_int_handler)
