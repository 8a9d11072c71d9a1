# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a run, in its folder's `checkpoints/`.

    step-0000123.ckpt    model, optimizer, loss scale and position
    best.ckpt            the one with the lowest held-out CER

A file appears whole or not at all, so a run may be killed at any moment. No generator's state is
saved, because none carries over: everything random follows from (seed, epoch, step).
"""

from __future__ import annotations

import itertools
import json
import shutil
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor

from ...tools.replacing import replacing
from ..decoding.run_folder import WEIGHTS, assign, load_checkpoint

POSITION = "position"


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
        with replacing(path, lasting=True) as draft:
            ms.save_checkpoint(values, str(draft), append_dict=extra, crc_check=True)
        if is_best:
            with replacing(self._folder / "best.ckpt", lasting=True) as draft:
                shutil.copyfile(path, draft)
        for old in self.saved()[: -self._keep]:
            old.unlink()

    def restore(self) -> Position | None:
        """Load the newest sound checkpoint into the parameters, if there is any checkpoint.

        Those that are damaged are named by a warning; without a sound one it is an error.
        """
        saved = self.saved()
        for path in reversed(saved):
            values = _read(path)
            if values is not None:
                position = Position(**json.loads(values.pop(POSITION)))
                assign(self._parameters, values, path)
                return position
        if saved:
            raise ValueError(f"all {len(saved)} checkpoints in {self._folder} are damaged")
        return None

    def clear(self) -> None:
        """Forget an earlier run in the same folder, the weights to use among them."""
        for path in self._folder.glob("*.ckpt"):
            path.unlink()
        (self._folder.parent / WEIGHTS["mean"]).unlink(missing_ok=True)

    def average(self, count: int, names: Iterable[str], path: Path) -> None:
        """Write the mean of the named values over the newest `count` checkpoints."""
        sound = (values for path in reversed(self.saved()) if (values := _read(path)))
        loaded = list(itertools.islice(sound, count))
        means = [
            {"name": name, "data": Tensor(np.mean([v[name].asnumpy() for v in loaded], axis=0))}
            for name in names
        ]
        with replacing(path, lasting=True) as draft:
            ms.save_checkpoint(means, str(draft))

    def saved(self) -> list[Path]:
        """The checkpoints there are, oldest first."""
        return sorted(self._folder.glob("step-*.ckpt"))


def _read(path: Path) -> dict[str, Parameter] | None:
    """The values of a checkpoint, or None and a warning for a damaged one."""
    try:
        values = load_checkpoint(path, crc_check=True)
        json.loads(values[POSITION])
    except (ValueError, RuntimeError, OSError, KeyError, TypeError) as error:
        reason = str(error).strip().partition("\n")[0]
        warnings.warn(f"{path} is damaged and passed over: {reason}", stacklevel=3)
        return None
    return values
