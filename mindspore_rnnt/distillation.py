# SPDX-License-Identifier: Apache-2.0
"""rnnt_distillation_loss: a small model learns the lattice of a large one, three classes a cell."""

import math
from collections.abc import Sequence
from functools import lru_cache
from numbers import Real
from typing import Any, NoReturn

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

from .checks import LOGITS_DTYPES, check_labels, check_reduction, refuse
from .kernels import get_ops
from .kernels.gradients import refuse_double_backward
from .kernels.recorder import refuse_recorded_bprop
from .launch import (
    checked_batch,
    dtypes_and_shapes,
    is_compiled,
    launch,
    params_tensor,
    reduce_losses,
)

_CALLER = "rnnt_distillation_loss"


def rnnt_distillation_loss(
    logits: Tensor,
    teacher_logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = -1,
    temperature: float = 1.0,
    reduction: str = "mean",
    *,
    validate: bool = True,
) -> Tensor:
    r"""
    Distillation of a transducer, as in `Efficient Knowledge Distillation for RNN-Transducer Models
    <https://arxiv.org/abs/2011.06110>`_ : in each cell of the lattice the next label, the blank and
    all the rest are three classes, and the student's probabilities :math:`q` approach the teacher's
    :math:`p`.

    .. math::
        loss = \sum_{t, u} \sum_{c} p_c(t, u) \log \frac{p_c(t, u)}{q_c(t, u)}

    Both are sums of :math:`softmax(logits / temperature)` over a class. There is no factor
    :math:`temperature^2`: the gradient is divided by the temperature. After the last label there is
    no label class, and a label that is the blank is one class with it.

    Args:
        logits (Tensor): of the student, as in :func:`mindspore_rnnt.rnnt_loss` .
        teacher_logits (Tensor): in the same layout; the dtype may differ, and so may the number of
            classes if `blank` is not negative and it and all labels are below both. It gets no
            gradient.
        targets, logit_lengths, target_lengths, blank, reduction, validate: as in
            :func:`mindspore_rnnt.rnnt_loss` .
        temperature (float, optional): positive. Default: ``1.0`` .

    Returns:
        Tensor, float32: the loss, a scalar, or of shape :math:`(B,)` if `reduction` is ``'none'`` .
        A class that the teacher uses and the student excludes (its probability is 0, or below
        float32 beside the largest) makes the loss of the sample infinite and its gradient 0.

    Raises:
        TypeError: If an argument is of the wrong type or dtype.
        ValueError: If a rank, size, option, length or label does not fit.
        RuntimeError: If the gradient is differentiated again.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> import numpy as np
        >>> from mindspore import Tensor
        >>> from mindspore_rnnt import rnnt_distillation_loss
        >>> student, teacher = np.zeros((2, 1, 3, 2, 4), np.float32)
        >>> teacher[..., 0] = 1  # the blank is more probable than the student has it
        >>> loss = rnnt_distillation_loss(Tensor(student), Tensor(teacher), Tensor([[1]]),
        ...                               Tensor([3]), Tensor([1]), blank=0)
        >>> print(f"{float(loss):.4f}")
        0.7080
    """
    inputs = (logits, teacher_logits, targets, logit_lengths, target_lengths)
    return _checked_loss(inputs, blank, temperature, reduction, validate)


def _checked_loss(
    inputs: tuple, blank: int, temperature: float, reduction: str, validate: bool
) -> Tensor:
    logits, teacher_logits, targets, logit_lengths, target_lengths = inputs
    compiled = is_compiled(ops.clamp)
    dtypes, shapes = dtypes_and_shapes(_CALLER, ("teacher_logits",), (teacher_logits,))
    options = (blank, -1.0, True, 0.0, False)
    batch = checked_batch(
        _CALLER, logits, targets, logit_lengths, target_lengths, options, validate, compiled
    )
    _check(logits.shape, dtypes[0], shapes[0], blank, temperature, reduction)
    if validate and not compiled:
        of_teacher = teacher_logits.shape[-1], "'teacher_logits'"
        check_labels(_CALLER, targets.asnumpy(), target_lengths.asnumpy(), *of_teacher)

    def reduced() -> Tensor:
        arguments = (batch[0], ops.stop_gradient(teacher_logits), *batch[1:])
        losses = _phases(options, float(temperature))(*arguments)[0]
        return reduce_losses(losses, reduction)

    return launch(reduced)


@lru_cache
def _phases(options: tuple, temperature: float) -> "_Phases":
    """The Cell for these options; a graph takes it as it is, too."""
    return _Phases(options, temperature)


class _Phases(nn.Cell):
    """-> loss (B,); then what `bprop` needs: labels, samples, stats and coefficients of rows.

    row_stats of teacher and student, the divergence in place of the lattice, row_grad.
    """

    def __init__(self, options: tuple, temperature: float) -> None:
        super().__init__()
        self.options = options
        self.temperature = temperature
        self.gradients = _Gradients(options, temperature)

    def construct(
        self,
        logits: Tensor,
        teacher_logits: Tensor,
        targets: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
    ) -> tuple[Tensor, ...]:
        batch = targets, logit_lengths, target_lengths
        params = params_tensor(self.options, False, self.temperature, True)
        labels, samples, least_loss = get_ops().row_labels(logits, *batch, params)
        if not _same(logits.shape[-1], teacher_logits.shape[-1]):  # labels are classes of both
            of_teacher = get_ops().row_labels(teacher_logits, *batch, params)
            least_loss = least_loss + 0.0 * of_teacher[2]
        teacher = get_ops().row_stats(teacher_logits, labels, params)
        stats = get_ops().row_stats(logits, labels, params)
        loss, coefficients = get_ops().distillation(
            stats, teacher, labels, samples, least_loss, params
        )
        return loss, labels, samples, stats, coefficients

    def bprop(
        self,
        logits: Tensor,
        teacher_logits: Tensor,
        targets: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        out: Any,
        dout: Any,
    ) -> tuple[Tensor, ...]:
        refuse_recorded_bprop(ops.gather, _CALLER)
        row_dloss = ops.gather(dout[0], out[2], 0)
        dlogits = self.gradients(logits, out[1], out[3], out[4], row_dloss)
        return dlogits, teacher_logits, targets, logit_lengths, target_lengths


class _Gradients(nn.Cell):
    """-> gradient of the student's logits"""

    def __init__(self, options: tuple, temperature: float) -> None:
        super().__init__()
        self.options = options
        self.temperature = temperature

    def construct(
        self,
        logits: Tensor,
        labels: Tensor,
        stats: Tensor,
        coefficients: Tensor,
        row_dloss: Tensor,
    ) -> Tensor:
        params = params_tensor(self.options, False, self.temperature, True)
        return get_ops().row_grad(logits, labels, stats, coefficients, row_dloss, params)

    def bprop(
        self,
        logits: Tensor,
        labels: Tensor,
        stats: Tensor,
        coefficients: Tensor,
        row_dloss: Tensor,
        out: Any,
        dout: Any,
    ) -> NoReturn:
        refuse_double_backward(_CALLER)


@ms.constexpr(check=False)
def _same(V: int | None, teacher_V: int | None) -> bool:
    """False where a graph has yet to learn one of them."""
    return V is not None and teacher_V == V


@ms.constexpr(check=False)
def _check(
    shape: Sequence[Any],
    teacher_dtype: Any,
    teacher_shape: Sequence[Any],
    blank: int,
    temperature: float,
    reduction: str,
) -> None:
    check_reduction(_CALLER, reduction)
    if not isinstance(temperature, Real) or isinstance(temperature, bool):
        refuse(_CALLER, TypeError, "temperature", "a float", type(temperature).__name__)
    if not 0 < temperature < math.inf:
        refuse(_CALLER, ValueError, "temperature", "positive and finite", temperature)
    limits = np.finfo(np.float32)  # beyond them it would travel as 0, which stands for 1, or as inf
    if not limits.tiny <= temperature <= limits.max:
        expected = f"between {limits.tiny:g} and {limits.max:g}, as a float32"
        refuse(_CALLER, ValueError, "temperature", expected, temperature)
    if str(teacher_dtype) not in LOGITS_DTYPES:
        expected = f"a Tensor of one of {list(LOGITS_DTYPES)}"
        refuse(_CALLER, TypeError, "teacher_logits", expected, teacher_dtype)
    if shape is None or teacher_shape is None:
        return
    same = len(shape) == len(teacher_shape) and all(
        None in pair or pair[0] == pair[1] for pair in zip(shape[:-1], teacher_shape[:-1])
    )
    if not same:
        expected = f"of the layout of 'logits', shape {shape}, but for the classes"
        refuse(_CALLER, ValueError, "teacher_logits", expected, f"shape {teacher_shape}")
    V, teacher_V = shape[-1], teacher_shape[-1]
    if None not in (V, teacher_V) and teacher_V != V and not 0 <= blank < min(V, teacher_V):
        both = f"as 'logits' has {V} classes and 'teacher_logits' {teacher_V}"
        expected = f"in [0, {min(V, teacher_V)}), {both}"
        refuse(_CALLER, ValueError, "blank", expected, blank)
