# SPDX-License-Identifier: Apache-2.0
"""From the samples' losses to the loss."""


def reduce_losses(losses, reduction):
    """(B,) -> (B,) or a scalar. `mean` is over the batch, whatever the lengths."""
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    return losses
