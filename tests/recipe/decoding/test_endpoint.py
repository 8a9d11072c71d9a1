# SPDX-License-Identifier: Apache-2.0
"""The three rules on hand-made results, frame by frame (40 ms each)."""

import pytest

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.decoding.endpoint import Endpoint, endpoint_of
from mindspore_rnnt.recipe.decoding.found import Found

RULES = config.load(None, ["endpoint.silence=0.4", "endpoint.no_speech=2", "endpoint.longest=4"])


def first_end(emitted):
    """The frame and the rule that end an utterance with labels at these frames."""
    for heard in range(1, 200):
        past = tuple(frame for frame in emitted if frame < heard)
        reason = endpoint_of(Found(past, past, past), heard, RULES)
        if reason is not None:
            return heard, reason
    return None


@pytest.mark.parametrize(
    ("emitted", "expected"),
    [
        ([], (50, Endpoint.NO_SPEECH)),
        ([0], (11, Endpoint.SILENCE)),
        ([5, 15], (26, Endpoint.SILENCE)),  # ten blanks would end it, nine do not
        ([5, 16], (16, Endpoint.SILENCE)),
        ([49], (60, Endpoint.SILENCE)),
        (range(0, 200, 5), (100, Endpoint.LONGEST)),
    ],
)
def test_rules(emitted, expected):
    assert first_end(emitted) == expected
