"""Colors that can be distinguished with any color vision, and shapes for more than ten clusters."""

from __future__ import annotations

# Paul Tol's "muted" scheme and a gray; on dark ground its darkest tones are lighter.
LIGHT = (
    "#332288", "#CC6677", "#117733", "#88CCEE", "#882255",
    "#DDAA33", "#44AA99", "#AA4499", "#999933", "#66717D",
)  # fmt: skip
DARK = (
    "#8F7FE8", "#E08A97", "#3FAE62", "#88CCEE", "#D05A90",
    "#E3C05A", "#44BBAA", "#CF7CC4", "#B8B84A", "#A9B4BF",
)  # fmt: skip
SHAPES = ("circle", "triangle", "rect", "diamond", "arrow")  # names of the chart library
MARKERS = ("o", "^", "s", "D", "v")  # names of matplotlib

HEAT_LIGHT = ("#f7fafd", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
HEAT_DARK = ("#141c26", "#173f66", "#2a78b5", "#7dbbe3", "#eef6fc")


def style(cluster: int) -> tuple[str, str]:
    """Return a color and a matplotlib marker: ten colors, then the same with another marker.

    >>> style(0), style(10)
    (('#332288', 'o'), ('#332288', '^'))
    """
    lap, place = divmod(cluster, len(LIGHT))
    return LIGHT[place], MARKERS[lap % len(MARKERS)]
