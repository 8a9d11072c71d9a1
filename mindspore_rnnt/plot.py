# SPDX-License-Identifier: Apache-2.0
"""Pictures of a lattice, with labels in any script. Needs matplotlib (extra 'bench')."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .tools.command import require_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .alignment import RnntAlignment
    from .posteriors import RnntPosteriors

# Parts of the names of font families with Chinese, Japanese or Korean characters.
_CJK_FONTS = ("CJK", "Han Sans", "Han Serif", "SimHei", "WenQuanYi", "YaHei", "Noto Sans SC")


def lattice(
    posteriors: RnntPosteriors,
    alignment: RnntAlignment | None = None,
    *,
    sample: int = 0,
    tokens: Sequence[Any] | None = None,
    frame_ms: float | None = None,
) -> Figure:
    """
    The lattice of one sample as a picture: the occupation of each cell (t, u), which is the
    probability that a path goes through it, and over it the most probable path.

    Args:
        posteriors (RnntPosteriors): padded ones, of :func:`mindspore_rnnt.rnnt_posteriors` or
            :func:`mindspore_rnnt.simple_posteriors` . The sample's lengths follow from them:
            occupation is 0 in padding only.
        alignment (RnntAlignment, optional): of :func:`mindspore_rnnt.rnnt_align` for the same
            batch. Default: ``None`` , no path.
        sample (int, optional): which of the batch. Default: ``0`` .
        tokens (Sequence, optional): the sample's labels in their order, as text or class numbers;
            what lies behind its length is not read. Characters that no installed font has are shown
            as code points, with a warning. Default: ``None`` , labels are counted.
        frame_ms (float, optional): milliseconds from one frame to the next. Default: ``None`` , the
            time axis has frames.

    Returns:
        matplotlib.figure.Figure, for a notebook or `savefig`; `figure.axes[0]` has the lattice.

    Raises:
        ImportError: If matplotlib is missing.
        ValueError: If the posteriors are packed, an argument does not fit the sample, or the sample
            has no possible path.

    Supported Platforms:
        ``Ascend`` ``CPU``

    Examples:
        >>> from mindspore import Tensor, ops
        >>> from mindspore_rnnt import plot, rnnt_align, rnnt_posteriors
        >>> batch = ops.zeros((1, 4, 3, 5)), Tensor([[1, 2]]), Tensor([4]), Tensor([2])
        >>> figure = plot.lattice(rnnt_posteriors(*batch), rnnt_align(*batch), tokens="ab")
        >>> print(figure.axes[0].get_xlabel())
        frame
    """
    require_extra("bench", "matplotlib")
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    occupation = _occupation(posteriors, sample)
    T, U1 = occupation.shape
    step = 1.0 if frame_ms is None else frame_ms
    if not 0 < step < np.inf:
        _refuse(f"'frame_ms' must be positive and finite, but got {frame_ms}.")
    path = None if alignment is None else _frames(alignment, sample, T, U1 - 1) * step
    names, font = _names(tokens, sample, U1 - 1)

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    # Row u is the state after u labels; a cell's middle is at (t, u).
    around = (-0.5 * step, (T - 0.5) * step, -0.5, U1 - 0.5)
    image = axes.imshow(
        occupation.T, origin="lower", aspect="auto", extent=around, vmin=0, vmax=1,
        interpolation="nearest",
    )  # fmt: skip
    figure.colorbar(image, ax=axes, label="occupation (probability)")
    if path is not None:
        # Up in the frame of each label: (0, 0), (t_0, 0), (t_0, 1), (t_1, 1), ..., (T - 1, U).
        steps = np.arange(U1)
        t = np.concatenate(([0], np.repeat(path, 2), [(T - 1) * step]))
        axes.plot(t, np.repeat(steps, 2), color="white", linewidth=1, label="path")
        axes.plot(path, steps[1:], "o", color="tab:red", markersize=4, label="labels")
    axes.set_xlabel("frame" if frame_ms is None else "time, ms")
    if names is None:
        axes.set_ylabel("labels emitted")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        axes.set_ylabel("last label emitted")
        axes.set_yticks(range(U1), ["start", *names], fontfamily=font)
    return figure


def font_of(text: str) -> tuple[str, str]:
    """The family of the installed font that has most of `text`, and the characters it lacks.

    It is matplotlib's default font or one for Chinese, Japanese and Korean.
    """
    from matplotlib import font_manager

    default = font_manager.FontProperties().get_name()
    fonts = [(default, str(font_manager.findfont(default)))]
    fonts += [
        (entry.name, str(entry.fname))
        for entry in font_manager.fontManager.ttflist
        if any(name in entry.name for name in _CJK_FONTS)
    ]
    best, least = "", text
    for family, path in fonts:
        known = _characters(path)
        lacks = "".join(c for c in dict.fromkeys(text) if not c.isspace() and ord(c) not in known)
        if not best or len(lacks) < len(least):
            best, least = family, lacks
        if not least:
            break
    return best, least


def readable(character: str, lacks: str, readings: Mapping[str, str]) -> str:
    """The character unless the font lacks it, else its reading, else its code point."""
    if character not in lacks:
        return character
    return readings.get(character, f"U+{ord(character):04X}")


def _characters(path: str) -> set[int]:
    from matplotlib import font_manager

    return set(font_manager.get_font(path).get_charmap())


def _occupation(posteriors: RnntPosteriors, sample: int) -> np.ndarray:
    """(T, U1), without padding. A path is in each frame and in each column: none adds up to 0."""
    blank, label = (_array(x) for x in posteriors[1:3])
    if blank.ndim == 1:
        _refuse(
            "'posteriors' must be padded, (B, max_T, max_U + 1): packed ones do not tell the "
            "lengths. Call rnnt_posteriors with padded logits, see unpack_logits."
        )
    if blank.ndim != 3 or blank.shape != label.shape:
        _refuse(
            "'posteriors' must have shape (B, max_T, max_U + 1), but got "
            f"{blank.shape} and {label.shape}."
        )
    if not 0 <= sample < len(blank):
        _refuse(f"'sample' must be in [0, {len(blank)}), but got {sample}.")
    occupation = blank[sample] + label[sample]
    if np.isnan(occupation).any():
        _refuse(f"the posteriors of sample {sample} are NaN.")
    T, U1 = ((occupation > 0).any(axis=axis).sum() for axis in (1, 0))
    if T == 0:
        _refuse(f"sample {sample} has no possible path: all its posteriors are 0.")
    return occupation[:T, :U1]


def _frames(alignment: RnntAlignment, sample: int, T: int, U: int) -> np.ndarray:
    frames = _array(alignment[0])
    if frames.ndim != 2 or not sample < len(frames) or frames.shape[1] < U:
        _refuse(
            f"'alignment' must have frames of shape (B, max_U) with sample {sample} and its {U} "
            f"labels, but got shape {frames.shape}."
        )
    of_sample = frames[sample, :U]
    if ((of_sample < 0) | (of_sample >= T)).any() or (frames[sample, U:] >= 0).any():
        _refuse(
            f"'alignment' is not of these posteriors: sample {sample} has {T} frames and {U} "
            f"labels there, but got frames {frames[sample].tolist()}."
        )
    return of_sample


def _names(
    tokens: Sequence[Any] | None, sample: int, U: int
) -> tuple[list[str] | None, str | None]:
    """What to write beside the steps, and the family of its font; warns if characters lack one."""
    if tokens is None:
        return None, None
    if len(tokens) < U:
        _refuse(f"'tokens' must have the {U} labels of sample {sample}, but got {len(tokens)}.")
    names = [str(token) for token in tokens[:U]]
    font, lacks = font_of("".join(names))
    if lacks:
        warnings.warn(
            f"plot.lattice: no installed font has {lacks}, so code points are shown. Install one, "
            "such as Debian's fonts-noto-cjk, and empty the folder matplotlib.get_cachedir().",
            stacklevel=3,
        )
        names = [_spelled(name, lacks) for name in names]
    return names, font


def _spelled(name: str, lacks: str) -> str:
    """Spaces around code points only."""
    parts = (f" {readable(c, lacks, {})} " if c in lacks else c for c in name)
    return " ".join("".join(parts).split())


def _array(x: Any) -> np.ndarray:
    return np.asarray(x.asnumpy() if hasattr(x, "asnumpy") else x)


def _refuse(message: str) -> None:
    raise ValueError(f"For 'plot.lattice', {message}")
