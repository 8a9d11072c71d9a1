# SPDX-License-Identifier: Apache-2.0
"""rnnt_distillation_loss: a small model learns the lattice of a large one, three classes a cell."""

import math
from collections.abc import Sequence
from functools import lru_cache
from numbers import Real
from typing import Any, NoReturn

import mindspore as ms
from mindspore import Tensor, nn, ops

from .checks import LOGITS_DTYPES, check_labels, check_reduction, check_tensors, refuse
from .kernels import get_ops
from .kernels.gradients import refuse_double_backward
from .kernels.recorder import in_given_precision, refuse_recorded_bprop
from .launch import checked_batch, is_compiled, params_tensor, precise_dtype, reduce_losses
from .row_labels import NO_CELL, NO_LABEL_ARC, packed_rows, row_labels

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
    compiled = is_compiled(ops.clamp)
    if not compiled:
        check_tensors(_CALLER, ("teacher_logits",), (teacher_logits,))
    options = (blank, -1.0, True, 0.0, False)
    inputs = (logits, targets, logit_lengths, target_lengths)
    batch = checked_batch(_CALLER, *inputs, options, validate, compiled)
    teacher = (teacher_logits.dtype, teacher_logits.shape)
    _check(logits.shape, *teacher, blank, temperature, reduction)
    if validate and not compiled:
        of_teacher = teacher_logits.shape[-1], "'teacher_logits'"
        check_labels(_CALLER, targets.asnumpy(), target_lengths.asnumpy(), *of_teacher)
    if compiled:
        losses = _losses(*batch, teacher_logits, options, float(temperature))
    else:
        losses = in_given_precision(_losses, *batch, teacher_logits, options, float(temperature))
    return reduce_losses(losses, reduction)


def _losses(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    teacher_logits: Tensor,
    options: tuple,
    temperature: float,
) -> Tensor:
    labels, of_steps, fits = row_labels(logits, targets, logit_lengths, target_lengths)
    V = logits.shape[-1]
    blank = options[0] if options[0] >= 0 else options[0] + V
    labels = ops.where(labels == blank, NO_LABEL_ARC, labels)  # one class
    fits = ops.logical_and(fits, (of_steps < teacher_logits.shape[-1]).all(axis=1))
    fits = ops.logical_and(fits, _valid_lengths(logits.shape, logit_lengths, target_lengths))
    if len(logits.shape) == 2:
        samples, _, _ = packed_rows(logits.shape[0], logit_lengths, target_lengths)
    else:
        samples = ops.range(0, logits.shape[0], 1).reshape((-1, 1, 1)).astype(ms.int32)
        samples = samples + ops.zeros(labels.shape, ms.int32)
    teacher = ops.stop_gradient(_teacher_stats(options, temperature)(teacher_logits, labels))
    phases = _phases(options, temperature)
    losses, _, _ = phases(logits, teacher, labels, samples, logit_lengths)
    return ops.select(fits, losses, ops.full_like(losses, math.nan))


def _valid_lengths(shape: tuple, logit_lengths: Tensor, target_lengths: Tensor) -> Tensor:
    """Whether a sample's cells lie within the logits, (B,)."""
    fits = ops.logical_and(logit_lengths >= 1, target_lengths >= 0)
    if len(shape) == 2:
        rows = logit_lengths.astype(ms.int64) * (target_lengths.astype(ms.int64) + 1)
        return ops.logical_and(fits, rows.sum() == shape[0])
    within = ops.logical_and(logit_lengths <= shape[1], target_lengths < shape[2])
    return ops.logical_and(fits, within)


@lru_cache
def _teacher_stats(options: tuple, temperature: float) -> "_TeacherStats":
    return _TeacherStats(options, temperature)


@lru_cache
def _phases(options: tuple, temperature: float) -> "_Phases":
    """The Cell for these options; a graph takes it as it is, too."""
    return _Phases(options, temperature)


class _TeacherStats(nn.Cell):
    """-> stats of the teacher's rows, without a gradient"""

    def __init__(self, options: tuple, temperature: float) -> None:
        super().__init__()
        self.options = options
        self.temperature = temperature

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        params = params_tensor(self.options, False, self.temperature, True)
        return get_ops().row_stats(logits, labels, params)

    def bprop(self, logits: Tensor, labels: Tensor, out: Any, dout: Any) -> NoReturn:
        refuse_double_backward(_CALLER)


class _Phases(nn.Cell):
    """-> loss (B,); then stats and coefficients of the student's rows, which are for `bprop` only.

    Of the stats of a row only sums over the three classes are known: exp(gap) of blank and label,
    row_sum of the rest. They are small beside the logits, and in float64 where the device has it.
    """

    def __init__(self, options: tuple, temperature: float) -> None:
        super().__init__()
        self.options = options
        self.temperature = temperature
        self.gradients = _Gradients(options, temperature)

    def construct(
        self, logits: Tensor, teacher: Tensor, labels: Tensor, samples: Tensor, lengths: Tensor
    ) -> tuple:
        params = params_tensor(self.options, False, self.temperature, True)
        stats = get_ops().row_stats(logits, labels, params)
        p, q = self.log_probs(teacher), self.log_probs(stats)
        kl = self.divergence(p[0], q[0]) + self.divergence(p[1], q[1]) + self.divergence(p[2], q[2])
        kl = ops.masked_fill(kl, labels == NO_CELL, 0.0)
        index = samples.reshape((-1,))
        loss = ops.unsorted_segment_sum(kl.reshape((-1,)), index, lengths.shape[0])
        # On the rest softmax_k (1 - p / q), in terms of exp(gap_k) / row_sum; on the others q - p.
        columns = [ops.exp(q[2]) - ops.exp(p[2])]
        columns = [*columns, ops.exp(p[0]) - ops.exp(q[0]), ops.exp(p[1]) - ops.exp(q[1])]
        coefficients = ops.cat([ops.expand_dims(x, -1) for x in columns], -1)
        # NaN in one cell is NaN in all of the sample.
        spread = 0.0 * ops.gather(loss, index, 0).reshape((*labels.shape, 1))
        return loss.astype(ms.float32), stats, (coefficients + spread).astype(ms.float32)

    def log_probs(self, stats: Tensor) -> tuple:
        """Of blank, label and rest in each row."""
        stats = stats.astype(precise_dtype())
        rest, of_blank, of_label = stats[..., 1], stats[..., 2], stats[..., 3]
        log_sum = ops.log(rest + ops.exp(of_blank) + ops.exp(of_label))
        return of_blank - log_sum, of_label - log_sum, ops.log(rest) - log_sum

    def divergence(self, log_p: Tensor, log_q: Tensor) -> Tensor:
        """p log (p / q), 0 for p = 0"""
        return ops.masked_fill(ops.exp(log_p) * (log_p - log_q), log_p == -math.inf, 0.0)

    def bprop(
        self,
        logits: Tensor,
        teacher: Tensor,
        labels: Tensor,
        samples: Tensor,
        lengths: Tensor,
        out: Any,
        dout: Any,
    ) -> tuple[Tensor, ...]:
        refuse_recorded_bprop(ops.gather, _CALLER)
        dlogits = self.gradients(logits, labels, samples, *out, dout[0])
        return dlogits, teacher, labels, samples, lengths


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
        samples: Tensor,
        loss: Tensor,
        stats: Tensor,
        coefficients: Tensor,
        dloss: Tensor,
    ) -> Tensor:
        dloss = ops.masked_fill(dloss / self.temperature, loss == math.inf, 0.0)
        of_rows = ops.gather(dloss, samples, 0)
        params = params_tensor(self.options, False, self.temperature, True)
        return get_ops().row_grad(logits, labels, stats, coefficients, of_rows, params)

    def bprop(
        self,
        logits: Tensor,
        labels: Tensor,
        samples: Tensor,
        loss: Tensor,
        stats: Tensor,
        coefficients: Tensor,
        dloss: Tensor,
        out: Any,
        dout: Any,
    ) -> NoReturn:
        refuse_double_backward(_CALLER)


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
