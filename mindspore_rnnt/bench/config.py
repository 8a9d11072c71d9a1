# SPDX-License-Identifier: Apache-2.0
"""What a benchmark runs: the defaults below are a quick look, configs/bench.yaml is the whole."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path


@dataclass
class BenchConfig:
    output: str = "runs/bench"
    threads: int = 0  # 0: each contender's own default
    # For each contender on each problem, and at least three rounds; fewer if a call takes several
    # times as long: none is called again after ten times `seconds`, or one slow peer would take
    # hours. Three rounds of a call that takes up to five times `seconds` end within that.
    seconds: float = 3.0
    dtypes: list[str] = field(default_factory=lambda: ["float32"])
    forms: list[str] = field(default_factory=lambda: ["two-op", "fused", "evaluation"])
    modes: list[str] = field(default_factory=lambda: ["pynative", "jit"])
    peers: list[str] = field(default_factory=lambda: ["torchaudio", "fast_rnnt", "stream"])
    sizes: list[list[int]] = field(  # B, T, U, V
        default_factory=lambda: [[4, 200, 50, 50], [4, 250, 60, 1000]]
    )
    lengths: str = ""  # CSV with columns frames, labels, beside the config; for real batches:
    utterances: list[int] = field(default_factory=list)
    vocabularies: list[int] = field(default_factory=list)
    sweeps: dict[str, list[int]] = field(default_factory=dict)  # of threads, B, T, U or V
    sweep_base: list[int] = field(default_factory=lambda: [4, 150, 40, 500])
    memory: list[list[int]] = field(default_factory=list)  # sizes whose peak memory is taken
    profile: list[list[int]] = field(default_factory=list)  # sizes whose time is taken apart

    @classmethod
    def load(cls, path: Path | None) -> BenchConfig:
        if path is None:
            return cls()
        import yaml

        values = yaml.safe_load(path.read_text()) or {}
        unknown = set(values) - {f.name for f in fields(cls)}
        if unknown:
            raise ValueError(f"{path}: unknown keys {sorted(unknown)}")
        config = cls(**values)
        if config.lengths:
            config.lengths = str(path.parent / config.lengths)
        return config
