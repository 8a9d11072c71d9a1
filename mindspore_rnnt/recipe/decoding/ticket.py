# SPDX-License-Identifier: Apache-2.0
"""From recognised text to a work order, by the same grammar that defines the commands."""

from __future__ import annotations

import re

from ..data.grammar import Grammar


class TicketParser:
    """Parses whole commands; anything else is 'not understood', never a half-right order."""

    def __init__(self, grammar: Grammar):
        self._grammar = grammar
        self.slots = [value for kind, value in grammar.parts if kind == "slot"]
        # Longest phrase first; the regular expression backtracks where that was wrong.
        self._patterns = [
            re.escape(value)
            if kind == "text"
            else "(" + "|".join(map(re.escape, sorted(grammar.slots[value], key=len)[::-1])) + ")"
            for kind, value in grammar.parts
        ]
        self._whole = re.compile("".join(self._patterns))

    def parse(self, text: str) -> dict:
        """understood, text and either the meaning of each slot or what was expected and found."""
        match = self._whole.fullmatch(text)
        if match is None:
            return {"understood": False, "text": text, **self._explain(text)}
        phrases = dict(zip(self.slots, match.groups()))
        meanings = {
            slot: choices[phrases[slot]]
            for slot, choices in self._grammar.slots.items()
            if slot in phrases
        }
        return {"understood": True, "text": text, **meanings}

    def parse_all(self, text: str) -> list[dict]:
        """The orders of a text that is one command, or several without anything between them.

        Empty for any other text, and for one that can be cut into commands in more than one way.
        """
        if not text:
            return []
        if self._whole.fullmatch(text):
            return [self.parse(text)]
        ways, ends = [0] * len(text) + [1], [0] * len(text)  # from each character to the end
        for start in reversed(range(len(text))):
            for end in range(start + 1, len(text) + 1):
                if ways[end] and self._whole.fullmatch(text, start, end):
                    ways[start], ends[start] = ways[start] + ways[end], end
        if ways[0] != 1:
            return []
        orders, start = [], 0
        while start < len(text):
            orders.append(self.parse(text[start : ends[start]]))
            start = ends[start]
        return orders

    def _explain(self, text: str) -> dict:
        """Where the text leaves the grammar: what was expected there and what came."""
        known, end = 0, 0
        for count in range(len(self._patterns), 0, -1):
            match = re.match("".join(self._patterns[:count]), text)
            if match is not None:
                known, end = count, match.end()
                break
        if match is not None and known == len(self._patterns):
            if end and re.match(self._patterns[0], text[end:]):  # the next command has begun
                return self._explain(text[end:])
            if match.groups()[-1:] != ("",):
                return {"expected": "end", "phrases": [], "found": text[end:]}
        kind, value = self._grammar.parts[min(known, len(self._patterns) - 1)]
        phrases = list(self._grammar.slots[value]) if kind == "slot" else [value]
        return {"expected": value, "phrases": phrases, "found": text[end:]}
