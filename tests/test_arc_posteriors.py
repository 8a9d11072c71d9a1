# SPDX-License-Identifier: Apache-2.0
"""The operator RnntArcPosteriors beside the composition for devices without it."""

import numpy as np
import pytest
from kernel.launch import row_stats
from mindspore import Tensor
from modes import MODES, run
from oracles import labels_of, random_batch

from mindspore_rnnt.arc_posteriors import arc_posteriors_of
from mindspore_rnnt.kernels import get_ops
from mindspore_rnnt.native import pack_params


@pytest.mark.parametrize("mode", MODES)
def test_the_composition_gives_the_operators_bits(mode):
    batch = random_batch([(5, 3), (1, 0), (7, 2)], V=7, seed=3)
    stats = row_stats(batch.padded(2, 1), labels_of(batch, 2, 1))
    least_loss = np.float32([0, 1e6, np.nan])
    lengths = [batch.logit_lengths, batch.target_lengths]
    inputs = [stats, *lengths, least_loss, Tensor(pack_params())]
    composed, one = (
        run(function, inputs, mode)
        for function in (arc_posteriors_of(get_ops().lattice), get_ops().arc_posteriors)
    )
    assert np.array_equal(composed[0], one[0], equal_nan=True) and one[0][1] == 1e6
    for got, wanted in zip(composed[1:], one[1:]):
        assert np.array_equal(got[:2], wanted[:2]) and not wanted[2].any()
