# SPDX-License-Identifier: Apache-2.0
"""The joint network on packed rows: the padded (B, T, U + 1, V) tensor never exists."""

import math

import mindspore as ms
from mindspore import Tensor, nn, ops

from ..launch import as_int32, dtypes_and_shapes, is_compiled
from .checks import JOINER_INPUTS, check_joiner_inputs, check_num_durations
from .earlier_name import TakesLabelRows
from .rows import check_rows, rows_belong

_ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU}
# A frame that makes NaN logits. MindSpore's relu maps NaN to 0 on the CPU, but inf times weights of
# both signs is NaN.
_NAN_FRAME = {"tanh": math.nan, "relu": math.inf}


class PackedJoiner(TakesLabelRows):
    r"""
    Adds projected encoder frames and predictor steps on the cells that the lattice uses, and maps
    each sum to the vocabulary.

    .. math::
        logits_{row} = W_o\, activation(W_e\, encoder\_out_{frame\_rows[row]} +
                                        W_p\, predictor\_out_{label\_rows[row]}) + b_o

    Args:
        encoder_dim (int): Width :math:`D_e` of the encoder output.
        predictor_dim (int): Width :math:`D_p` of the predictor output.
        joiner_dim (int): Width :math:`J` of the sum.
        vocab_size (int): Number :math:`V` of classes, blank included.
        activation (str, optional): ``'tanh'`` or ``'relu'`` . Default: ``'tanh'`` .
        num_durations (int, optional): Number :math:`D` of durations of a token-and-duration
            transducer, which a second output layer predicts; 0 for none. Default: ``0`` .
        predictor_bias (bool, optional): a bias for the predictor's projection, too, as icefall's
            and WeNet's joiners have. Default: ``False`` .

    Inputs:
        - **encoder_out** (Tensor) - of shape :math:`(B, max_T, D_e)`.
        - **predictor_out** (Tensor) - of shape :math:`(B, max_U + 1, D_p)`.
        - **frame_rows** (Tensor) - int32 of shape :math:`(N,)`, from
          :func:`mindspore_rnnt.packed_indices` with these `max_t` and `max_u`.
        - **step_rows** (Tensor) - int32 of shape :math:`(N,)`, likewise.
          The keyword ``label_rows`` , its earlier name, is accepted outside compiled graphs.

    Outputs:
        Tensor of shape :math:`(N, V)`: the packed logits that :class:`mindspore_rnnt.RNNTLoss`
        takes; with `num_durations` a tuple of these and of a Tensor of shape :math:`(N, D)`, both
        of which :class:`mindspore_rnnt.TDTLoss` takes. In a compiled graph, which cannot refuse
        values, all logits are NaN if a row is of another `max_t` or `max_u` than those of
        `encoder_out` and `predictor_out`.

    Raises:
        TypeError: If `num_durations` is no int, if an input is of the wrong dtype, or if
            `step_rows` is missing, or given by both of its names.
        ValueError: If `activation` is not one of the names above, if `num_durations` is below 0, if
            a rank or size does not fit, or if the rows are for other `max_t` and `max_u` than those
            of `encoder_out` and `predictor_out`.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> from mindspore import Tensor, ops
        >>> from mindspore_rnnt import PackedJoiner, packed_indices
        >>> joiner = PackedJoiner(encoder_dim=8, predictor_dim=6, joiner_dim=16, vocab_size=10)
        >>> frame_rows, step_rows = packed_indices([4, 3], [2, 1])
        >>> encoder_out, predictor_out = ops.ones((2, 4, 8)), ops.ones((2, 3, 6))
        >>> logits = joiner(encoder_out, predictor_out, Tensor(frame_rows), Tensor(step_rows))
        >>> print(logits.shape)
        (18, 10)
    """

    def __init__(
        self,
        encoder_dim: int,
        predictor_dim: int,
        joiner_dim: int,
        vocab_size: int,
        activation: str = "tanh",
        num_durations: int = 0,
        *,
        predictor_bias: bool = False,
    ) -> None:
        super().__init__()
        if activation not in _ACTIVATIONS:
            raise ValueError(
                f"For 'PackedJoiner', the 'activation' must be one of {sorted(_ACTIVATIONS)}, "
                f"but got {activation!r}."
            )
        check_num_durations(num_durations)
        self.joiner_dim = joiner_dim
        self.num_durations = num_durations
        self.widths = (encoder_dim, predictor_dim)
        self.nan_frame = _NAN_FRAME[activation]
        self.encoder_proj = nn.Dense(encoder_dim, joiner_dim)
        self.predictor_proj = nn.Dense(predictor_dim, joiner_dim, has_bias=predictor_bias)
        self.activation = _ACTIVATIONS[activation]()
        self.output = nn.Dense(joiner_dim, vocab_size)
        if num_durations:
            self.duration_output = nn.Dense(joiner_dim, num_durations)

    def construct(
        self,
        encoder_out: Tensor,
        predictor_out: Tensor,
        frame_rows: Tensor,
        step_rows: Tensor,
    ) -> Tensor | tuple[Tensor, Tensor]:
        inputs = (encoder_out, predictor_out, frame_rows, step_rows)
        dtypes, shapes = dtypes_and_shapes("PackedJoiner", JOINER_INPUTS, inputs)
        _check_inputs(dtypes, shapes, self.widths)
        frames, steps = self.project(encoder_out, predictor_out)
        if is_compiled(ops.gather):
            rows = as_int32(frame_rows), as_int32(step_rows)
            good = rows_belong(encoder_out.shape, predictor_out.shape, *rows)
            nan_frame = ops.full((1, self.joiner_dim), self.nan_frame, dtype=frames.dtype)
            frame_rows = ops.where(good, rows[0], frames.shape[0])
            step_rows = ops.where(good, rows[1], 0)
            frames = ops.cat((frames, nan_frame))
        else:
            rows = frame_rows.asnumpy(), step_rows.asnumpy()
            check_rows("PackedJoiner", encoder_out.shape, predictor_out.shape, *rows)
        hidden = self.activation(
            ops.gather(frames, frame_rows, 0) + ops.gather(steps, step_rows, 0)
        )
        if self.num_durations:
            return self.output(hidden), self.duration_output(hidden)
        return self.output(hidden)

    def extend_repr(self) -> str:
        V, J = self.output.weight.shape
        encoder_dim, predictor_dim = self.widths
        dims = f"encoder_dim={encoder_dim}, predictor_dim={predictor_dim}"
        return f"{dims}, joiner_dim={J}, vocab_size={V}, num_durations={self.num_durations}"

    def project(self, encoder_out: Tensor, predictor_out: Tensor) -> tuple[Tensor, Tensor]:
        """Both inputs in the joiner's width, one row per frame and one per step."""
        frames = self.encoder_proj(encoder_out).reshape((-1, self.joiner_dim))
        steps = self.predictor_proj(predictor_out).reshape((-1, self.joiner_dim))
        return frames, steps


@ms.constexpr(check=False)
def _check_inputs(dtypes: tuple, shapes: tuple, widths: tuple[int, int]) -> None:
    check_joiner_inputs(dtypes, shapes, *widths)
