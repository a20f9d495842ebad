"""Convert the docstrings of this package to what napoleon and docutils understand.

Sections with items end at the first empty line; text after it becomes a section "Notes". Fitted
attributes become a list, because docutils takes a trailing underscore for a link.
"""

import re
from typing import Any

from sphinx.application import Sphinx

FITTED = r"(?<![\w`*.])([a-z]\w*_)(?![\w`*(])"


def with_sections(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """End sections with items at the first empty line, and make attributes a list."""
    if str(getattr(obj, "__module__", "")).startswith("sklearn"):
        return
    made: list[str] = []
    section = ""
    for i, line in enumerate(lines):
        if _underlines(lines, i + 1):
            section = line.strip()
        elif section in ("Parameters", "Attributes") and not line.strip():
            section = ""
            if not any(_underlines(lines, j) for j in (i + 2, i + 3)) and any(lines[i:]):
                made += ["", "Notes", "-----"]
                continue
        elif section == "Attributes" and not _underlines(lines, i):
            line = _bullet(line)
        made.append(line)
    lines[:] = made


def with_names(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Mark names such as labels_ in running text as code."""
    for i, line in enumerate(lines):
        field = re.match(r" *(:[^:]*:|\.\. .*$)?", line)
        head, text = line[: field.end()], line[field.end() :]
        lines[i] = head + re.sub(FITTED, r"``\1``", text)


def _underlines(lines: list[str], i: int) -> bool:
    return i < len(lines) and re.fullmatch(r" *-{3,}", lines[i]) is not None


def _bullet(line: str) -> str:
    if line.startswith(" "):
        return line
    names, colon, text = line.partition(" : ")
    return f"- {names}: {text}" if colon else f"- {names}"


def setup(app: Sphinx) -> dict[str, bool]:
    # napoleon comes at 500; formulas in between have to be whole paragraphs.
    app.connect("autodoc-process-docstring", with_sections, priority=300)
    app.connect("autodoc-process-docstring", with_names, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
