# SPDX-License-Identifier: Apache-2.0
"""The training loop: batches, updates, checkpoints, and the error rate as it falls."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import mindspore as ms
import numpy as np

from ...tools.command import prepare_folder
from .. import config as configuration
from ..data import dataset
from ..data.text import Vocabulary
from ..decoding import scoring
from ..decoding.recogniser import Recogniser
from ..decoding.run_folder import load_weights, start_run
from ..model import transducer
from ..settings import Config
from . import earlier_run, parallel
from .checkpoint import Checkpoints, Position
from .progress import Progress
from .schedule import WarmupCosine
from .step import TrainStep

MOST_SKIPPED = 100  # updates in a row: by then no loss scale is left to blame


def run(config: Config, resume: bool = False) -> list[dict]:
    """Train to the end; returns one row for each epoch, and leaves all in train.output.

    With `resume` (or train.resume) the newest checkpoint there is gone on from: the losses are
    those of a run that was never stopped, and settings that have changed since are named.
    """
    config.train.resume |= resume
    group = parallel.start(config.train.device)
    if group.leads:
        earlier_run.refuse_loss(config)  # before the data are prepared
        prepare_folder(Path(config.train.output))
    ms.set_seed(config.train.seed)
    source, heldout, vocabulary, cmvn = dataset.build(config, group.rank, group.size)
    model = transducer.build(config, len(vocabulary)).set_train()
    if config.train.start_from:
        load_weights(model, config.train.start_from, vocabulary)
    per_epoch = -(-source.steps_per_epoch // config.optim.accumulate)
    total = per_epoch * config.train.epochs
    recogniser = Recogniser(model)
    step = TrainStep(model, config, total, group)
    schedule = WarmupCosine(config.optim, total)

    folder, settings = Path(config.train.output), config.train
    keep = max(settings.keep_last, settings.average)
    checkpoints = Checkpoints(folder, step.state(), keep)
    position = checkpoints.restore() if settings.resume else None
    changes: list[str] = []
    if group.leads:
        resumed = position is not None
        changes = _changes(folder, config, vocabulary) if resumed else earlier_run.make_way(config)
        start_run(folder, config, vocabulary, cmvn)
    position = position or Position()
    progress = Progress(folder, total, position.update, visible=group.leads)
    for change in changes:
        progress.note(change)
    names = [item.name for item in model.decoding_params()]

    while position.epoch < settings.epochs:
        started = time.perf_counter()
        batches = source.epoch(position.epoch, position.step)
        groups = _groups(batches, config.optim.accumulate)
        while some := _waited_for(groups, progress):
            _update(step, some, position, progress, schedule.value(position.update))
            unfinished = position.step < source.steps_per_epoch
            due = settings.save_every and position.update % settings.save_every == 0
            if group.leads and due and unfinished:
                checkpoints.save(position)
        row = _finish_epoch(position, step)
        if group.leads:
            if position.epoch % settings.evaluate_every == 0:
                chosen = dataset.spread(heldout, settings.evaluate_utterances or len(heldout))
                decoded = scoring.decode_all(recogniser, config, chosen, vocabulary, cmvn)
                row["cer"] = scoring.scores(decoded, None)["cer"]
            row["seconds"] = round(time.perf_counter() - started, 1)
            checkpoints.save(position, is_best=_is_best(position.history))
            checkpoints.average(settings.average, names, folder / "model.ckpt")
        progress.epoch(row)
        if source.lost:
            progress.note(f"{len(source.lost)} utterances have become unreadable since the start")

    if group.leads:  # again, as a run may have been killed between the two
        checkpoints.average(settings.average, names, folder / "model.ckpt")
    progress.note(f"{len(step.shapes)} padded shapes were compiled: {step.shapes}")
    progress.note(f"peak memory: {_peak_mb():.0f} MB")
    progress.close()
    return position.history


def _peak_mb() -> float:
    """The most memory that this process has had."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _waited_for(groups: Iterator[list[dict]], progress: Progress) -> list[dict]:
    """The batches of the next update, none at the end; how long they took goes to the log."""
    started = time.perf_counter()
    batches = next(groups, [])
    progress.times["data wait (s)"] = time.perf_counter() - started
    return batches


def _update(
    step: TrainStep, batches: list[dict], position: Position, progress: Progress, rate: float
) -> None:
    known = len(step.shapes)
    started = time.perf_counter()
    update = step(batches, position.epoch, position.step)
    seconds = time.perf_counter() - started
    progress.times["step (s)"] = seconds
    compiled = len(step.shapes) > known
    if compiled:
        progress.note(f"compiled for features {step.shapes[-1]} in {seconds:.1f} s")
    position.step += len(batches)
    position.update += 1
    if update.applied:
        position.losses.append(update.loss)
    else:
        position.skipped += 1
        progress.note(f"update {position.update} is skipped: its loss or gradient is not finite")
    progress.step(
        {
            "update": position.update,
            "epoch": position.epoch,
            "loss": update.loss,
            "norm": update.norm,
            "lr": rate,
        },
        compiled,
    )
    if step.skipped >= MOST_SKIPPED:
        raise RuntimeError(
            f"the last {step.skipped} updates were all skipped, as their loss or gradient was not "
            "finite; lower optim.lr, or look for a bad utterance; the last checkpoint is sound"
        )


def _changes(folder: Path, config: Config, vocabulary: Vocabulary) -> list[str]:
    """How the settings differ from those of the run in the folder, which is gone on from."""
    if Vocabulary.load(folder / "vocabulary.txt").characters != vocabulary.characters:
        raise ValueError(
            f"the run in {str(folder)!r} was started with another vocabulary, so its weights mean "
            "other characters; start anew, or give its vocabulary.txt as data.vocabulary"
        )
    lines = configuration.differences(configuration.load(folder / "config.yaml"), config)
    told = [line for line in lines if not line.startswith((*earlier_run.FREE, "train.epochs:"))]
    return [f"changed since this run was started: {line}" for line in told]


def _finish_epoch(position: Position, step: TrainStep) -> dict:
    """Move on to the next epoch; the row of the one that is over."""
    loss = float(np.mean(position.losses)) if position.losses else float("nan")
    row: dict = {"epoch": position.epoch, "update": position.update, "loss": loss}
    row |= {"skipped": position.skipped, "cer": None, "seconds": 0.0}
    position.history.append(row)
    position.epoch, position.step, position.losses = position.epoch + 1, 0, []
    return row


def _is_best(history: list[dict]) -> bool:
    """Whether the last epoch has the lowest error rate so far."""
    rates = [row["cer"] for row in history if row["cer"] is not None]
    return bool(rates) and history[-1]["cer"] == min(rates)


def _groups(batches: Iterator[dict], size: int) -> Iterator[list[dict]]:
    while some := list(islice(batches, size)):
        yield some
