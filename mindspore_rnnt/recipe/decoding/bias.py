# SPDX-License-Identifier: Apache-2.0
"""What beam search adds to the log-probability of a prefix, label by label.

A bias is a function of the prefix alone, so it goes together with sums over alignments. `start()`
is the state of the empty prefix; `step(state, label)` gives the next state and what is added,
never more than `most`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from ..data.grammar import Grammar, load_grammar
from ..data.text import Vocabulary
from ..settings import Config


class Bias(Protocol):
    most: float

    def start(self) -> Any: ...

    def step(self, state: Any, label: int) -> tuple[Any, float]: ...


def build_biases(config: Config, vocabulary: Vocabulary) -> list[Bias]:
    """Those that decode.grammar_weight and decode.bias_phrases ask for."""
    options = config.decode
    biases: list[Bias] = []
    if options.grammar_weight and config.data.grammar:
        grammar = load_grammar(config.data.grammar)
        biases.append(GrammarBias(grammar, vocabulary, options.grammar_weight))
    if options.bias_phrases:
        unknown = vocabulary.unknown("".join(options.bias_phrases))
        if unknown:
            raise ValueError(f"decode.bias_phrases has {unknown!r}, not in the vocabulary")
        phrases = [vocabulary.encode(phrase).tolist() for phrase in options.bias_phrases]
        biases.append(PhraseBias(phrases, options.bias_weight))
    return biases


class GrammarBias:
    """-weight for each label from where a prefix leaves the grammar, 0 for a prefix inside.

    Only a loss, never a gain: a gain for each allowed label would make commands out of noise. The
    state is the set of (part of the template, choice, labels of it that are done), None outside.
    """

    most = 0.0

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, weight: float):
        self._weight = weight
        self._parts = [
            [tuple(vocabulary.encode(text)) for text in choices] for choices in grammar.choices()
        ]
        self._next: dict[tuple, frozenset | None] = {}

    def start(self) -> frozenset | None:
        return self._open(0)

    def step(self, state: frozenset | None, label: int) -> tuple[frozenset | None, float]:
        if (state, label) not in self._next:
            moves = [self._move(item, label) for item in state or ()]
            self._next[state, label] = frozenset().union(*moves) or None
        moved = self._next[state, label]
        return moved, 0.0 if moved else -self._weight

    def _move(self, place: tuple[int, int, int], label: int) -> frozenset:
        part, choice, done = place
        if part == len(self._parts):  # the next command
            begun = (self._move(item, label) for item in self._open(0) if item != place)
            return frozenset().union(*begun)
        text = self._parts[part][choice]
        if text[done : done + 1] != (label,):
            return frozenset()
        if done + 1 < len(text):
            return frozenset([(part, choice, done + 1)])
        return self._open(part + 1)

    def _open(self, part: int) -> frozenset:
        """Where a prefix stands that has done all parts before `part`; behind the last is one more.

        An empty choice opens the next part, too.
        """
        if part == len(self._parts):
            return frozenset([(part, 0, 0)])
        choices = self._parts[part]
        here = frozenset((part, n, 0) for n, text in enumerate(choices) if text)
        return here | self._open(part + 1) if () in choices else here


class PhraseBias:
    """+weight for each label of a phrase; a phrase that breaks off gives back what it got.

    The states are the nodes of Aho and Corasick's automaton: a node stands for the longest end of
    the prefix that begins a phrase. Labels that two finished phrases share count for each.
    """

    def __init__(self, phrases: Iterable[Sequence[int]], weight: float):
        self._weight = weight
        self._children: list[dict[int, int]] = [{}]
        self._depth, self._kept = [0], [0]  # labels begun, and of them in a finished phrase
        for phrase in phrases:
            self._insert([int(label) for label in phrase])
        self.most = weight * max(self._depth)  # a label may give back nothing and enter any node
        self._fail = [0] * len(self._children)
        for node in sorted(range(len(self._children)), key=self._depth.__getitem__):
            for label, child in self._children[node].items():
                self._kept[child] = self._kept[child] or self._kept[node]
                self._fail[child] = self._follow(self._fail[node], label) if node else 0

    def start(self) -> int:
        return 0

    def step(self, state: int, label: int) -> tuple[int, float]:
        if label in self._children[state]:
            return self._children[state][label], self._weight
        node = self._follow(state, label)
        lost = self._depth[state] - self._kept[state]
        return node, self._weight * (self._depth[node] - lost)

    def _insert(self, phrase: list[int]) -> None:
        node = 0
        for label in phrase:
            if label not in self._children[node]:
                self._children[node][label] = len(self._children)
                self._children.append({})
                self._depth.append(self._depth[node] + 1)
                self._kept.append(0)
            node = self._children[node][label]
        self._kept[node] = self._depth[node]

    def _follow(self, node: int, label: int) -> int:
        """The node of the longest end of `node` and `label` that begins a phrase."""
        while node and label not in self._children[node]:
            node = self._fail[node]
        return self._children[node].get(label, 0)
