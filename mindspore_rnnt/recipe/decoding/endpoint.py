# SPDX-License-Identifier: Apache-2.0
"""When an utterance of an open microphone is over: three rules on time and trailing blanks."""

from __future__ import annotations

from enum import Enum

from ..data.buckets import SUBSAMPLING
from ..settings import Config
from .found import Found


class Endpoint(Enum):
    SILENCE = "silence after speech"
    NO_SPEECH = "silence without speech"
    LONGEST = "as long as an utterance may be"
    STREAM_OVER = "the stream is over"


def endpoint_of(found: Found, heard: int, config: Config) -> Endpoint | None:
    """The rule that ends an utterance of `heard` encoder frames, if one does.

    Blanks count from the frame after the last label, or from the start if there is none.
    """
    rules, seconds = config.endpoint, SUBSAMPLING * config.features.hop_ms / 1000
    blanks = (heard - 1 - found.frames[-1] if found.ids else heard) * seconds
    if found.ids and blanks >= rules.silence:
        return Endpoint.SILENCE
    if not found.ids and blanks >= rules.no_speech:
        return Endpoint.NO_SPEECH
    return Endpoint.LONGEST if heard * seconds >= rules.longest else None
