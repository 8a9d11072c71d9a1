# SPDX-License-Identifier: Apache-2.0
"""The learning curves as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure


def learning_curves(
    steps: Sequence[Mapping[str, float]], epochs: Sequence[Mapping[str, float]], path: str | Path
) -> None:
    """Loss by step, error rates by step: rows of {step, loss} and of {step, <name>: rate, ...}."""
    figure = Figure(figsize=(8, 4), layout="constrained")
    loss, rates = figure.subplots(1, 2)
    loss.semilogy([row["step"] for row in steps], [row["loss"] for row in steps], linewidth=0.8)
    loss.set(title="training loss", xlabel="update", ylabel="nats an utterance")
    names = dict.fromkeys(name for row in epochs for name in row if name != "step")
    for name in names:
        rows = [row for row in epochs if name in row]
        rates.plot([row["step"] for row in rows], [row[name] for row in rows], label=name)
    rates.set(title="held-out", xlabel="update", ylabel="edits by characters", ylim=(0, 1.05))
    if names:
        rates.legend()
    for axes in (loss, rates):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
