# SPDX-License-Identifier: Apache-2.0
"""What a benchmark runs: the defaults below are a quick look, configs/bench.yaml is the whole."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from numbers import Real
from pathlib import Path

from ..tools.command import require_extra
from ..tools.configs import config_path
from ..tools.text_files import read_yaml
from .contenders import DTYPES, FORMS, MODES, PEERS
from .problems import read_lengths

_CHOICES = {"dtypes": DTYPES, "forms": FORMS, "modes": MODES, "peers": (*PEERS, "stream")}
_AXES = "threads", "B", "T", "U", "V"
_LEAST = {"threads": 1, "B": 1, "T": 1, "U": 0, "V": 2}  # V: a blank and a label


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
    family: list[list[int]] = field(default_factory=list)  # sizes of alignment, TDT and others
    compositions: list[list[int]] = field(default_factory=list)  # and what a user would write
    pruned: list[list[int]] = field(default_factory=list)  # sizes of losses with a joiner
    memory: list[list[int]] = field(default_factory=list)  # sizes whose peak memory is taken
    profile: list[list[int]] = field(default_factory=list)  # sizes whose time is taken apart

    @classmethod
    def load(cls, name: Path | str | None) -> BenchConfig:
        """Of a file, or of a name of configs/; ValueError if anything in it cannot be run."""
        if name is None:
            return cls()
        require_extra("bench", "yaml")
        path = config_path(name)
        values = read_yaml(path) or {}
        if not isinstance(values, dict):
            raise ValueError(f"{path} must hold keys and values, but holds {values!r}")
        unknown = set(values) - {f.name for f in fields(cls)}
        if unknown:
            raise ValueError(f"{path}: unknown keys {sorted(unknown)}")
        config = cls(**values)
        if config.lengths:
            config.lengths = str(path.parent / str(config.lengths))
        try:
            config.check()
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        return config

    def check(self) -> None:
        """ValueError that names the key, unless every value can be run."""
        for key, choices in _CHOICES.items():
            for value in _list(key, getattr(self, key)):
                _expect(value in choices, key, f"a list of {', '.join(choices)}", value)
        for key in ("sizes", "family", "compositions", "pruned", "memory", "profile"):
            for size in _list(key, getattr(self, key)):
                _check_size(key, size)
        _check_size("sweep_base", self.sweep_base)
        _expect(isinstance(self.sweeps, dict), "sweeps", "lists of sizes by name", self.sweeps)
        for axis, values in self.sweeps.items():
            _expect(axis in _AXES, "sweeps", f"by name, of {', '.join(_AXES)}", axis)
            for value in _list(f"sweeps of {axis}", values):
                _check_int(f"sweeps of {axis}", value, _LEAST[axis])
        for key, least in (("utterances", 1), ("vocabularies", _LEAST["V"])):
            for value in _list(key, getattr(self, key)):
                _check_int(key, value, least)
        _check_int("threads", self.threads, 0)
        number = isinstance(self.seconds, Real) and not isinstance(self.seconds, bool)
        _expect(number and self.seconds > 0, "seconds", "a number above 0", self.seconds)
        if self.utterances:
            found = bool(self.lengths) and Path(self.lengths).is_file()
            _expect(found, "lengths", "a file, as utterances are asked for", self.lengths)
            read_lengths(Path(self.lengths))


def _expect(good, key, expected, value):
    if not good:
        raise ValueError(f"{key} must be {expected}, but got {value!r}")


def _list(key, value):
    _expect(isinstance(value, list), key, "a list", value)
    return value


def _check_int(key, value, least):
    good = isinstance(value, int) and not isinstance(value, bool) and value >= least
    _expect(good, key, f"an int of at least {least}", value)


def _check_size(key, size):
    _expect(isinstance(size, list) and len(size) == 4, key, "[B, T, U, V]", size)
    for axis, value in zip("BTUV", size):
        _check_int(f"{axis} of {key}", value, _LEAST[axis])
