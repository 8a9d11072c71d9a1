# SPDX-License-Identifier: Apache-2.0
"""JoinerTDTLoss: joiner and TDT loss in one, without the logits between them."""

from collections.abc import Sequence

from mindspore import nn

from ..joiner.chunked_loss import ChunkedLoss
from .checks import check_tdt_options
from .chunks import TdtChunks
from .loss import describe_tdt_options


class JoinerTDTLoss(ChunkedLoss):
    r"""
    The loss of :class:`mindspore_rnnt.TDTLoss` on the logits of a joiner that predicts tokens and
    durations, exact in value and gradients, without ever holding the logits of tokens.

    They exist a chunk of rows at a time, as in :class:`mindspore_rnnt.JoinerRNNTLoss` ; the
    :math:`D` logits of durations of each row are kept. The same input gives the same bits in each
    run; another chunk size may change the last ones.

    Args:
        joiner (Cell): what makes the logits; it stays usable on its own. A
            :class:`mindspore_rnnt.PackedJoiner` with `num_durations` as many as `durations` , or
            any Cell with the parts that :class:`mindspore_rnnt.JoinerRNNTLoss` names, whose
            `output` has :math:`V + D` entries, the durations last.
        durations (Sequence[int]): the :math:`D` durations in frames, distinct, in any order, at
            least 0 and one above 0.
        memory_budget (Union[str, int], optional): bytes for the rows in flight, as in
            :class:`mindspore_rnnt.JoinerRNNTLoss` . What does not depend on it comes on top: a few
            times the gradients' own size, and about 350 bytes a row for 5 durations.
            Default: ``'256MB'`` .
        blank, clamp, reduction, sigma, fastemit_lambda, zero_infinity, validate: as in
            :class:`mindspore_rnnt.TDTLoss` .

    Inputs:
        - **encoder_out** (Tensor) - of shape :math:`(B, max_T, D_e)`.
        - **predictor_out** (Tensor) - of shape :math:`(B, max_U + 1, D_p)`.
        - **targets** (Tensor) - labels, int32 or int64 of shape :math:`(B, max_U)`; entries
          beyond a sample's length are never read.
        - **logit_lengths** (Tensor) - frames :math:`T_b \ge 1`, int32 or int64 of shape
          :math:`(B,)`.
        - **target_lengths** (Tensor) - labels :math:`U_b \ge 0`, int32 or int64 of shape
          :math:`(B,)`.
        - **frame_rows** (Tensor) - int32 of shape :math:`(N,)`, from
          :func:`mindspore_rnnt.packed_indices` with these lengths, `max_t` and `max_u`.
        - **step_rows** (Tensor) - int32 of shape :math:`(N,)`, likewise.

    Outputs:
        Tensor, float32: the loss, a scalar, or of shape :math:`(B,)` if `reduction` is ``'none'`` .

    Raises:
        TypeError: If an argument is of the wrong type or dtype.
        ValueError: If a rank, size, option, duration, length, label or row does not fit, if the
            joiner predicts another number of durations, or if `memory_budget` does not hold a
            single row.
        RuntimeError: If the gradient is differentiated again.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> import mindspore as ms
        >>> import numpy as np
        >>> from mindspore import Tensor, ops
        >>> from mindspore_rnnt import JoinerTDTLoss, PackedJoiner, packed_indices
        >>> joiner = PackedJoiner(encoder_dim=8, predictor_dim=6, joiner_dim=16, vocab_size=5,
        ...                       num_durations=3)
        >>> for parameter in joiner.get_parameters():
        ...     _ = parameter.set_data(ops.zeros_like(parameter))
        >>> loss_fn = JoinerTDTLoss(joiner, durations=(0, 1, 2), blank=0, reduction="none")
        >>> encoder_out, predictor_out = ops.ones((2, 3, 8)), ops.ones((2, 3, 6))
        >>> targets = Tensor([[1, 2], [3, -1]], ms.int32)
        >>> frame_rows, step_rows = packed_indices([3, 2], [2, 1])
        >>> loss = loss_fn(encoder_out, predictor_out, targets, Tensor([3, 2]), Tensor([2, 1]),
        ...                Tensor(frame_rows), Tensor(step_rows))
        >>> print(np.round(loss.asnumpy(), 4))
        [6.3617 4.6584]
    """

    def __init__(
        self,
        joiner: nn.Cell,
        durations: Sequence[int],
        memory_budget: str | int = "256MB",
        blank: int = -1,
        clamp: float = -1.0,
        reduction: str = "mean",
        *,
        sigma: float = 0.0,
        fastemit_lambda: float = 0.0,
        zero_infinity: bool = False,
        validate: bool = True,
    ) -> None:
        super().__init__()
        durations = check_tdt_options("JoinerTDTLoss", durations, reduction, sigma)
        options = (blank, clamp, True, fastemit_lambda, zero_infinity)
        shared = memory_budget, options, reduction, validate
        self.own("JoinerTDTLoss", joiner, *shared, num_durations=len(durations))
        self.phases = self.phases_of(TdtChunks, durations, float(sigma))
        described = describe_tdt_options(durations, sigma, options)
        self.described = f"{described}, memory_budget={memory_budget!r}"
