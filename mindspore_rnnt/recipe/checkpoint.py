# SPDX-License-Identifier: Apache-2.0
"""A run's folder: what is needed to go on with the run, and what is needed to use its model.

    config.yaml  vocabulary.txt  cmvn.npy       how to build the model and feed it
    grammar.yaml                                a copy of the commands, if there is a grammar
    checkpoints/step-0000123.ckpt               model, optimizer, loss scale and position
    checkpoints/best.ckpt                       the one with the lowest held-out CER
    model.ckpt                                  weights to use: the mean of the last checkpoints

From the end of the first epoch on there is a model to use, better with every epoch.

A file appears whole or not at all, so a run may be killed at any moment. No generator's state is
saved, because none carries over: everything random follows from (seed, epoch, step).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor

from . import config as configuration
from . import model as models
from .config import Config
from .features import Cmvn
from .recogniser import Recogniser
from .text import Vocabulary

POSITION = "position"
GRAMMAR = "grammar.yaml"
WEIGHTS = {"mean": "model.ckpt", "best": "checkpoints/best.ckpt"}


@dataclass
class Position:
    """Where a run is: `step` batches of `epoch` are done."""

    epoch: int = 0
    step: int = 0
    update: int = 0
    skipped: int = 0  # updates that were not finite
    losses: list[float] = field(default_factory=list)  # of the epoch so far
    history: list[dict] = field(default_factory=list)  # one row for each finished epoch


class Checkpoints:
    """Saves and restores the values of `parameters`, which include the optimizer's state."""

    def __init__(self, folder: str | Path, parameters: Iterable[Parameter], keep: int):
        self._folder = Path(folder) / "checkpoints"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._parameters = {item.name: item for item in parameters}
        self._keep = keep

    def save(self, position: Position, is_best: bool = False) -> None:
        path = self._folder / f"step-{position.update:07d}.ckpt"
        values = [{"name": name, "data": item} for name, item in self._parameters.items()]
        extra = {POSITION: json.dumps(asdict(position))}
        _write(path, lambda name: ms.save_checkpoint(values, name, append_dict=extra))
        if is_best:
            _write(self._folder / "best.ckpt", lambda name: shutil.copyfile(path, name))
        for old in self.saved()[: -self._keep]:
            old.unlink()

    def restore(self) -> Position | None:
        """Load the newest checkpoint into the parameters, if there is one."""
        saved = self.saved()
        if not saved:
            return None
        values = ms.load_checkpoint(str(saved[-1]))
        position = Position(**json.loads(values.pop(POSITION)))
        _assign(self._parameters, values, saved[-1])
        return position

    def clear(self) -> None:
        """Forget an earlier run in the same folder, the weights to use among them."""
        for path in self._folder.glob("*.ckpt"):
            path.unlink()
        (self._folder.parent / WEIGHTS["mean"]).unlink(missing_ok=True)

    def average(self, count: int, names: Iterable[str], path: Path) -> None:
        """Write the mean of the named values over the newest `count` checkpoints."""
        loaded = [ms.load_checkpoint(str(item)) for item in self.saved()[-count:]]
        means = [
            {"name": name, "data": Tensor(np.mean([v[name].asnumpy() for v in loaded], axis=0))}
            for name in names
        ]
        _write(path, lambda name: ms.save_checkpoint(means, name))

    def saved(self) -> list[Path]:
        """The checkpoints there are, oldest first."""
        return sorted(self._folder.glob("step-*.ckpt"))


def start_run(folder: str | Path, config: Config, vocabulary: Vocabulary, cmvn: Cmvn) -> None:
    """Write what `load_run` needs beside the weights."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    configuration.save(config, folder / "config.yaml")
    vocabulary.save(folder / "vocabulary.txt")
    cmvn.save(folder / "cmvn.npy")
    if config.data.grammar:  # not copyfile: it may be this very file
        (folder / GRAMMAR).write_bytes(configuration.find(config.data.grammar).read_bytes())
    else:
        (folder / GRAMMAR).unlink(missing_ok=True)


def load_config(folder: str | Path, overrides: Sequence[str] = ()) -> Config:
    """The configuration of a run or of exported files, with the grammar that lies beside it."""
    folder = Path(folder)
    grammar = folder / GRAMMAR
    if grammar.is_file():
        # The path in quotes, as it is read as YAML; before the others, which may name another.
        quoted = json.dumps(str(grammar), ensure_ascii=False)
        overrides = [f"data.grammar={quoted}", *overrides]
    return configuration.load(folder / "config.yaml", overrides)


def load_run(
    folder: str | Path, config: Config | None = None, weights: str = "mean"
) -> tuple[Recogniser, Config, Vocabulary, Cmvn]:
    """The trained model of a folder, with all that belongs to it.

    `config` takes the place of the run's own; `weights` are of the last checkpoints ("mean") or of
    the one with the lowest held-out CER ("best").
    """
    folder = Path(folder)
    path = folder / WEIGHTS[weights]
    if not path.is_file():
        raise FileNotFoundError(f"{folder} holds no trained model: {path} is missing")
    config = config or load_config(folder)
    vocabulary = Vocabulary.load(folder / "vocabulary.txt")
    model = models.build_deployed(config, len(vocabulary))
    parameters = {item.name: item for item in model.get_parameters()}
    _assign(parameters, ms.load_checkpoint(str(path)), path)
    return Recogniser(model), config, vocabulary, Cmvn.load(folder / "cmvn.npy")


def _assign(parameters: dict[str, Parameter], values: dict[str, Parameter], path: Path) -> None:
    for name, parameter in parameters.items():
        if name not in values:
            raise ValueError(f"{path} lacks {name!r}; was it made with another configuration?")
        if values[name].shape != parameter.shape:
            raise ValueError(
                f"{path} has {name!r} of shape {values[name].shape}, but the configuration "
                f"makes it {parameter.shape}"
            )
        parameter.set_data(Tensor(values[name].asnumpy()))


def _write(path: Path, write: Callable[[str], object]) -> None:
    """Give `path` its content in one step."""
    draft = path.with_name(f".{path.stem}.tmp.ckpt")
    draft.unlink(missing_ok=True)
    write(str(draft))
    os.replace(draft, path)
