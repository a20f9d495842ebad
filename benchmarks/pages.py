"""Fill measured tables into documentation pages, between comments that name them."""

from __future__ import annotations


def fill(page, name, lines):
    """Replace the text between ``<!-- name -->`` and ``<!-- /name -->`` in a page."""
    text = page.read_text(encoding="utf-8")
    head, rest = text.split(f"<!-- {name} -->\n")
    tail = rest[rest.index(f"<!-- /{name} -->") :]
    page.write_text(head + f"<!-- {name} -->\n" + "\n".join(lines) + "\n" + tail, encoding="utf-8")
