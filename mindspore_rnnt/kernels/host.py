# SPDX-License-Identifier: Apache-2.0
"""RnntAlign for a device that has no kernel for it: the CPU library runs it on copies of the stats,
16 bytes a cell."""

from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

from ..native import run_op


def align_on_host(
    stats: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    targets: Tensor,
    least_loss: Tensor,
    params: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """frames, log_probs, path_log_prob of RnntAlign; in PyNative mode."""
    _refuse_graph(ops.clamp)
    B, max_u = targets.shape
    outputs = [
        np.empty((B, max_u), np.int32),
        np.empty((B, max_u), np.float32),
        np.empty(B, np.float32),
    ]
    inputs = (stats, logit_lengths, target_lengths, targets, least_loss, params)
    run_op("RnntAlign", [x.asnumpy() for x in inputs], outputs)
    return tuple(Tensor(x) for x in outputs)


@ms.constexpr(check=False)
def _refuse_graph(any_function: Any) -> None:
    """A graph has no constant for a function, so there it comes as None."""
    if any_function is None:
        raise RuntimeError(
            "For 'rnnt_align', a graph cannot be compiled on this device: the best path is found "
            "on the host. Call it in PyNative mode."
        )
