# SPDX-License-Identifier: Apache-2.0
"""Which samples of a batch have no finite loss. NumPy only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class NonfiniteSamples(NamedTuple):
    """Indices into the batch, both int64 and in ascending order."""

    nan: np.ndarray
    infinite: np.ndarray


def nonfinite_samples(losses: ArrayLike) -> NonfiniteSamples:
    """The samples whose loss is NaN, and those whose loss is infinite.

    A compiled graph cannot raise an error for the values of its inputs. Let it return the losses
    of ``reduction="none"`` beside their mean, and look at them outside of the graph.

    NaN: a logit of the sample is NaN or +inf, a label or a length does not fit, or, for all
    samples, the rows of a packed batch do not add up. Infinite: the sample is impossible, every
    path has probability 0.

    Args:
        losses (Tensor or array): of shape :math:`(B,)`.

    Returns:
        NonfiniteSamples, a pair of arrays: the indices ``nan`` and ``infinite`` .

    Raises:
        ValueError: If `losses` is not of rank 1.

    Examples:
        >>> import numpy as np
        >>> from mindspore_rnnt import nonfinite_samples
        >>> nonfinite_samples(np.array([2.5, np.nan, 7.0, np.inf]))
        NonfiniteSamples(nan=array([1]), infinite=array([3]))
    """
    values = losses.asnumpy() if hasattr(losses, "asnumpy") else np.asarray(losses)
    if values.ndim != 1:
        raise ValueError(
            "For 'nonfinite_samples', the 'losses' must be of shape (B,), as reduction='none' "
            f"gives them, but got shape {values.shape}."
        )
    return NonfiniteSamples(np.flatnonzero(np.isnan(values)), np.flatnonzero(np.isinf(values)))
