# SPDX-License-Identifier: Apache-2.0
"""How much of what a stream shows before an utterance is over is taken back."""

from __future__ import annotations

import os
from collections.abc import Sequence


class Revisions:
    """Counts labels that appear on a screen, and those of them that do not stay.

    A label is taken back when a later showing of the same utterance differs at it or before it.
    """

    def __init__(self) -> None:
        self.shown = self.taken_back = 0
        self._screen: Sequence[int] = ()

    def show(self, ids: Sequence[int]) -> None:
        """The labels of an utterance as they are known now."""
        same = len(os.path.commonprefix([tuple(self._screen), tuple(ids)]))
        self.taken_back += len(self._screen) - same
        self.shown += len(ids) - same
        self._screen = ids

    def end(self, ids: Sequence[int]) -> None:
        """The utterance is over, and these are its labels."""
        self.show(ids)
        self._screen = ()

    @property
    def share(self) -> float:
        """Of all labels that have appeared, those taken back."""
        return self.taken_back / max(1, self.shown)
