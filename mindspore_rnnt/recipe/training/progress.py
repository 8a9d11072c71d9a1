# SPDX-License-Identifier: Apache-2.0
"""What one sees of a training: a bar, two CSV files, an event file, a picture of the curves."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from tqdm import tqdm

from ...tools.text_files import read_text
from .curves import learning_curves
from .events import EventLog


class Progress:
    """Appends to steps.csv and epochs.csv in `folder`; rows after `update` are forgotten.

    The event file has the same, and `times`: what differs from one run to the next of the same.
    """

    def __init__(self, folder: str | Path, total_updates: int, update: int, visible: bool):
        self._folder = Path(folder)
        self._visible = visible
        self._bar = _Bar(
            total=total_updates, initial=update, unit="step", disable=not visible, mininterval=1.0
        )
        self.times: dict[str, float] = {}
        self._events = EventLog(self._folder) if visible else None
        self._steps = _Table(self._folder / "steps.csv", update) if visible else None
        self._epochs = _Table(self._folder / "epochs.csv", update) if visible else None

    def step(self, row: dict, compiled: bool = False) -> None:
        """One update is done; `compiled`: it took longer than the next of its shape will."""
        self._bar.count_step(compiled)
        self._bar.update()
        self._bar.set_postfix(epoch=row["epoch"], loss=f"{row['loss']:.3f}", refresh=False)
        if self._steps is not None and self._events is not None:
            self._steps.append(row)
            scalars = {name: row[name] for name in ("loss", "norm", "lr")}
            self._events.add(row["update"], scalars | self.times)

    def epoch(self, row: dict) -> None:
        if self._epochs is not None and self._events is not None:
            self._epochs.append(row)
            if row["cer"] is not None:
                self._bar.count_evaluation()
                self._events.add(row["update"], {"cer": row["cer"]})
            self.note("  ".join(f"{name} {_short(value)}" for name, value in row.items()))

    def note(self, text: str) -> None:
        """A line above the bar."""
        if self._visible:
            self._bar.write(text)

    def close(self) -> None:
        self._bar.close()
        if self._steps is not None and self._epochs is not None and self._events is not None:
            self._events.close()
            steps = [{"step": row["update"], "loss": row["loss"]} for row in self._steps.rows]
            rates = [
                {"step": row["update"], "cer": row["cer"]}
                for row in self._epochs.rows
                if row["cer"] is not None
            ]
            learning_curves(steps, rates, self._folder / "curves.png")


class _Bar(tqdm):
    """Estimates from the steps that compiled nothing, with all between them: data and evaluation.

    Before there is one there is no estimate. tqdm's own would take minutes of compiling for the
    pace of all steps.
    """

    _steps, _seconds = 0, 0.0
    _last: float | None = None  # seconds at the last step; None where the next does not count
    _is_evaluated = False

    def count_step(self, compiled: bool) -> None:
        now = super().format_dict["elapsed"]
        if self._last is not None and not compiled:
            self._steps, self._seconds = self._steps + 1, self._seconds + now - self._last
        self._last = now

    def count_evaluation(self) -> None:
        """The first one compiles."""
        if not self._is_evaluated:
            self._is_evaluated, self._last = True, None

    @property
    def format_dict(self) -> dict:
        rate = self._steps / self._seconds if self._seconds else 0.0  # 0: shown as unknown
        return super().format_dict | {"rate": rate}


def _number(text: str) -> int | float | None:
    """The value that was written, so that a row written again is the same text."""
    if not text:
        return None
    return int(text) if text.isdigit() else float(text)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class _Table:
    """A CSV file whose columns are those of its first row."""

    def __init__(self, path: Path, update: int):
        self._path = path
        kept = [row for row in _read(path) if row["update"] <= update]
        path.unlink(missing_ok=True)
        self.rows: list[dict] = []
        for row in kept:
            self.append(row)

    def append(self, row: dict) -> None:
        with self._path.open("a", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list((self.rows or [row])[0]))
            if not self.rows:
                writer.writeheader()
            writer.writerow(row)
        self.rows.append(row)


def _read(path: Path) -> list[dict]:
    if not path.is_file():
        return []
    rows = csv.DictReader(io.StringIO(read_text(path), newline=""))
    return [{name: _number(value) for name, value in row.items()} for row in rows]
