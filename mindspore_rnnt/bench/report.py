# SPDX-License-Identifier: Apache-2.0
"""Results as results.csv and results.md, complete after each measurement, and scaling.png."""

from __future__ import annotations

import csv
import io
import os
import platform
from dataclasses import dataclass
from pathlib import Path

from .. import __version__, native
from ..requirements import mindspore_version
from ..tools.replacing import replacing
from .family import PARTS
from .timing import Timing

COLUMNS = ("section", "problem", "dtype", "threads", "contender", "ms", "low", "high", "rounds")


@dataclass
class Row:
    section: str  # sizes, LibriSpeech, profile, or what is swept
    problem: str
    dtype: str
    threads: int
    contender: str
    timing: Timing
    x: int = 0  # the swept value


class Report:
    def __init__(self, output: Path):
        self.output = output
        self.rows: list[Row] = []
        self.peaks: list[tuple[str, str, str, int, float]] = []  # problem, form, mode, bytes, S
        output.mkdir(parents=True, exist_ok=True)

    def add(self, section, problem, threads, timings, x=0):
        rows = [
            Row(section, problem.name, problem.dtype, threads, contender, timing, x)
            for contender, timing in timings.items()
        ]
        if not rows:  # memory held none of them
            return
        self.rows += rows
        self._write_tables()  # first: Ctrl-C may follow what is shown
        print(self._table(rows), flush=True)

    def add_peak(self, problem, form, mode, peak):
        self.peaks.append((problem.name, form, mode, peak, peak / problem.bytes))
        self._write_tables()
        print(f"{problem.name} {form} {mode}: {peak / problem.bytes:.3f} S", flush=True)

    def _write_tables(self):
        table = io.StringIO(newline="")
        writer = csv.writer(table)
        writer.writerow(COLUMNS)
        for r in self.rows:
            t = r.timing
            ms = [f"{1e3 * value:.4f}" for value in (t.median, t.low, t.high)]
            writer.writerow([r.section, r.problem, r.dtype, r.threads, r.contender, *ms, t.rounds])
        for name, text in (("csv", table.getvalue()), ("md", self._markdown())):
            with replacing(self.output / f"results.{name}") as draft:
                draft.write_text(text, newline="")

    def _markdown(self):
        parts = [
            "# mindspore_rnnt bench",
            f"mindspore_rnnt {__version__}, MindSpore {mindspore_version()}, {_processor()}, "
            f"{os.cpu_count()} CPUs, SIMD level {native.cpu_level()}. Medians, in brackets the "
            "quartiles; 'torchaudio takes' (so many times as long) and 'of a 3 S stream' (so many "
            "times its time) compare with the same table's rows.",
        ]
        groups = {}
        for row in self.rows:
            groups.setdefault((row.section, row.problem, row.dtype, row.threads), []).append(row)
        parts += [self._table(rows) for rows in groups.values()]
        if self.peaks:
            lines = ["| problem | form | mode | peak beside the logits |", "|---|---|---|---|"]
            lines += [
                f"| {name} | {form} | {mode} | {peak / 2**20:.0f} MiB = {share:.3f} S |"
                for name, form, mode, peak, share in self.peaks
            ]
            parts.append("\n".join(lines))
        return "\n\n".join(parts) + "\n"

    @staticmethod
    def _table(rows):
        first = rows[0]
        of = {row.contender: row.timing.median for row in rows}
        threads = first.threads or "default"
        beside = {row.contender: _beside(row.contender, of) for row in rows}
        columns = ["beside"] if any(beside.values()) else ["torchaudio takes", "of a 3 S stream"]
        lines = [
            f"{first.section}: {first.problem}, {first.dtype}, {threads} threads\n",
            f"| contender | ms | {' | '.join(columns)} |",
            "|---" * (2 + len(columns)) + "|",
        ]
        for row in rows:
            t = row.timing
            cells = {
                "beside": beside[row.contender],
                "torchaudio takes": f"{of['torchaudio'] / t.median:.1f}x"
                if "torchaudio" in of
                else "",
                "of a 3 S stream": f"{t.median / of['stream']:.2f}x" if "stream" in of else "",
            }
            spread = f"{1e3 * t.median:.2f} ({1e3 * t.low:.2f} - {1e3 * t.high:.2f})"
            lines.append(f"| {row.contender} | {spread} | {' | '.join(map(cells.get, columns))} |")
        return "\n".join(lines)

    def plot(self):
        """A panel for each sweep."""
        sweeps = sorted({row.section for row in self.rows if row.x})
        if not sweeps:
            return
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, len(sweeps), figsize=(4 * len(sweeps), 3.6), squeeze=False)
        for axis, section in zip(axes[0], sweeps):
            rows = [row for row in self.rows if row.section == section]
            for contender in dict.fromkeys(row.contender for row in rows):
                points = sorted(
                    (row.x, 1e3 * row.timing.median) for row in rows if row.contender == contender
                )
                axis.plot(*zip(*points), marker="o", label=contender)
            axis.set(xlabel=section, yscale="log", ylabel="ms")
            axis.grid(alpha=0.3)
        axes[0][-1].legend(fontsize="small")
        figure.tight_layout()
        figure.savefig(self.output / "scaling.png", dpi=120)
        plt.close(figure)


def _beside(contender, of):
    """How many times as long as what it is compared with, see PARTS."""
    name, _, mode = contender.rpartition(" ")
    parts = [f"{part} {mode}" for part in PARTS.get(name, ())]
    if not parts or not all(part in of for part in parts):
        return ""
    return f"{of[contender] / sum(of[part] for part in parts):.2f}x {' + '.join(PARTS[name])}"


def _processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()
