# SPDX-License-Identifier: Apache-2.0
"""The workers of mindspore.dataset: order, early ends, errors as they were raised."""

import time

import mindspore.dataset as ds
import numpy as np
import pytest

from mindspore_rnnt.recipe.data import pipeline


class Numbers:
    """A source of batches that hold their epoch and step; later ones take less time."""

    steps_per_epoch = 6

    def __init__(self, bad=None, error=None):
        self.bad, self.error = bad, error

    def batch(self, epoch, step):
        time.sleep(0.01 * (self.steps_per_epoch - step))
        if step == self.bad:
            raise self.error
        arrays = {name: np.full(step + 1, epoch, np.int32) for name in pipeline.COLUMNS}
        return arrays | {"lost": [("a", "torn"), ("b", "")] if step == 2 else []}


@pytest.mark.parametrize("workers", [1, 2, 99])
@pytest.mark.parametrize("start", [0, 4, 6, 9])
def test_batches_come_in_order_from_any_step(workers, start):
    found = list(pipeline.batches(Numbers(), 3, start, workers))
    assert [len(batch["features"]) for batch in found] == list(range(start + 1, 7))
    assert all(set(batch["targets"].tolist()) == {3} for batch in found)
    lost = [batch["lost"] for batch in found]
    assert [item for item in lost if item] == ([[("a", "torn"), ("b", "")]] if start <= 2 else [])


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("bad value of u7"), ValueError),
        (RuntimeError("no more"), RuntimeError),
        (FileNotFoundError("gone"), RuntimeError),
    ],
)
def test_an_error_has_its_own_words(error, kind):
    rows, found = pipeline.batches(Numbers(3, error), 0, 0, 2), []
    with pytest.raises(kind) as raised:
        found.extend(rows)
    assert type(raised.value) is kind and str(raised.value) == str(error)


def test_an_epoch_can_be_left_and_the_settings_of_the_process_stay():
    before = ds.config.get_prefetch_size(), ds.config.get_multiprocessing_start_method()
    rows = pipeline.batches(Numbers(), 0, 0, 2)
    assert len(next(rows)["features"]) == 1
    rows.close()
    assert (ds.config.get_prefetch_size(), ds.config.get_multiprocessing_start_method()) == before
    assert len(list(pipeline.batches(Numbers(), 0, 0))) == 6
