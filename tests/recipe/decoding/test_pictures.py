# SPDX-License-Identifier: Apache-2.0
"""Emissions are drawn, with a Chinese font and without one, and no glyph is missing."""

import warnings

import matplotlib.image
import numpy as np

from mindspore_rnnt.recipe.decoding import pictures


def test_emissions_mark_every_character(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "font_of", lambda text: ("DejaVu Sans", "记录"))
    features = np.random.default_rng(0).standard_normal((198, 80))
    arguments = (features, 0.01, "记录X")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a missing glyph is a warning of matplotlib's
        path, noise = tmp_path / "a.png", "5 dB"
        pictures.emissions(*arguments, [0.4, 0.8, 1.2], "记录", {"记": "ji"}, path, noise)
        pictures.emissions(*arguments, [], "", {}, tmp_path / "nothing.png")
    marked = matplotlib.image.imread(tmp_path / "a.png")
    empty = matplotlib.image.imread(tmp_path / "nothing.png")
    # Columns of pixels that change over the spectrogram's whole height are the marks' lines.
    changed = np.abs(marked[100:380, :, :3] - empty[100:380, :, :3]).max(axis=2) > 0.02
    columns = np.flatnonzero(changed.mean(axis=0) > 0.95)
    print("columns", columns)
    assert 1 + (np.diff(columns) > 5).sum() == 3


def test_labels_do_not_cover_each_other():
    assert pictures.lines([], 2) == []
    assert pictures.lines([1, 1, 2, 3, 4, 9], 2) == [0, 1, 2, 0, 1, 0]
