# SPDX-License-Identifier: Apache-2.0
"""The joint network on packed rows, and the loss that never holds its logits."""

from .loss import JoinerRNNTLoss
from .packed import PackedJoiner

__all__ = ["JoinerRNNTLoss", "PackedJoiner"]
