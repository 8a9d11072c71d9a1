# SPDX-License-Identifier: Apache-2.0
"""The loss in PyNative mode."""

from .kernels import get_ops
from .kernels.eager import FusedLoss
from .pynative import in_given_precision
from .reduction import reduce_losses


def eager_loss(batch, reduction, fused_grad):
    """Launch and reduce. (A function within a function, because MindSpore's mixed precision copies
    the source of any other and loses the names of this module.)"""

    def launch():
        losses = FusedLoss.apply(*batch) if fused_grad else get_ops().forward(*batch)[0]
        return reduce_losses(losses, reduction)

    return in_given_precision(launch)
