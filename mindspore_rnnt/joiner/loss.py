# SPDX-License-Identifier: Apache-2.0
"""JoinerRNNTLoss: joiner and loss in one, without the logits between them."""

from mindspore import nn

from ..checks import describe_options
from .chunked_loss import ChunkedLoss
from .chunks import ChunkedPhases
from .earlier_name import TakesLabelRows


class JoinerRNNTLoss(ChunkedLoss, TakesLabelRows):
    r"""
    The loss of :class:`mindspore_rnnt.RNNTLoss` on the logits of a
    :class:`mindspore_rnnt.PackedJoiner` , exact in value and gradients, without ever holding the
    logits.

    They exist a chunk of rows at a time: once for the loss, and once more for the gradients of
    `encoder_out`, `predictor_out` and all parameters of the joiner. The same input gives the same
    bits in each run; another chunk size may change the last ones.

    Args:
        joiner (Cell): what makes the logits; it stays usable on its own. A
            :class:`mindspore_rnnt.PackedJoiner` , or any Cell with its parts: `encoder_proj` and
            `predictor_proj`, each a Dense to a common width, `activation`, Tanh or ReLU, and
            `output`, a Dense to the classes; biases are optional.
        memory_budget (Union[str, int], optional): bytes for the rows in flight: a number with
            ``'kB'`` , ``'MB'`` , ``'GB'`` (powers of 1000) or ``'KiB'`` , ``'MiB'`` , ``'GiB'``
            (powers of 1024), or an int. What does not depend on it comes on top: a few times the
            gradients' own size, and about 200 bytes a row. Default: ``'256MB'`` .
        blank, clamp, reduction, fused_log_softmax, fastemit_lambda, zero_infinity, validate: as in
            :class:`mindspore_rnnt.RNNTLoss` .

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
          The keyword ``label_rows`` , its earlier name, is accepted outside compiled graphs.

    Outputs:
        Tensor, float32: the loss, a scalar, or of shape :math:`(B,)` if `reduction` is ``'none'`` .

    Raises:
        TypeError: If an argument is of the wrong type or dtype.
        ValueError: If a rank, size, option, length, label or row does not fit, or if
            `memory_budget` does not hold a single row.
        RuntimeError: If the gradient is differentiated again.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> import mindspore as ms
        >>> import numpy as np
        >>> from mindspore import Tensor, ops
        >>> from mindspore_rnnt import JoinerRNNTLoss, PackedJoiner, packed_indices
        >>> joiner = PackedJoiner(encoder_dim=8, predictor_dim=6, joiner_dim=16, vocab_size=10)
        >>> for parameter in joiner.get_parameters():
        ...     _ = parameter.set_data(ops.zeros_like(parameter))
        >>> loss_fn = JoinerRNNTLoss(joiner, memory_budget="64MB", blank=0, reduction="none")
        >>> encoder_out, predictor_out = ops.ones((2, 4, 8)), ops.ones((2, 3, 6))
        >>> targets = Tensor([[1, 2], [3, -1]], ms.int32)
        >>> frame_rows, step_rows = packed_indices([4, 3], [2, 1])
        >>> loss = loss_fn(encoder_out, predictor_out, targets, Tensor([4, 3]), Tensor([2, 1]),
        ...                Tensor(frame_rows), Tensor(step_rows))
        >>> print(np.round(loss.asnumpy(), 4))
        [11.5129  8.1117]
    """

    def __init__(
        self,
        joiner: nn.Cell,
        memory_budget: str | int = "256MB",
        blank: int = -1,
        clamp: float = -1.0,
        reduction: str = "mean",
        fused_log_softmax: bool = True,
        *,
        fastemit_lambda: float = 0.0,
        zero_infinity: bool = False,
        validate: bool = True,
    ) -> None:
        super().__init__()
        options = (blank, clamp, fused_log_softmax, fastemit_lambda, zero_infinity)
        self.own("JoinerRNNTLoss", joiner, memory_budget, options, reduction, validate)
        self.phases = self.phases_of(ChunkedPhases)
        self.described = f"{describe_options(*options)}, memory_budget={memory_budget!r}"
