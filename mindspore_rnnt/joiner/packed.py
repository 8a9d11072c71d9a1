# SPDX-License-Identifier: Apache-2.0
"""The joint network on packed rows: the padded (B, T, U + 1, V) tensor never exists."""

from mindspore import Tensor, nn, ops

from .checks import choose_step_rows

_ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU}


class PackedJoiner(nn.Cell):
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

    Inputs:
        - **encoder_out** (Tensor) - of shape :math:`(B, max_T, D_e)`.
        - **predictor_out** (Tensor) - of shape :math:`(B, max_U + 1, D_p)`.
        - **frame_rows** (Tensor) - int32 of shape :math:`(N,)`, from
          :func:`mindspore_rnnt.packed_indices` with these `max_t` and `max_u`.
        - **step_rows** (Tensor) - int32 of shape :math:`(N,)`, likewise. The keyword
          ``label_rows`` , its earlier name, is accepted in its place.

    Outputs:
        Tensor of shape :math:`(N, V)`: the packed logits that :class:`mindspore_rnnt.RNNTLoss`
        takes.

    Raises:
        TypeError: If `step_rows` is missing, or given by both of its names.
        ValueError: If `activation` is not one of the names above.

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
    ) -> None:
        super().__init__()
        if activation not in _ACTIVATIONS:
            raise ValueError(
                f"For 'PackedJoiner', the 'activation' must be one of {sorted(_ACTIVATIONS)}, "
                f"but got {activation!r}."
            )
        self.joiner_dim = joiner_dim
        self.encoder_proj = nn.Dense(encoder_dim, joiner_dim)
        self.predictor_proj = nn.Dense(predictor_dim, joiner_dim, has_bias=False)
        self.activation = _ACTIVATIONS[activation]()
        self.output = nn.Dense(joiner_dim, vocab_size)

    def construct(
        self,
        encoder_out: Tensor,
        predictor_out: Tensor,
        frame_rows: Tensor,
        step_rows: Tensor | None = None,
        label_rows: Tensor | None = None,
    ) -> Tensor:
        step_rows = choose_step_rows("PackedJoiner", step_rows, label_rows)
        frames, steps = self.project(encoder_out, predictor_out)
        hidden = self.activation(
            ops.gather(frames, frame_rows, 0) + ops.gather(steps, step_rows, 0)
        )
        return self.output(hidden)

    def project(self, encoder_out: Tensor, predictor_out: Tensor) -> tuple[Tensor, Tensor]:
        """Both inputs in the joiner's width, one row per frame and one per step."""
        frames = self.encoder_proj(encoder_out).reshape((-1, self.joiner_dim))
        steps = self.predictor_proj(predictor_out).reshape((-1, self.joiner_dim))
        return frames, steps
