# SPDX-License-Identifier: Apache-2.0
"""Learning curves are drawn, with and without error rates."""

import matplotlib.image

from mindspore_rnnt.recipe.training.curves import learning_curves


def test_curves(tmp_path):
    steps = [{"step": i, "loss": 100.0 / (i + 1)} for i in range(50)]
    epochs = [{"step": 25, "CER clean": 0.9}, {"step": 50, "CER clean": 0.2, "CER 5 dB": 0.3}]
    learning_curves(steps, epochs, tmp_path / "curves.png")
    assert matplotlib.image.imread(tmp_path / "curves.png").shape[:2] == (480, 960)
    learning_curves(steps, [], tmp_path / "no_rates.png")
