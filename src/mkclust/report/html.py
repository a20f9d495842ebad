"""Elements of HTML; everything that comes from data is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class Raw(str):
    """Text that is already HTML."""


def text(value: object) -> str:
    """Escape a value, unless it is HTML already.

    >>> text("<b>"), text(Raw("<b>"))
    ('&lt;b&gt;', '<b>')
    """
    return str(value) if isinstance(value, Raw) else escape(str(value))


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], numeric: Sequence[int], caption: str
) -> Raw:
    """Return a table that scrolls sideways where it is too wide.

    The columns `numeric` are aligned right; the first cell of a row is its header.
    """

    def line(values: Sequence[object], scope: str = "") -> str:
        cells = ""
        for i, value in enumerate(values):
            heading = scope or ("row" if i == 0 else "")
            start = f'th scope="{heading}"' if heading else "td"
            right = ' class="number"' if i in numeric else ""
            cells += f"<{start}{right}>{text(value)}</{start[:2]}>"
        return f"<tr>{cells}</tr>"

    body = "\n".join(map(line, rows))
    return Raw(
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption><span>{text(caption)}</span></caption>"
        f"<thead>{line(head, 'col')}</thead>\n<tbody>{body}</tbody></table></div>"
    )


def bar(share: float, shown: str, tone: str = "main") -> Raw:
    """Return a number with a bar beside it, whose length is a share from 0 to 1.

    >>> bar(0.5, "0.50")
    '<span class="bar-cell main"><b>0.50</b><i style="width:50.0%"></i></span>'
    """
    width = 100 * min(max(share, 0.0), 1.0)
    return Raw(
        f'<span class="bar-cell {tone}"><b>{text(shown)}</b><i style="width:{width:.1f}%"></i>'
        "</span>"
    )


def badge(word: str) -> Raw:
    """Return one word in a frame, styled by that word."""
    return Raw(f'<span class="badge {escape(word)}">{text(word)}</span>')


def paragraph(value: object, style: str = "") -> Raw:
    named = f' class="{style}"' if style else ""
    return Raw(f"<p{named}>{text(value)}</p>")


def listing(lines: Iterable[object]) -> Raw:
    items = "".join(f"<li>{text(line)}</li>" for line in lines)
    return Raw(f"<ul>{items}</ul>")


def chart(name: str, label: str, height: int, caption: str = "") -> Raw:
    """Return a place for the script to draw in; `label` describes the chart to screen readers."""
    below = f"<figcaption>{text(caption)}</figcaption>" if caption else ""
    return Raw(
        f'<figure><div class="chart" id="chart-{name}" role="img" aria-label="{escape(label)}" '
        f'style="height:{height}px"></div>{below}</figure>'
    )


def grid(name: str) -> Raw:
    """Return a place for small charts side by side, which the script fills."""
    return Raw(f'<div class="multiples" id="grid-{name}"></div>')


def section(name: str, title: str, parts: Iterable[str]) -> Raw:
    body = "\n".join(parts)
    return Raw(
        f'<section id="{name}" aria-labelledby="{name}-title">\n<h2 id="{name}-title">'
        f"{text(title)}</h2>\n{body}\n</section>"
    )
