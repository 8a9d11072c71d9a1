# SPDX-License-Identifier: Apache-2.0
"""Pictures: a spectrogram with each character where it was emitted; what a refusal costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ...plot import font_of, readable

LABEL = 0.045  # of the picture's width: the longest syllable


def emissions(
    features: np.ndarray,
    hop: float,
    text: str,
    seconds: Sequence[float],
    title: str,
    pinyin: Mapping[str, str],
    path: str | Path,
    noise: str = "",
) -> None:
    """Log-mel `features` (n, mels), one every `hop` seconds, as they were decoded.

    `seconds` has the time each character of `text` came at; `noise` is what was mixed in.
    """
    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots()
    frames, mels = features.shape
    axes.imshow(features.T, origin="lower", aspect="auto", extent=(0, frames * hop, 0, mels))
    font, lacks = font_of(text + title)
    for character, second, line in zip(text, seconds, lines(seconds, LABEL * frames * hop)):
        axes.axvline(second, color="white", linewidth=0.8)
        height = mels * (0.93 - 0.07 * line)
        label = readable(character, lacks, pinyin)
        box = {"facecolor": "black", "alpha": 0.5, "linewidth": 0, "pad": 1}
        axes.text(second, height, label, color="white", ha="right", bbox=box, fontfamily=font)
    shown = " ".join(readable(item, lacks, pinyin) for item in title) if lacks else title
    axes.set_title(shown, fontsize=11, fontfamily=font)
    xlabel = f"seconds ({noise})" if noise else "seconds"
    axes.set(xlabel=xlabel, ylabel="mel bin", xlim=(0, frames * hop))
    figure.savefig(path, dpi=120)


def rejection(curve: Sequence[Mapping[str, float]], chosen: float, path: str | Path) -> None:
    """What each least confidence costs: rows of `alarms.Alarms.curve`."""
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    least = [row["least confidence"] for row in curve]
    for name in ("missed", "other speech"):
        axes.plot(least, [100 * row[name] for row in curve], label=f"{name}, % of utterances")
    tickets = [row["false tickets an hour"] for row in curve if "false tickets an hour" in row]
    if tickets:
        axes.plot(least, tickets, label="false tickets an hour of noise")
    axes.axvline(chosen, color="gray", linestyle="--", label="decode.min_confidence")
    axes.set(xlabel="least confidence of a ticket", xlim=(0, 1), ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


def lines(seconds: Sequence[float], width: float) -> list[int]:
    """The line for each label, so wide, that no two emitted close together cover each other."""
    last: list[float] = []  # the last label's place on each line
    chosen = []
    for second in seconds:
        line = next((n for n, end in enumerate(last) if end <= second - width), len(last))
        last[line : line + 1] = [second]
        chosen.append(line)
    return chosen
