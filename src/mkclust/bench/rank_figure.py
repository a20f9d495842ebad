"""The critical-difference diagram: average ranks on a line, joined where they hardly differ.

J. Demšar. Statistical Comparisons of Classifiers over Multiple Data Sets. JMLR 7, 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exceptions import InputError
from .pictures import DOUBLE, for_print
from .ranks import alike, average_ranks, critical_difference

LETTER = 0.075  # inches, on average: names stand beside the scale
ABOVE = 0.5  # inches over the scale, for numbers and the critical difference
STEP = 0.17  # inches between two names
RUN = 0.08  # inches between two bars that join methods
THIN, THICK = 0.6, 2.2
LINE = {"color": "black", "linewidth": THIN, "clip_on": False}


def rank_figure(names: Sequence[str], scores: np.ndarray) -> Any:
    """Methods by average rank, best on the left; a bar joins those within the critical difference.

    Parameters
    ----------
    names : m methods
    scores : (data sets, m), larger is better, NaN where there is no result, which ranks last
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
    """Ranks from 1 to m at y = 0, and over it the critical difference as a length."""
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
    """Names at both sides; the outermost rank has the uppermost name, so that no lines cross."""
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
