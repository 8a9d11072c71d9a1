# SPDX-License-Identifier: Apache-2.0
"""Planted bugs: patches to a kernel's source text, and the fault that must be named for each.

== name: fault option=value
@@ file to patch, when there are several
-old lines, which occur exactly once
+new lines
> a line planted at the place that the reader of the file names
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

WRONG_VALUE = "wrong_value"  # no rule is broken, the result differs


class PatchError(ValueError):
    """A patch does not apply: the kernel has changed under it."""


@dataclass
class Mutant:
    name: str
    fault: str
    options: dict[str, int]
    edits: list[tuple[str, str, str]] = field(default_factory=list)  # file, old, new
    planted: list[str] = field(default_factory=list)

    def patch(self, text: str, file: str = "") -> str:
        """`text`, the content of `file`, with this mutant's bug in it."""
        for name, old, new in self.edits:
            if name != file:
                continue
            found = list(_pattern(old).finditer(text))
            if len(found) != 1:
                raise PatchError(f"{self.name}: {len(found)} times in {file}:\n{old}")
            text = text[: found[0].start()] + new.strip() + text[found[0].end() :]
        return text

    def plant(self, folder: Path) -> None:
        """Puts this mutant's bug into the files of a copy of the kernel."""
        for file in self.files():
            path = folder / file
            path.write_text(self.patch(path.read_text(), file))

    def files(self) -> set[str]:
        return {file for file, _, _ in self.edits}


def read(path: Path) -> list[Mutant]:
    mutants: list[Mutant] = []
    file, previous = "", ""
    for line in path.read_text().splitlines():
        mark, rest = line[:1], line[1:] + "\n"
        if line.startswith("== "):
            mutants.append(_header(line[3:]))
            file = ""
        elif line.startswith("@@ "):
            file = line[3:].strip()
        elif mark == "-":
            if previous != "-":
                mutants[-1].edits.append((file, "", ""))
            _, old, new = mutants[-1].edits[-1]
            mutants[-1].edits[-1] = (file, old + rest, new)
        elif mark == "+":
            _, old, new = mutants[-1].edits[-1]
            mutants[-1].edits[-1] = (file, old, new + rest)
        elif mark == ">":
            mutants[-1].planted.append(rest)
        previous = mark
    return mutants


def _pattern(code: str) -> re.Pattern[str]:
    """Matches the code however it is laid out."""
    tokens = re.findall(r"\w+|[^\w\s]", code)
    gaps = (r"\s+" if a[-1].isalnum() and b[0].isalnum() else r"\s*" for a, b in pairwise(tokens))
    pieces = [re.escape(tokens[0])]
    for gap, token in zip(gaps, tokens[1:]):
        pieces += [gap, re.escape(token)]
    return re.compile(r"(?<!\w)" + "".join(pieces))


def _header(text: str) -> Mutant:
    name, rest = text.split(":")
    fault, *options = rest.split()
    pairs = (option.split("=") for option in options)
    return Mutant(name, fault, {key: int(value) for key, value in pairs})
