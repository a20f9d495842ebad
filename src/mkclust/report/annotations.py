"""The section about clinical columns: tests, and survival curves as a drawing."""

from __future__ import annotations

import numpy as np

from ..inspection.annotations import Annotations
from ..inspection.survival import Curve, Survival
from . import palette, words
from .html import Raw, listing, paragraph, section, table, text
from .subject import Subject, shortened
from .words import number

WIDTH, HEIGHT, LEFT, BELOW = 640, 320, 48, 40  # of the drawing, in pixels
DASHES = ("", "6 3", "2 3", "8 3 2 3")
NAMES = {"holm": "Holm", "bh": "Benjamini and Hochberg"}


def clinical(subject: Subject) -> Raw:
    """Return the columns compared with the clusters, and the survival of the clusters."""
    found = subject.annotations
    if found is None:
        return Raw("")
    parts: list[str] = [paragraph(words.sentence(str(found)))]
    if found.comparisons:
        parts.append(_tests(found))
    if found.survival is not None:
        parts += [_curves(found.survival), _medians(found.survival)]
    if found.skipped:
        parts += ["<h3>Not compared</h3>", listing(found.skipped)]
    hint = (
        "The columns were not used for clustering. Categories: chi-squared test, effect is "
        "Cramér's V. Numbers: Kruskal-Wallis test, effect is epsilon squared. Survival: log-rank "
        f"test. Corrected over all columns by {NAMES[found.correction]}."
    )
    return section("annotations", "Annotations", [*parts, paragraph(hint, "hint")])


def _tests(found: Annotations) -> Raw:
    head = ["column", "test", "samples", "statistic", "effect", "p", "corrected p", ""]
    rows = [
        [shortened(each.column), each.test, each.samples, number(each.statistic, 2),
         number(each.effect, 2), f"{each.p:.2g}", f"{each.p_adjusted:.2g}", each.note]
        for each in found.comparisons
    ]  # fmt: skip
    return table(head, rows, range(2, 7), "Columns compared with the clusters")


def _medians(found: Survival) -> Raw:
    rows = [
        [f"cluster {each.cluster}", each.samples, each.events,
         number(each.median, 1) if np.isfinite(each.median) else "not reached"]
        for each in found.curves
    ]  # fmt: skip
    head = ["", "samples", "events", "median survival"]
    return table(head, rows, [1, 2, 3], "Survival of clusters")


def _curves(found: Survival) -> Raw:
    """Draw the Kaplan-Meier curves as steps; colors and dashes tell the clusters apart."""
    last = max(float(each.times[-1]) for each in found.curves) or 1.0
    lines = "".join(_line(each, last) for each in found.curves)
    ticks = "".join(
        f'<text x="{_x(t, last):.0f}" y="{HEIGHT - BELOW + 16}" text-anchor="middle">{t:g}</text>'
        for t in _round_steps(last)
    ) + "".join(
        f'<text x="{LEFT - 6}" y="{_y(s) + 4:.0f}" text-anchor="end">{s:g}</text>'
        for s in (0, 0.25, 0.5, 0.75, 1)
    )
    label = (
        f"Kaplan-Meier curves of {len(found.curves)} clusters, log-rank p = {found.p:.2g}; the "
        "table has the numbers."
    )
    frame = f"M{LEFT} {_y(1):.0f}V{_y(0):.0f}H{WIDTH - 10}"
    return Raw(
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(label)}" '
        'style="max-width:640px;width:100%;font-size:12px;fill:currentColor">'
        f'<path d="{frame}" fill="none" stroke="currentColor"/>{ticks}{lines}'
        f'<text x="{WIDTH / 2:.0f}" y="{HEIGHT - 4}" text-anchor="middle">time</text></svg>'
        f"<figcaption>Share of samples without an event by cluster (Kaplan-Meier); log-rank "
        f"p = {found.p:.2g}.</figcaption></figure>"
    )


def _line(curve: Curve, last: float) -> str:
    color = palette.style(curve.cluster)[0]
    dash = DASHES[curve.cluster % len(DASHES)]
    x, y = [_x(t, last) for t in curve.times], [_y(s) for s in curve.survival]
    steps = f"M{x[0]:.1f} {y[0]:.1f}" + "".join(
        f"H{a:.1f}V{b:.1f}" for a, b in zip(x[1:], y[1:], strict=True)
    )
    return (
        f'<path d="{steps}" fill="none" stroke="{color}" stroke-width="2" '
        f'stroke-dasharray="{dash}"/><text x="{x[-1] + 6:.0f}" y="{y[-1] + 4:.0f}">'
        f"cluster {curve.cluster}</text>"
    )


def _x(time: float, last: float) -> float:
    return LEFT + (WIDTH - 90 - LEFT) * time / last


def _y(share: float) -> float:
    return 10 + (HEIGHT - BELOW - 10) * (1 - share)


def _round_steps(last: float) -> list[float]:
    """Return about five round numbers from 0 on.

    >>> _round_steps(4500.0)
    [0.0, 1000.0, 2000.0, 3000.0, 4000.0]
    """
    step = 10.0 ** np.floor(np.log10(last))
    step *= next(
        factor for factor in (0.1, 0.2, 0.5, 1.0) if last / (factor * step) <= 6 or factor == 1.0
    )
    return [float(t) for t in np.arange(0, last + step / 100, step)]
