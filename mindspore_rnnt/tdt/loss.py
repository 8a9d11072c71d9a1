# SPDX-License-Identifier: Apache-2.0
"""TDTLoss: tdt_loss as a Cell."""

from collections.abc import Sequence

from mindspore import Tensor, nn

from ..checks import check_options, check_switches
from ..kernels import prepare_ops
from ..native.params import float32_clamp
from .checks import check_tdt_options
from .functional import checked_tdt_loss


class TDTLoss(nn.LossBase):
    r"""
    The loss of a token-and-duration transducer (TDT), minus the log-probability of the targets
    summed over all alignments. See :func:`mindspore_rnnt.tdt_loss` .

    Args:
        durations (Sequence[int], optional): the :math:`D` durations in frames, distinct, in any
            order, at least 0 and one above 0; on Ascend at most 32, none above 256. Default:
            ``(0, 1, 2, 3, 4)`` .
        blank, clamp, reduction, sigma, fastemit_lambda, zero_infinity, validate: as in
            :func:`mindspore_rnnt.tdt_loss` .

    Inputs:
        - **logits** (Tensor) - of the token head, float32, float16 or bfloat16 of shape
          :math:`(B, max_T, max_U + 1, V)` or, packed, :math:`(\sum_b T_b (U_b + 1), V)`.
        - **duration_logits** (Tensor) - of the duration head, likewise with :math:`D` in place of
          :math:`V`; its dtype may be another.
        - **targets** (Tensor) - labels, int32 or int64 of shape :math:`(B, max_U)`; entries
          beyond a sample's length are never read.
        - **logit_lengths** (Tensor) - frames :math:`T_b \ge 1`, int32 or int64 of shape
          :math:`(B,)`.
        - **target_lengths** (Tensor) - labels :math:`U_b \ge 0`, int32 or int64 of shape
          :math:`(B,)`.

    Outputs:
        Tensor, float32: the loss, a scalar, or of shape :math:`(B,)` if `reduction` is ``'none'`` .

    Raises:
        TypeError: If an argument is of the wrong type or dtype.
        ValueError: If a rank, size, option, duration, length or label does not fit.
        RuntimeError: If the gradient is differentiated again.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> import numpy as np
        >>> from mindspore import Tensor, ops
        >>> from mindspore_rnnt import TDTLoss
        >>> loss_fn = TDTLoss(durations=(0, 1, 2), blank=0, reduction="none")
        >>> rows = 3 * 3 + 2 * 2
        >>> loss = loss_fn(ops.zeros((rows, 5)), ops.zeros((rows, 3)), Tensor([[1, 2], [3, -1]]),
        ...                Tensor([3, 2]), Tensor([2, 1]))
        >>> print(np.round(loss.asnumpy(), 4))
        [6.3617 4.6584]
    """

    def __init__(
        self,
        durations: Sequence[int] = (0, 1, 2, 3, 4),
        blank: int = -1,
        clamp: float = -1.0,
        reduction: str = "mean",
        *,
        sigma: float = 0.0,
        fastemit_lambda: float = 0.0,
        zero_infinity: bool = False,
        validate: bool = True,
    ) -> None:
        durations = check_tdt_options("TDTLoss", durations, reduction, sigma)
        super().__init__(reduction)
        options = (True, fastemit_lambda, zero_infinity)
        check_options("TDTLoss", blank, clamp, *options)
        self.options = (blank, float32_clamp(clamp), *options)
        check_switches("TDTLoss", validate=validate)
        prepare_ops()
        self.durations = durations
        self.reduction = reduction
        self.sigma = sigma
        self.validate = validate

    def construct(
        self,
        logits: Tensor,
        duration_logits: Tensor,
        targets: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
    ) -> Tensor:
        return checked_tdt_loss(
            "TDTLoss",
            (logits, duration_logits, targets, logit_lengths, target_lengths),
            self.durations,
            self.options,
            self.reduction,
            self.sigma,
            self.validate,
        )

    def extend_repr(self) -> str:
        described = describe_tdt_options(self.durations, self.sigma, self.options)
        return f"{described}, reduction={self.reduction!r}, validate={self.validate}"


def describe_tdt_options(durations: Sequence[int], sigma: float, options: tuple) -> str:
    """For the repr of a Cell; `options` are what `check_options` takes."""
    blank, clamp, _, fastemit_lambda, zero_infinity = options
    numbers = f"clamp={clamp}, sigma={sigma}, fastemit_lambda={fastemit_lambda}"
    return f"durations={durations}, blank={blank}, {numbers}, zero_infinity={zero_infinity}"
