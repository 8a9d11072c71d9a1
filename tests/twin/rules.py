# SPDX-License-Identifier: Apache-2.0
"""Answers to what the documentation of an instruction leaves open, as options of the twin.

ascendc_op/README.md has the table of these rules, aot_build/twin/model/rules.h the options.
"""

import pytest

VALUES = {
    "nan_max": (0, 1, 2),
    "ln_zero": (0, 1),
    "flush": (0, 1),
    "saturate": (0, 1),
    "ulp_noise": (0, 2),
    "reduce_order": (0, 1),
}
# Each pair of answers to two rules occurs in one of these. The first differs from IEEE 754 in all.
SETTINGS = [
    dict(zip(VALUES, row))
    for row in [
        (1, 1, 1, 1, 2, 1),
        (0, 1, 0, 0, 0, 0),
        (2, 0, 0, 1, 2, 0),
        (2, 0, 1, 0, 0, 1),
        (0, 0, 0, 1, 0, 1),
        (1, 0, 0, 0, 0, 0),
        (0, 1, 1, 0, 2, 0),
        (2, 1, 1, 0, 2, 0),
    ]
]


def _with(settings):
    return pytest.mark.parametrize(
        "rules", settings, ids=lambda rules: "".join(map(str, rules.values()))
    )


RULES = _with(SETTINGS)
SOME_RULES = _with(SETTINGS[:3])  # each answer to each rule, for tests that take long
ULP_NOISE = 2e-5  # on top, for Exp and Ln off by 2 ulp
