# SPDX-License-Identifier: Apache-2.0
"""What JoinerRNNTLoss and PrunedRNNTLoss need of a joiner: the protocol, and its parts as the
chunked phases take them.

A joiner is any Cell with the attributes

    encoder_proj    nn.Dense, De -> J
    predictor_proj  nn.Dense, Dp -> J
    activation      nn.Tanh or nn.ReLU
    output          nn.Dense, J -> V

that stands for logits = output(activation(encoder_proj(frame) + predictor_proj(step))); biases are
optional. icefall's and WeNet's joiners are of this form.
"""

from collections.abc import Callable
from typing import Any

from mindspore import Tensor, nn, ops

from ..checks import refuse
from .checks import rows_within


def _tanh_grad(hidden: Tensor, dhidden: Tensor) -> Tensor:
    return dhidden * (1 - hidden * hidden)


def _relu_grad(hidden: Tensor, dhidden: Tensor) -> Tensor:
    return ops.masked_fill(dhidden, hidden <= 0, 0.0)


# For each activation: its gradient in terms of its output, and an input whose output is exactly 1.
_ACTIVATIONS = {nn.Tanh: (_tanh_grad, 20.0), nn.ReLU: (_relu_grad, 1.0)}
_PARTS = ("encoder_proj", "predictor_proj", "output")


class OwnsJoiner(nn.Cell):
    """A Cell with a joiner, which stays usable on its own."""

    def own(self, caller: str, joiner: nn.Cell, memory_budget: str | int) -> None:
        """To be called in `__init__`."""
        check_joiner(caller, joiner)
        self.joiner = joiner
        self.classes, self.joiner_dim = joiner.output.weight.shape
        self.widths = (joiner.encoder_proj.in_channels, joiner.predictor_proj.in_channels)
        self.output_has_bias = bool(joiner.output.has_bias)
        self.chunk_rows = rows_within(caller, memory_budget, self.classes, self.joiner_dim)

    def phases_of(self, phases: Callable, caller: str, options: tuple) -> Any:
        """The chunked phases of this type for the joiner's activation."""
        activation = self.joiner.activation
        activation_grad, self.input_of_one = _ACTIVATIONS[type(activation)]
        return phases(self.chunk_rows, activation, activation_grad, options, caller)

    def joined(self, encoder_out: Tensor, predictor_out: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One row per frame, one per step, and the weight that maps the activation of their sum to
        logits. The bias of the output is one more column of it: the activation makes a 1 to go with
        that."""
        J, output = self.joiner_dim, self.joiner.output
        frames = self.joiner.encoder_proj(encoder_out).reshape((-1, J))
        steps = self.joiner.predictor_proj(predictor_out).reshape((-1, J))
        if not self.output_has_bias:
            return frames, steps, output.weight.reshape((-1, J))
        # Mixed precision casts what an operator makes, and in MindSpore 2.7 no Parameter of a cat.
        bias = ops.expand_dims(output.bias, 1)
        weight = ops.cat((output.weight.astype(bias.dtype), bias), 1)
        frames, steps = _append_column(frames, self.input_of_one), _append_column(steps, 0)
        return frames, steps, weight


def _append_column(x: Tensor, value: float) -> Tensor:
    return ops.cat((x, ops.full((x.shape[0], 1), value, dtype=x.dtype)), 1)


def check_joiner(caller: str, joiner: object) -> None:
    expected = "a Cell with Dense encoder_proj, predictor_proj and output"
    for name in _PARTS:
        if not isinstance(getattr(joiner, name, None), nn.Dense):
            refuse(caller, TypeError, "joiner", expected, f"{type(joiner).__name__} without {name}")
    activation = type(getattr(joiner, "activation", None))
    if activation not in _ACTIVATIONS:
        names = " or ".join(sorted(a.__name__ for a in _ACTIVATIONS))
        refuse(caller, TypeError, "joiner", f"with an activation {names}", activation.__name__)
