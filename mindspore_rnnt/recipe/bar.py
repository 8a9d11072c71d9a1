# SPDX-License-Identifier: Apache-2.0
"""The progress bar of all long work but training, which has more to show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
DELAY = 1.0  # seconds: shorter work shows nothing


def bar(items: Iterable[Item], what: str, unit: str, total: int | None = None) -> Iterable[Item]:
    """The items, with a bar on stderr while they are gone through; none where that is a file."""
    # disable=None: tqdm asks whether it is a terminal. A bar that is done goes.
    return tqdm(items, what, total, unit=unit, leave=False, delay=DELAY, disable=None)
