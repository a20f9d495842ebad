"""Convert the docstrings of this package to what napoleon and docutils understand.

Parameters that a docstring leaves to a base class ("See KernelClusterer.") are filled in. Sections
with items end at the first empty line; text after it becomes a section "Notes". Fitted attributes
become a list, because docutils takes a trailing underscore for a link.
"""

import inspect
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from mkclust.base import KernelClusterer, MultiViewClusterer
from mkclust.baselines.base import ComparedMethod

BASES = {base.__name__: base for base in (MultiViewClusterer, KernelClusterer, ComparedMethod)}
SHARED = re.compile(
    rf"^([a-z_]+(?:, [a-z_]+)*)\n {{4}}See ({'|'.join(BASES)})[.;](.*)$", re.MULTILINE
)
PAGE = re.compile(r"docs/([\w-]+)\.md")
FITTED = r"(?<![\w`*.])([a-z]\w*_)(?![\w`*(])"


def with_shared_parameters(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Replace "See KernelClusterer." by what that class says about the parameters."""
    lines[:] = filled("\n".join(lines)).split("\n")


def filled(text: str) -> str:
    """Return a docstring with the parameters of base classes written out.

    >>> text = filled("n_init, random_state\\n    See KernelClusterer.")
    >>> print(text.splitlines()[0])
    n_init : int
    """

    def items(found: re.Match[str]) -> str:
        known = parameters(filled(inspect.getdoc(BASES[found[2]]) or ""))
        names = found[1].split(", ")
        if not known.keys() >= set(names):  # attributes
            return found[0]
        return "\n".join(dict.fromkeys(known[name] for name in names)) + found[3]

    return SHARED.sub(items, text)


def parameters(text: str) -> dict[str, str]:
    """Return the items of the section Parameters by name; one item may have several names."""
    section = re.search(r"^Parameters\n-+\n(.+?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    items = re.split(r"\n(?=\w)", section[1]) if section else []
    return {name: item for item in items for name in item.split(" : ")[0].split(", ")}


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
    """Mark names such as labels_ in running text as code, and link pages."""
    for i, line in enumerate(lines):
        field = re.match(r" *(:[^:]*:|\.\. .*$)?", line)
        head, text = line[: field.end()], line[field.end() :]
        text = PAGE.sub(r":doc:`/\1`", text)
        lines[i] = head + re.sub(FITTED, r"``\1``", text)


def with_dashes(app: Sphinx, page: nodes.document) -> None:
    """Put a dash between a parameter and its description, where Sphinx puts two hyphens."""
    for text in list(page.findall(nodes.Text)):
        if text.astext() == " -- ":
            text.parent.replace(text, nodes.Text(" – "))


def _underlines(lines: list[str], i: int) -> bool:
    return i < len(lines) and re.fullmatch(r" *-{3,}", lines[i]) is not None


def _bullet(line: str) -> str:
    if line.startswith(" "):
        return line
    names, colon, text = line.partition(" : ")
    return f"- {names}: {text}" if colon else f"- {names}"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", with_shared_parameters, priority=200)
    # napoleon comes at 500; formulas in between have to be whole paragraphs.
    app.connect("autodoc-process-docstring", with_sections, priority=300)
    app.connect("autodoc-process-docstring", with_names, priority=600)
    app.connect("doctree-read", with_dashes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
