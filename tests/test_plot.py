# SPDX-License-Identifier: Apache-2.0
"""plot.lattice: what is drawn is what was given; labels in any script; errors."""

import doctest
import subprocess
import sys
import warnings

import numpy as np
import pytest
from matplotlib import font_manager
from mindspore import Tensor

from mindspore_rnnt import plot, rnnt_align, rnnt_posteriors
from mindspore_rnnt.reference import rnnt_posteriors_reference

T, U = np.int32([6, 4]), np.int32([3, 2])
TARGETS = np.int32([[1, 2, 3], [4, 5, 0]])


@pytest.fixture(scope="module")
def batch():
    logits = np.random.default_rng(0).normal(0, 2, (2, 6, 4, 7)).astype(np.float32)
    return logits, TARGETS, T, U


@pytest.fixture(scope="module")
def drawn(batch):
    tensors = tuple(map(Tensor, batch))
    return rnnt_posteriors(*tensors, blank=0), rnnt_align(*tensors, blank=0)


@pytest.fixture
def no_cjk_font(monkeypatch):
    default = font_manager.FontProperties().get_name()
    fonts = [entry for entry in font_manager.fontManager.ttflist if entry.name == default]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", fonts)


@pytest.mark.parametrize("b", [0, 1])
def test_heat_map_is_the_occupation_of_the_samples_cells(batch, drawn, b):
    axes = plot.lattice(drawn[0], sample=b).axes[0]
    _, blank, label = rnnt_posteriors_reference(*batch, blank=0)
    expected = (blank + label)[b, : T[b], : U[b] + 1]
    (image,) = axes.images
    assert np.abs(image.get_array() - expected.T).max() < 2e-6
    assert image.get_extent() == [-0.5, T[b] - 0.5, -0.5, U[b] + 0.5]
    assert image.origin == "lower" and image.get_clim() == (0, 1)
    assert not axes.lines
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("frame", "labels emitted")


@pytest.mark.parametrize("b", [0, 1])
@pytest.mark.parametrize("frame_ms", [None, 40])
def test_path_goes_up_in_the_frames_of_the_alignment(drawn, b, frame_ms):
    figure = plot.lattice(*drawn, sample=b, frame_ms=frame_ms)
    axes, step = figure.axes[0], frame_ms or 1
    frames = drawn[1].frames.asnumpy()[b, : U[b]]
    path, labels = (line.get_xydata() for line in axes.lines)
    assert labels.tolist() == [[t * step, u + 1] for u, t in enumerate(frames)]
    corners = [[0, 0]]
    for u, t in enumerate(frames):
        corners += [[t * step, u], [t * step, u + 1]]
    assert path.tolist() == [*corners, [(T[b] - 1) * step, U[b]]]
    assert axes.get_xlabel() == ("time, ms" if frame_ms else "frame")
    assert axes.images[0].get_extent()[1] == (T[b] - 0.5) * step


@pytest.mark.parametrize("tokens, shown", [("αβγ", "αβγ"), (TARGETS[1], "45"), (["ü", "ch"], None)])
def test_tokens_stand_beside_the_steps(drawn, no_cjk_font, tmp_path, tokens, shown):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = plot.lattice(*drawn, sample=1, tokens=tokens)
        figure.savefig(tmp_path / "lattice.png")
    axes = figure.axes[0]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert axes.get_yticks().tolist() == [0, 1, 2]
    assert names == ["start", *(shown or tokens)[:2]]
    assert axes.get_ylabel() == "last label emitted"


def test_without_a_font_labels_are_code_points_with_one_warning(drawn, no_cjk_font, tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = plot.lattice(*drawn, tokens=["泵", "é", "a记录"])
        figure.savefig(tmp_path / "lattice.png")
    (warning,) = caught
    assert "has 泵记录, so" in str(warning.message) and "fonts-noto-cjk" in str(warning.message)
    assert warning.filename == __file__
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == ["start", "U+6CF5", "é", "a U+8BB0 U+5F55"]


def test_a_cjk_font_is_taken_for_the_characters_it_has(drawn, monkeypatch):
    family = "Noto Sans CJK SC"
    fonts = [font_manager.FontEntry(fname=family, name=family), *font_manager.fontManager.ttflist]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", fonts)
    # A font is its file's name here.
    monkeypatch.setattr(
        plot, "_characters", lambda path: set(map(ord, "abc泵" if path == family else "abc"))
    )
    default = font_manager.FontProperties().get_name()
    assert plot.font_of("泵 a") == (family, "")
    assert plot.font_of("ab") == (default, "")
    assert plot.font_of("记") == (default, "记")
    assert plot.font_of("泵记a记") == (family, "记")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes = plot.lattice(*drawn, sample=1, tokens="泵a").axes[0]
    shown = axes.get_yticklabels()[1]
    assert (shown.get_text(), shown.get_fontfamily()) == ("泵", [family])


def test_readable():
    assert plot.readable("记", "记录", {"记": "ji"}) == "ji"
    assert plot.readable("记", "记录", {}) == "U+8BB0"
    assert plot.readable("a", "记录", {}) == "a"
    assert plot.readable("记", "", {"记": "ji"}) == "记"


def test_no_labels():
    """U = 0: one row, and a path along it."""
    blank = np.ones((1, 3, 1), np.float32)
    axes = plot.lattice((None, blank, 0 * blank), (np.zeros((1, 0), np.int32),), tokens=[]).axes[0]
    path, labels = (line.get_xydata() for line in axes.lines)
    assert path.tolist() == [[0, 0], [2, 0]] and labels.shape == (0, 2)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"sample": 2}, r"'sample' must be in \[0, 2\), but got 2"),
        ({"sample": -1}, r"'sample' must be in \[0, 2\), but got -1"),
        ({"tokens": "ab"}, "'tokens' must have the 3 labels of sample 0, but got 2"),
        ({"frame_ms": 0}, "'frame_ms' must be positive and finite, but got 0"),
        ({"alignment": (np.int32([[0, 1]] * 2),)}, r"its 3 labels, but got shape \(2, 2\)"),
        (
            {"alignment": (np.int32([[0, 1, 6]] * 2),)},
            r"6 frames and 3 labels there, .*\[0, 1, 6\]",
        ),
        ({"alignment": (np.int32([[0, 1, 2]] * 2),), "sample": 1}, "4 frames and 2 labels there"),
        ({"posteriors": (0, np.zeros(32), np.zeros(32))}, "must be padded.*unpack_logits"),
        ({"posteriors": (0, np.zeros((2, 3)), np.zeros((2, 3)))}, r"but got \(2, 3\) and \(2, 3\)"),
        ({"posteriors": (0, *np.zeros((2, 1, 3, 2)))}, "sample 0 has no possible path"),
        ({"posteriors": (0, *np.full((2, 1, 3, 2), np.nan))}, "of sample 0 are NaN"),
    ],
)
def test_errors(drawn, change, message):
    arguments = {"posteriors": drawn[0], "alignment": drawn[1], **change}
    if "posteriors" in change:
        arguments["alignment"] = None
    with pytest.raises(ValueError, match=f"For 'plot.lattice', .*{message}"):
        plot.lattice(**arguments)


def test_missing_matplotlib_names_the_extra(drawn, monkeypatch):
    monkeypatch.setattr("mindspore_rnnt.tools.command.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="matplotlib of the extra 'bench' must be installed"):
        plot.lattice(*drawn)


def test_import_needs_no_matplotlib():
    heavy = {"matplotlib", "mindspore"}
    code = f"import sys, mindspore_rnnt.plot; assert not {heavy} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_example():
    done = doctest.testmod(plot)
    assert done.attempted and not done.failed
