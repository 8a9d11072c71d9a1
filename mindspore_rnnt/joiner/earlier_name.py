# SPDX-License-Identifier: Apache-2.0
"""The keyword label_rows, the earlier name of step_rows.

It is no parameter of `construct`: a graph wants a value for each of those, also where one has a
default, as soon as it takes a gradient. `*rows, **named` would do in a graph, at the price of a
signature that names neither.
"""

from inspect import signature
from typing import Any

from mindspore import nn

from ..checks import refuse


class TakesLabelRows(nn.Cell):
    """A Cell with step_rows as its last input."""

    def __call__(self, *inputs: Any, label_rows: Any = None, **named: Any) -> Any:
        given = "step_rows" in named or len(inputs) == len(signature(self.construct).parameters)
        if given == (label_rows is not None):
            got = "both 'step_rows' and 'label_rows', its earlier name" if given else "none"
            refuse(type(self).__name__, TypeError, "step_rows", "a Tensor", got)
        if label_rows is not None:
            named["step_rows"] = label_rows
        return super().__call__(*inputs, **named)
