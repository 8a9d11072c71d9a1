# SPDX-License-Identifier: Apache-2.0
"""What is measured: a batch of (T, U) pairs and a vocabulary."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ..tools.text_files import read_text

_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True)
class Problem:
    name: str
    lengths: tuple[tuple[int, int], ...]  # (T, U) of each sample
    V: int
    dtype: str = "float32"

    @property
    def rows(self) -> int:
        return sum(T * (U + 1) for T, U in self.lengths)

    @property
    def bytes(self) -> int:
        """S, the size of the packed logits."""
        return self.rows * self.V * _BYTES[self.dtype]

    @property
    def padded_shape(self) -> tuple[int, int, int, int]:
        max_t, max_u = (max(sizes) for sizes in zip(*self.lengths))
        return len(self.lengths), max_t, max_u + 1, self.V

    @property
    def logit_lengths(self) -> np.ndarray:
        return np.array([T for T, _ in self.lengths], np.int32)

    @property
    def target_lengths(self) -> np.ndarray:
        return np.array([U for _, U in self.lengths], np.int32)

    @cached_property
    def targets(self) -> np.ndarray:
        shape = (len(self.lengths), max(U for _, U in self.lengths))
        return np.random.default_rng(0).integers(0, self.V - 1, shape, np.int32)

    def packed(self) -> np.ndarray:
        """float32 logits, whatever `dtype`."""
        return np.random.default_rng(0).standard_normal((self.rows, self.V), np.float32)

    def padded(self) -> np.ndarray:
        """The same logits with zeros in the padding."""
        padded = np.zeros(self.padded_shape, np.float32)
        packed, row = self.packed(), 0
        for place, (T, U) in zip(padded, self.lengths):
            rows = T * (U + 1)
            place[:T, : U + 1] = packed[row : row + rows].reshape(T, U + 1, self.V)
            row += rows
        return padded


def uniform(B: int, T: int, U: int, V: int, dtype: str = "float32") -> Problem:
    return Problem(f"({B}, {T}, {U}, {V})", ((T, U),) * B, V, dtype)


def librispeech(path: Path, B: int, V: int, dtype: str = "float32") -> Problem:
    """The first B utterances of the file; a pair of lengths stays together."""
    lengths = tuple(read_lengths(path)[:B])
    return Problem(f"LibriSpeech {B} utterances, V = {V}", lengths, V, dtype)


def read_lengths(path: Path) -> list[tuple[int, int]]:
    """(T, U) of each utterance; ValueError that names the file, and the row."""
    lines = read_text(path).splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    if not {"frames", "labels"} <= set(rows.fieldnames or ()):
        found = f"but has {rows.fieldnames}"
        raise ValueError(f"{path} must have columns 'frames' and 'labels', {found}")
    lengths = []
    for number, row in enumerate(rows, 1):
        try:
            T, U = int(row["frames"]), int(row["labels"])
        except (TypeError, ValueError):
            T, U = 0, 0
        if T < 1 or U < 0:
            got = f"{row['frames']!r} and {row['labels']!r}"
            raise ValueError(
                f"{path}: row {number} must have at least 1 frame and 0 labels, but has {got}"
            )
        lengths.append((T, U))
    if not lengths:
        raise ValueError(f"{path} has no utterance")
    return lengths
