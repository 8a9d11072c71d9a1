# SPDX-License-Identifier: Apache-2.0
"""The long comparison of `make evaluate`: several seeds, with and without noise in training."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...tools.command import prepare_file
from ..decoding.scoring import format_table
from ..settings import Config
from ..training import loop
from . import evaluate

RATES = ("cer", "sentences", "slots", "wrong orders")


def run(config: Config, weights: str = "mean") -> list[dict]:
    """Train evaluate.train_seeds twice each; print and save mean and worst of every condition."""
    folder = Path(config.train.output)
    summary = prepare_file(folder / "study.json")
    kinds = {"clean": 0.0, "noise": config.noise.probability}
    rows = []
    for kind, probability in kinds.items():
        runs = []
        for seed in config.evaluate.train_seeds:
            one = copy.deepcopy(config)
            one.train.seed, one.noise.probability = seed, probability
            one.train.replaceable = True
            one.train.output = str(folder / f"{kind}-{seed}")
            print(f"\n== trained with {kind}, seed {seed}")
            loop.run(one)
            runs.append(evaluate.run(one.train.output, by_voice=True, weights=weights))
        rows += [{"trained with": kind, **row} for row in summarise(runs)]
    print("\n" + format_table(rows))
    summary.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return rows


def summarise(runs: Sequence[Sequence[dict]]) -> list[dict]:
    """Rows of several seeds as one: means of the rates, and the worst CER."""
    summary = []
    for same in zip(*runs):
        means = {
            name: float(np.mean([row[name] for row in same])) for name in RATES if name in same[0]
        }
        worst = max(row["cer"] for row in same)
        first = {"noise": same[0]["noise"], "voice": same[0]["voice"]}
        summary.append({**first, **means, "worst cer": worst, "seeds": len(same)})
    return summary
