# SPDX-License-Identifier: Apache-2.0
"""Commands one after another in a stream that the endpoint rules divide into utterances.

Error rates of whole utterances do not show an endpoint within a command. Its first half may be
another command.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from ..data.conditions import Condition, Trials
from ..data.corpus import BadFiles, Utterance, readable
from ..data.features import Cmvn, FeatureStream, LogMel
from ..settings import Config
from .bias import Bias
from .metrics import CharErrorRate, MissedOrders, SentenceAccuracy, WrongOrders
from .recogniser import Recogniser
from .streaming import Segment, StreamingDecoder
from .ticket import TicketParser
from .verdict import Judge

PAUSE = 1.0  # seconds before a command, and behind it beyond endpoint.silence


def open_microphone(
    recogniser: Recogniser,
    config: Config,
    cmvn: Cmvn,
    biases: Sequence[Bias],
    commands: Sequence[Utterance],
    trials: Trials,
    condition: Condition,
    judge: Judge,
    parser: TicketParser,
) -> dict:
    """A row of the table, of commands in one stream.

    What is found from the start of a command to that of the next belongs to it. All these texts
    together are its hypothesis, and those that give a ticket are its order.
    """
    pauses = (PAUSE, config.endpoint.silence + PAUSE)
    condition = replace(condition, pads=pauses)
    stream = FeatureStream(LogMel(config.features))
    decoder = StreamingDecoder(recogniser, config, biases)
    said: list[str] = []
    begins: list[float] = []
    segments: list[Segment] = []
    samples = 0
    for number, (command, audio) in enumerate(readable(commands, BadFiles())):
        said.append(command.text)
        begins.append(samples / config.features.sample_rate)
        heard = trials.hear(audio, condition, number)
        segments += decoder.accept(cmvn(stream.accept(heard)))
        samples += len(heard)
    segments += decoder.finish()
    texts, orders = [""] * len(said), [""] * len(said)
    for segment in segments:
        number = bisect_right(begins, segment.begin) - 1
        text = judge.text(segment.found)
        texts[number] += text
        orders[number] += text if judge.passes(segment.found) else ""
    metrics: dict = {"cer": CharErrorRate(), "sentences": SentenceAccuracy()}
    given: dict = {"wrong orders": WrongOrders(parser), "missed": MissedOrders(parser)}
    for metric in metrics.values():
        metric.update(texts, said)
    for metric in given.values():
        metric.update(orders, said)
    row = {name: metric.eval() for name, metric in (metrics | given).items()}
    name = f"open microphone, {condition.name}"
    return {"noise": name, "voice": "all", **row, "utterances": len(said)}
