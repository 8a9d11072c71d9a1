# SPDX-License-Identifier: Apache-2.0
"""The operators of the device in use. Nothing outside this folder knows how an operator is made.

A device is a module with `create_op(signature, bprop)`, which returns a callable primitive.
"""

from functools import lru_cache
from importlib import import_module
from typing import NamedTuple

import mindspore as ms
from mindspore.ops import Primitive

from .gradients import forward_bprop, fused_bprop, no_gradient
from .signatures import SIGNATURES

_DEVICES = {"CPU": ".cpu", "Ascend": ".ascend"}


class Ops(NamedTuple):
    """One primitive for each of `signatures.SIGNATURES`."""

    fused: Primitive
    scale_grad: Primitive
    forward: Primitive
    backward: Primitive
    row_stats: Primitive
    lattice: Primitive
    row_grad: Primitive


@lru_cache
def get_ops() -> Ops:
    """Made on the first call, when the user has chosen the device: MindSpore binds an operator to
    the device set by then. (A compiled graph can call a cached function, but not read the device.)
    """
    device_target = ms.get_context("device_target")
    if device_target not in _DEVICES:
        raise RuntimeError(
            f"For 'rnnt_loss', the device_target must be one of {sorted(_DEVICES)}, "
            f"but got {device_target!r}."
        )
    device = import_module(_DEVICES[device_target], __name__)
    signature = {s.name: s for s in SIGNATURES}

    def create(name, bprop=no_gradient):
        return device.create_op(signature[name], bprop)

    scale_grad, backward = create("RnntScaleGrad"), create("RnntBackward")
    return Ops(
        fused=create("RnntFused", fused_bprop(scale_grad)),
        scale_grad=scale_grad,
        forward=create("RnntForward", forward_bprop(backward)),
        backward=backward,
        row_stats=create("RnntRowStats"),
        lattice=create("RnntLattice"),
        row_grad=create("RnntRowGrad"),
    )
