"""Figures for print: their style and files, and the critical-difference diagram.

They need matplotlib: ``pip install mkclust[plot]``. The diagram is that of J. Demšar, Statistical
Comparisons of Classifiers over Multiple Data Sets, JMLR 7, 2006.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..io.atomic import replacing
from .ranks import alike, average_ranks, critical_difference

SINGLE, DOUBLE = 3.35, 7.0  # inches: one column, two columns
POINTS = 8  # font size
DPI = 300
INKS = ("#000000", "#1f5a96", "#c2571a", "#6b6b6b")  # they differ in lightness, too
LINES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))
MARKS = ("o", "s", "^", "D")
LETTER = 0.075  # inches: average width of a letter, for the names beside the scale
ABOVE = 0.5  # inches above the scale, for its numbers and the critical difference
STEP = 0.17  # inches between two names
RUN = 0.08  # inches between two bars that join methods
THIN, THICK = 0.6, 2.2
LINE = {"color": "black", "linewidth": THIN, "clip_on": False}
STYLE: Any = {
    "font.size": POINTS,
    "axes.titlesize": POINTS,
    "axes.labelsize": POINTS,
    "xtick.labelsize": POINTS,
    "ytick.labelsize": POINTS,
    "legend.fontsize": POINTS,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.0,
    "lines.markersize": 3.5,
    "hatch.linewidth": 0.4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "mkclust",  # the same figure gives the same file
}


@contextmanager
def for_print(width: float, height: float, **layout: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a figure of the given size in inches and its axes, as ``plt.subplots`` returns them.

    No window is opened, and the global settings of matplotlib do not change.
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("figures need matplotlib: pip install 'mkclust[plot]'") from None
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure, figure.subplots(**layout)


def saved(figure: Any, folder: str | Path, name: str) -> list[Path]:
    """Write NAME.png and NAME.svg into the folder, each atomically; return the paths."""
    import matplotlib

    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    paths = [target / f"{name}.png", target / f"{name}.svg"]
    for path in paths:
        stamp = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        with replacing(path) as file, matplotlib.rc_context(STYLE):
            figure.savefig(file, format=path.suffix[1:], dpi=DPI, metadata=stamp)
    return paths


def rank_figure(names: Sequence[str], scores: np.ndarray) -> Any:
    """Draw methods by average rank; a bar joins those within the critical difference.

    Parameters
    ----------
    names : sequence of m str
    scores : (data sets, m) array
        Larger is better; NaN, where there is no result, ranks last.
    """
    n, m = scores.shape
    if m < 2 or n < 2:
        raise InputError(f"ranks need 2 methods on 2 data sets, got {m} on {n}")
    ranks = average_ranks(scores)
    order = np.argsort(ranks, kind="stable")
    difference = critical_difference(m, n)
    runs = alike(ranks, difference)
    first_name = 0.2 + RUN * len(runs)
    height = ABOVE + first_name + STEP * ((m + 1) // 2)
    with for_print(DOUBLE, height) as (figure, ax):
        figure.set_layout_engine("none")
        ax.set_position((0, 0, 1, 1))
        ax.set_axis_off()
        margin = LETTER * (max(map(len, names)) + 7)
        wide = margin * (m - 1) / (DOUBLE - 2 * margin)
        ax.set(xlim=(1 - wide, m + wide), ylim=(ABOVE - height, ABOVE))  # y in inches
        _scale(ax, m, difference)
        for level, (first, last) in enumerate(runs):
            y = -0.1 - RUN * level
            ends = ranks[order[first]] - 0.05, ranks[order[last]] + 0.05
            ax.plot(ends, (y, y), color="black", linewidth=THICK, gid="alike",
                    solid_capstyle="butt")  # fmt: skip
        _stems(ax, [names[j] for j in order], ranks[order], first_name, wide)
    return figure


def _scale(ax: Any, m: int, difference: float) -> None:
    """Draw ranks from 1 to m at y = 0, and above them the critical difference as a length."""
    ax.plot((1, m), (0, 0), **LINE)
    every = 1 if m <= 16 else 2
    for rank in range(1, m + 1):
        ax.plot((rank, rank), (0, 0.05), **LINE)
        if (rank - 1) % every == 0:
            ax.text(rank, 0.07, str(rank), ha="center", va="bottom")
    ax.plot((1, 1 + difference), (0.28, 0.28), **LINE)
    for end in (1, 1 + difference):
        ax.plot((end, end), (0.25, 0.31), **LINE)
    ax.text(1 + difference / 2, 0.31, f"CD = {difference:.2f}", ha="center", va="bottom")


def _stems(ax: Any, names: Sequence[str], ranks: np.ndarray, first: float, wide: float) -> None:
    """Draw names at both sides, the outermost rank at the top, so that no lines cross."""
    m = len(names)
    left = (m + 1) // 2
    gap = wide * 0.06
    for place, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        on_left = place < left
        y = -first - STEP * (place if on_left else m - 1 - place)
        edge = 1 - gap if on_left else m + gap
        ax.plot((rank, rank, edge), (0, y, y), **LINE)
        text = f"{name}  {rank:.2f}" if on_left else f"{rank:.2f}  {name}"
        side = "right" if on_left else "left"
        ax.text(edge + (-gap if on_left else gap) / 2, y, text, ha=side, va="center")
