# SPDX-License-Identifier: Apache-2.0
"""Speech to text to work orders as the audio comes in, from a wav file or a microphone's pipe."""

from __future__ import annotations

import io
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from ..data.corpus import read_audio
from ..data.features import FeatureStream, LogMel
from ..data.grammar import load_grammar
from ..decoding import exported
from ..decoding.bias import build_biases
from ..decoding.confidence import Calibration
from ..decoding.run_folder import load_config, load_run
from ..decoding.streaming import Segment, StreamingDecoder
from ..decoding.ticket import TicketParser
from ..decoding.verdict import Judge

PIECE_MS = 100
MICROPHONE = "-"  # raw int16 on stdin: `arecord -t raw -f S16_LE -r 16000 | ... listen --wav -`


def run(folder: str | Path, wav: str, weights: str = "mean", overrides: Sequence[str] = ()) -> dict:
    """Print characters as they are recognised, and after each utterance its order or why not.

    `folder` is that of a run or of exported files; of a run, `weights` says which of its models.
    `overrides` change its settings. Returns the reports of the utterances (see `verdict.Judge`;
    without a grammar they have no order) and the speed.
    """
    recogniser, config, vocabulary, cmvn = _load(folder, weights, overrides)
    grammar = load_grammar(config.data.grammar) if config.data.grammar else None
    parser = TicketParser(grammar) if grammar else None
    judge = Judge(config, vocabulary, parser, Calibration.load(folder))
    rate = config.features.sample_rate
    size = rate * PIECE_MS // 1000
    audio = _standard_input(size) if wav == MICROPHONE else _pieces(read_audio(wav, rate), size)
    stream = FeatureStream(LogMel(config.features))
    decoder = StreamingDecoder(recogniser, config, build_biases(config, vocabulary))
    screen = _Screen(judge, vocabulary.decode)
    samples, busy = 0, 0.0
    for piece in audio:
        start = time.perf_counter()
        ended = decoder.accept(cmvn(stream.accept(piece)))
        busy += time.perf_counter() - start
        samples += len(piece)
        screen.show(ended, decoder.partial.ids[: decoder.settled])
    if not samples:
        raise ValueError(f"no audio came from {'stdin' if wav == MICROPHONE else wav}")
    start = time.perf_counter()
    ended = decoder.finish()
    busy += time.perf_counter() - start
    screen.show(ended, ())
    if not screen.reports:
        print("no ticket: nothing was recognised")
    seconds = samples / rate
    print(f"real-time factor {busy / seconds:.3f} ({busy:.2f} s of work for {seconds:.2f} s)")
    return {"utterances": screen.reports, "real_time_factor": busy / seconds}


class _Screen:
    """Prints labels once they are sure to stay, and a report when their utterance is over."""

    def __init__(self, judge: Judge, decode: Callable[[Sequence[int]], str]):
        self._judge, self._decode = judge, decode
        self._shown = 0  # labels of the utterance that is not over
        self.reports: list[dict] = []

    def show(self, ended: Sequence[Segment], partial: Sequence[int]) -> None:
        for segment in ended:
            print(self._decode(segment.found.ids[self._shown :]))
            self._shown = 0
            self._report(segment)
        print(self._decode(partial[self._shown :]), end="", flush=True)
        self._shown = max(self._shown, len(partial))

    def _report(self, segment: Segment) -> None:
        times = {"begin": round(segment.begin, 3), "end": round(segment.end, 3)}
        report = self._judge(segment.found, segment.seconds) | times
        report["over"] = segment.reason.value
        self.reports.append(report)
        print(json.dumps(report, ensure_ascii=False))
        if report.get("reason"):
            print(f"no ticket: {report['reason']}")


def _load(folder: str | Path, weights: str, overrides: Sequence[str]) -> tuple:
    if not (Path(folder) / "encoder.mindir").is_file():
        config = load_config(folder, overrides) if Path(folder, "config.yaml").is_file() else None
        return load_run(folder, config, weights)
    if weights != "mean":
        raise ValueError(f"{folder} holds exported files; choose their weights when exporting")
    return exported.load(folder, load_config(folder, overrides))


def _pieces(audio: np.ndarray, size: int) -> Iterator[np.ndarray]:
    for start in range(0, len(audio), size):
        yield audio[start : start + size]


def _standard_input(size: int) -> Iterator[np.ndarray]:
    """Pieces until the pipe ends or the user stops it by Ctrl-C.

    `read1` takes what has come in, so that a Ctrl-C that interrupts it loses nothing.
    """
    is_stopped = is_reading = False

    def stop(*_: object) -> None:
        nonlocal is_stopped
        is_stopped = True
        if is_reading:  # else the piece that was read is decoded first
            raise KeyboardInterrupt

    source = cast(io.BufferedReader, sys.stdin.buffer)
    odd = b""  # half a sample
    while not is_stopped:
        # Before each read: MindSpore puts its own handler in place whenever it compiles.
        signal.signal(signal.SIGINT, stop)
        is_reading = True
        try:
            block = source.read1(2 * size)
        except KeyboardInterrupt:
            break
        is_reading = False
        if not block:
            break
        whole = odd + block
        end = len(whole) // 2 * 2
        odd = whole[end:]
        yield np.frombuffer(whole[:end], "<i2").astype(np.float32) / 32768
    signal.signal(signal.SIGINT, signal.default_int_handler)
