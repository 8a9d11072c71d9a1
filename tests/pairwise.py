# SPDX-License-Identifier: Apache-2.0
"""Few cases in which every pair of values of any two axes occurs at least once."""

import itertools
import random


def pairwise(allowed=lambda case: True, **axes):
    """Cases as dicts, e.g. pairwise(T=(1, 2), U=(0, 5)). `allowed` may refuse a case (its size)."""
    chooser = random.Random(0)
    names = list(axes)
    missing = {
        ((a, x), (b, y))
        for a, b in itertools.combinations(names, 2)
        for x in axes[a]
        for y in axes[b]
    }
    cases, fruitless = [], 0
    while missing and fruitless < 50:
        drawn = [{n: chooser.choice(axes[n]) for n in names} for _ in range(50)]
        wanted = chooser.choice(sorted(missing, key=repr))  # else rare pairs are never drawn
        drawn = [case | dict(wanted) for case in drawn]
        best = max(filter(allowed, drawn), key=lambda c: len(_pairs(c) & missing), default=None)
        if best is None or not _pairs(best) & missing:
            fruitless += 1
            continue
        missing -= _pairs(best)
        cases.append(best)
    return cases


def name(case):
    """An id for pytest."""
    return "-".join(f"{key}={value}" for key, value in case.items())


def _pairs(case):
    return set(itertools.combinations(case.items(), 2))
