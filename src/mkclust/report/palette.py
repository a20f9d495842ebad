"""Colours that people with any colour vision can tell apart, and shapes for when they run out."""

from __future__ import annotations

# Paul Tol's "muted" scheme and a grey; on dark ground its darkest tones are lifted.
LIGHT = (
    "#332288", "#CC6677", "#117733", "#88CCEE", "#882255",
    "#DDAA33", "#44AA99", "#AA4499", "#999933", "#66717D",
)  # fmt: skip
DARK = (
    "#8F7FE8", "#E08A97", "#3FAE62", "#88CCEE", "#D05A90",
    "#E3C05A", "#44BBAA", "#CF7CC4", "#B8B84A", "#A9B4BF",
)  # fmt: skip
SHAPES = ("circle", "triangle", "rect", "diamond", "arrow")  # as the chart library calls them
MARKERS = ("o", "^", "s", "D", "v")  # the same for matplotlib

HEAT_LIGHT = ("#f7fafd", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
HEAT_DARK = ("#141c26", "#173f66", "#2a78b5", "#7dbbe3", "#eef6fc")


def style(cluster: int) -> tuple[str, str]:
    """Colour and matplotlib marker: ten colours, then the same colours with another shape.

    >>> style(0), style(10)
    (('#332288', 'o'), ('#332288', '^'))
    """
    lap, place = divmod(cluster, len(LIGHT))
    return LIGHT[place], MARKERS[lap % len(MARKERS)]
