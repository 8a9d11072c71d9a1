# SPDX-License-Identifier: Apache-2.0
"""What the losses with a joiner share: the protocol of that joiner, its parts as the chunked phases
take them, and the options that these losses have in common.

A joiner is any Cell with the attributes

    encoder_proj    nn.Dense, De -> J
    predictor_proj  nn.Dense, Dp -> J
    activation      nn.Tanh or nn.ReLU
    output          nn.Dense, J -> V

that stands for logits = output(activation(encoder_proj(frame) + predictor_proj(step))); biases are
optional. icefall's and WeNet's joiners are of this form.

One that predicts D durations, too, has either one more

    duration_output nn.Dense, J -> D

as PackedJoiner has, or an output of V + D rows, the durations last, as NeMo's has.
"""

from collections.abc import Callable
from typing import Any

from mindspore import Tensor, nn, ops

from ..checks import check_blank, check_options, check_reduction, check_switches, refuse
from ..native.params import float32_clamp
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

    def own(
        self,
        caller: str,
        joiner: nn.Cell,
        memory_budget: str | int,
        options: tuple,
        reduction: str,
        validate: bool,
        num_durations: int = 0,
    ) -> None:
        """To be called in `__init__`; `options` are what `check_options` takes."""
        check_joiner(caller, joiner)
        check_reduction(caller, reduction)
        check_options(caller, *options)
        check_switches(caller, validate=validate)
        self.caller = caller
        self.joiner = joiner
        self.classes = classes_of(caller, joiner, num_durations)
        check_blank(caller, options[0], self.classes, "the joiner")
        self.joiner_dim = joiner.output.in_channels
        self.widths = (joiner.encoder_proj.in_channels, joiner.predictor_proj.in_channels)
        second = _second(joiner) if num_durations else None
        self.has_second_output = second is not None
        self.has_bias = bool(joiner.output.has_bias or (second and second.has_bias))
        entries = self.classes + num_durations
        self.chunk_rows = rows_within(caller, memory_budget, entries, self.joiner_dim)
        self.blank = int(options[0]) % self.classes
        self.options = (self.blank, float32_clamp(options[1]), *options[2:])
        self.reduction = reduction
        self.validate = validate

    def phases_of(self, phases: Callable, *others: Any) -> Any:
        """The chunked phases of this type for the joiner's activation."""
        activation = self.joiner.activation
        activation_grad, self.input_of_one = _ACTIVATIONS[type(activation)]
        return phases(
            self.chunk_rows, activation, activation_grad, self.options, self.caller, *others
        )

    def joined(self, encoder_out: Tensor, predictor_out: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One row per frame, one per step, and the weight that maps the activation of their sum to
        logits, those of durations last. The bias of the output is one more column of it: the
        activation makes a 1 to go with that."""
        J, joiner = self.joiner_dim, self.joiner
        frames = joiner.encoder_proj(encoder_out).reshape((-1, J))
        steps = joiner.predictor_proj(predictor_out).reshape((-1, J))
        weight = self.weight_of(joiner.output)
        if self.has_second_output:
            of_durations = self.weight_of(joiner.duration_output)
            weight = ops.cat((weight, of_durations.astype(weight.dtype)), 0)
        if self.has_bias:
            frames, steps = _append_column(frames, self.input_of_one), _append_column(steps, 0)
        return frames, steps, weight

    def weight_of(self, output: nn.Dense) -> Tensor:
        weight = output.weight.reshape((-1, self.joiner_dim))
        if not self.has_bias:
            return weight
        if not output.has_bias:
            return _append_column(weight, 0)
        # Mixed precision casts what an operator makes, and in MindSpore 2.7 no Parameter of a cat.
        bias = ops.expand_dims(output.bias, 1)
        return ops.cat((output.weight.astype(bias.dtype), bias), 1)


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


def classes_of(caller: str, joiner: nn.Cell, num_durations: int) -> int:
    """The classes among the rows of the output. A joiner with a second output, or which says how
    many durations it has, has them for another set of durations if the number differs."""
    rows = joiner.output.weight.shape[0]
    if num_durations == 0:
        return rows
    second = _second(joiner)
    predicted = second.out_channels if second else getattr(joiner, "num_durations", num_durations)
    if predicted != num_durations:
        expected = f"with {num_durations} durations, as many as 'durations' has"
        refuse(caller, ValueError, "joiner", expected, f"one with {predicted}")
    if second:
        return rows
    if rows <= num_durations:
        expected = f"with an output of more than {num_durations} rows, those of 'durations'"
        refuse(caller, ValueError, "joiner", expected, f"{rows} rows")
    return rows - num_durations


def _second(joiner: nn.Cell) -> nn.Dense | None:
    layer = getattr(joiner, "duration_output", None)
    return layer if isinstance(layer, nn.Dense) else None
