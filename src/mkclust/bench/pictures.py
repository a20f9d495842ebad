"""Style and files of figures for print: column widths, black on white, PNG and SVG."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from ..io.atomic import replacing

SINGLE, DOUBLE = 3.35, 7.0  # inches: one column, two columns
POINTS = 8  # font size
DPI = 300
INKS = ("#000000", "#1f5a96", "#c2571a", "#6b6b6b")  # they differ in lightness, too
LINES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))
MARKS = ("o", "s", "^", "D")

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
