# SPDX-License-Identifier: Apache-2.0
"""The posteriors of a lattice's arcs, for a device without the operator RnntArcPosteriors."""

from collections.abc import Callable

from mindspore import Tensor

from .row_labels import at_least


def arc_posteriors_of(lattice: Callable) -> Callable:
    """The operator as a composition with RnntLattice."""

    def arc_posteriors(
        stats: Tensor,
        logit_lengths: Tensor,
        target_lengths: Tensor,
        least_loss: Tensor,
        params: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        loss, coefficients = lattice(stats, logit_lengths, target_lengths, params)
        return at_least(loss, least_loss), coefficients[..., 1], coefficients[..., 2]

    return arc_posteriors
