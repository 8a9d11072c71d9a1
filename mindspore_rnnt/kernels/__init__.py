# SPDX-License-Identifier: Apache-2.0
"""The operators of the device in use. How an operator is made is a matter of this folder alone.

A device is a module with `create_op(signature, bprop)`, which returns a callable primitive.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module

import mindspore as ms
from mindspore.ops import Primitive

from ..arc_posteriors import arc_posteriors_of
from ..ascend.package import expose
from ..divergence import distillation
from ..duration_head import duration_grad, duration_log_probs
from ..row_labels import row_labels
from ..simple_joiner import SimpleGrad, SimpleStats
from . import gradients
from .host import align_on_host
from .signatures import SIGNATURES

_DEVICES = {"CPU": ".cpu", "Ascend": ".ascend"}
# For a device without that operator.
_INSTEAD: dict[str, Callable] = {
    "RnntAlign": align_on_host,
    "RnntDistillation": distillation,
    "RnntDurationLogProbs": duration_log_probs,
    "RnntDurationGrad": duration_grad,
    "RnntRowLabels": row_labels,
}


@ms.jit_class
@dataclass(frozen=True)
class Ops:
    """One callable for each of `signatures.SIGNATURES`: a primitive, or what stands in its place,
    which may be a Python function. (A graph by ast finds no function in a tuple, named or not.)"""

    fused: Primitive
    scale_grad: Primitive
    forward: Primitive
    backward: Primitive
    row_labels: Callable
    row_stats: Primitive
    lattice: Primitive
    row_grad: Primitive
    tdt_lattice: Primitive
    duration_log_probs: Callable
    duration_grad: Callable
    simple_stats: Callable
    simple_grad: Callable
    distillation: Callable
    arc_posteriors: Callable
    align: Callable


@lru_cache
def get_ops() -> Ops:
    """Made on the first call, when the user has chosen the device: MindSpore binds an operator to
    the device set by then. (Cached, because a graph by ast evaluates a cached function and tries to
    compile any other.)"""
    return prepare_ops()


def prepare_ops() -> Ops:
    """Make the operators now. A graph by bytecode cannot, as it looks into every Python function
    that runs; so code that may be first called from such a graph makes them beforehand."""
    device_target = ms.get_context("device_target")
    if device_target not in _PREPARED:
        _PREPARED[device_target] = _create_ops(device_target)
    return _PREPARED[device_target]


def prepare_import() -> None:
    """All that importing a loss does beyond definitions. MindSpore forces both parts.

    - Ascend: MindSpore and CANN read ASCEND_CUSTOM_OPP_PATH once, when they first need an operator,
      so our operator package is put into it before that.
    - CPU: the operators are made, because a first call in a graph by bytecode cannot make them.
      (It takes milliseconds; on Ascend it takes a compiler, and the first call makes them.)
    """
    expose()
    if ms.get_context("device_target") == "CPU":
        prepare_ops()


_PREPARED: dict[str, Ops] = {}


def _create_ops(device_target: str) -> Ops:
    if device_target not in _DEVICES:
        raise RuntimeError(
            f"For 'rnnt_loss', the device_target must be one of {sorted(_DEVICES)}, "
            f"but got {device_target!r}."
        )
    device = import_module(_DEVICES[device_target], __name__)

    def create(name: str, bprop: Callable, instead: Callable | None = None) -> Callable:
        signature = SIGNATURES[name]
        if device_target not in signature.devices:
            return instead or _INSTEAD[name]
        return device.create_op(signature, bprop)

    scale_grad = create("RnntScaleGrad", gradients.scale_grad_bprop)
    backward = create("RnntBackward", gradients.backward_bprop)
    lattice = create("RnntLattice", gradients.lattice_bprop)
    row_stats = create("RnntRowStats", gradients.row_stats_bprop)
    row_grad = create("RnntRowGrad", gradients.row_grad_bprop)
    return Ops(
        fused=create("RnntFused", gradients.fused_bprop(scale_grad)),
        scale_grad=scale_grad,
        forward=create("RnntForward", gradients.forward_bprop(backward)),
        backward=backward,
        row_labels=create("RnntRowLabels", gradients.row_labels_bprop),
        row_stats=row_stats,
        lattice=lattice,
        row_grad=row_grad,
        tdt_lattice=create("RnntTdtLattice", gradients.tdt_lattice_bprop),
        duration_log_probs=create("RnntDurationLogProbs", gradients.duration_log_probs_bprop),
        duration_grad=create("RnntDurationGrad", gradients.duration_grad_bprop),
        simple_stats=create(
            "RnntSimpleStats", gradients.simple_stats_bprop, SimpleStats(row_stats, row_grad)
        ),
        simple_grad=create(
            "RnntSimpleGrad", gradients.simple_grad_bprop, SimpleGrad(row_stats, row_grad)
        ),
        distillation=create("RnntDistillation", gradients.distillation_bprop),
        arc_posteriors=create(
            "RnntArcPosteriors", gradients.arc_posteriors_bprop, arc_posteriors_of(lattice)
        ),
        align=create("RnntAlign", gradients.align_bprop),
    )
