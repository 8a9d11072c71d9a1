# SPDX-License-Identifier: Apache-2.0
"""Batches prepared ahead of training by workers of `mindspore.dataset`: threads or processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Protocol

import mindspore.dataset as ds
import numpy as np

COLUMNS = (
    "features",
    "frame_lengths",
    "encoder_lengths",
    "targets",
    "target_lengths",
    "frame_rows",
    "step_rows",
    "numbers",
)
AHEAD = 2  # batches waiting behind each worker and in front of training
ERRORS = {"ValueError": ValueError, "OSError": OSError}  # others are a RuntimeError


class Source(Protocol):
    """What makes the batches: the same one for an epoch and a step, whoever asks."""

    steps_per_epoch: int

    def batch(self, epoch: int, step: int) -> dict: ...


def batches(
    source: Source, epoch: int, start_step: int, workers: int = 1, processes: bool = False
) -> Iterator[dict]:
    """The batches of an epoch from a step on, in order; `lost` is a list of (key, error).

    With `processes` the workers are processes started anew (spawned): MindSpore hangs in forked
    ones. Each gets a copy of the source, so that is for corpora on disk.
    """
    if start_step >= source.steps_per_epoch:
        return
    prefetch, method = ds.config.get_prefetch_size(), ds.config.get_multiprocessing_start_method()
    ds.config.set_prefetch_size(AHEAD)
    ds.config.set_multiprocessing_start_method("spawn")
    try:
        dataset = ds.GeneratorDataset(
            _Steps(source, epoch),
            [*COLUMNS, "lost", "error"],
            sampler=list(range(start_step, source.steps_per_epoch)),
            num_parallel_workers=max(1, min(workers, os.cpu_count() or 1)),
            python_multiprocessing=processes,
        )
        rows = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    finally:
        ds.config.set_prefetch_size(prefetch)
        ds.config.set_multiprocessing_start_method(method)
    try:
        for *arrays, lost, error in rows:
            if error.size:
                kind, message = error.tolist()
                raise ERRORS.get(kind, RuntimeError)(message)
            named = lost.reshape(-1, 2).tolist()
            yield dict(zip(COLUMNS, arrays)) | {"lost": [tuple(pair) for pair in named]}
    finally:
        rows.stop()


class _Steps:
    """The batches of an epoch by their numbers, as rows of arrays.

    An error is part of the row: raised here, it would come out of `mindspore.dataset` as pages of
    text, and under another name.
    """

    def __init__(self, source: Source, epoch: int):
        self._source, self._epoch = source, epoch

    def __getitem__(self, step: int) -> tuple[np.ndarray, ...]:
        try:
            batch = self._source.batch(self._epoch, int(step))
        except Exception as error:
            nothing = [np.zeros(0, np.int32)] * len(COLUMNS)
            return (*nothing, _text([]), _text([type(error).__name__, str(error)]))
        lost = [word for pair in batch["lost"] for word in pair]
        return (*(batch[name] for name in COLUMNS), _text(lost), _text([]))

    def __len__(self) -> int:
        return self._source.steps_per_epoch


def _text(words: list[str]) -> np.ndarray:
    return np.array(words, dtype=np.str_)
