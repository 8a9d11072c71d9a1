# SPDX-License-Identifier: Apache-2.0
"""What becomes of a run that is in the folder of a new one: it is lost only if the user says so.

`demo` and `evaluate --full` mark their runs with train.replaceable. The same command with the same
settings may replace them, as it would make the same again.
"""

from __future__ import annotations

from pathlib import Path

from .. import config as configuration
from ..decoding.confidence import FILE as CALIBRATION
from ..decoding.run_folder import holds_model
from ..settings import Config
from .checkpoint import Checkpoints

# Settings that say where and how a run goes on, not what it learns.
FREE = tuple(f"train.{name}:" for name in ("output", "resume", "overwrite", "replaceable"))


def refuse_loss(config: Config) -> None:
    """A ValueError if training with these settings would lose what is in train.output."""
    settings, folder = config.train, Path(config.train.output)
    if not holds_model(folder) or settings.overwrite or _is_repetition(config):
        return
    if not settings.resume:
        raise ValueError(
            f"{folder} holds a run already: go on with it by --resume, replace it by --overwrite, "
            "or choose another --output"
        )
    if not any(folder.glob("checkpoints/step-*.ckpt")):
        raise ValueError(
            f"{folder} holds a model but no checkpoint to resume from: train it on by --set "
            f"train.start_from={folder} with another --output, or replace it by --overwrite"
        )


def make_way(config: Config) -> list[str]:
    """Forget an earlier run that is not gone on from and may go; returns what to tell of it."""
    refuse_loss(config)
    folder = Path(config.train.output)
    if not holds_model(folder):
        resume = config.train.resume
        return [f"nothing to resume in {folder}: the run starts anew"] if resume else []
    Checkpoints(folder, [], keep=1).clear()
    (folder / CALIBRATION).unlink(missing_ok=True)  # of the model that is gone
    return [f"the earlier run in {folder} is replaced"]


def _is_repetition(config: Config) -> bool:
    """Whether the run in the folder is one that may be made again, and was made the same way."""
    try:
        earlier = configuration.load(Path(config.train.output, "config.yaml"))
    except (OSError, ValueError):
        return False
    if not (earlier.train.replaceable and config.train.replaceable) or config.train.resume:
        return False
    changes = configuration.differences(earlier, config)
    return all(line.startswith(FREE) for line in changes)
