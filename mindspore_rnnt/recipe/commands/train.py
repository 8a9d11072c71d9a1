# SPDX-License-Identifier: Apache-2.0
"""Train, and check that the loss fell where the configuration asks for it."""

from __future__ import annotations

from ..settings import Config
from ..training import loop


def run(config: Config) -> int:
    """0, or 1 when the loss did not fall to train.require_loss_ratio of the first epoch's."""
    history = loop.run(config)
    wanted = config.train.require_loss_ratio
    if not wanted:
        return 0
    first, last = history[0]["loss"], history[-1]["loss"]
    print(f"loss {first:.3f} -> {last:.3f}; required at most {wanted} of the first")
    return 0 if last <= wanted * first else 1
