"""Convert formulas to MathML when the pages are built.

Browsers render MathML without a script or a network connection. Dollar signs mark formulas in
docstrings as in the pages.
"""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

log = logging.getLogger(__name__)


def mathml(node: nodes.Element, display: str) -> str:
    """Return a formula as MathML; an unknown command is a warning, which fails the build."""
    formula = re.sub(r"\\[lr]Vert\b", r"\\|", node.astext())  # not as high as a sum beside it
    if display == "block":
        formula = re.sub(r"\\(min|max)_", r"\\\1\\limits_", formula)  # below, as LaTeX has it
    made = str(convert(formula, display=display))
    if unknown := re.findall(r">(\\\w+)<", made):
        log.warning("formula with unknown %s", ", ".join(unknown), location=node)
    return made


def inline_formula(writer: Any, node: nodes.Element) -> None:
    writer.body.append(mathml(node, "inline"))
    raise nodes.SkipNode


def block_formula(writer: Any, node: nodes.Element) -> None:
    writer.body.append(f'<div class="formula">{mathml(node, "block")}</div>')
    raise nodes.SkipNode


def with_formulas(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Replace the dollar signs of a docstring by the role and the directive of Sphinx."""
    text = re.sub(r"^( *)\$\$(.+?)\$\$", _block, "\n".join(lines), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"(?<![\\$\w`])\$([^$`]+?)\$(?![\w`])", _inline, text)
    lines[:] = text.split("\n")


def _block(found: re.Match[str]) -> str:
    indent, formula = found.groups()
    return f"\n{indent}.. math:: {' '.join(formula.split())}\n\n{indent}"


def _inline(found: re.Match[str]) -> str:
    return rf":math:`{' '.join(found.group(1).split())}`\ "


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline_formula, None), (block_formula, None))
    # Before napoleon, at 500, which moves paragraphs.
    app.connect("autodoc-process-docstring", with_formulas, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
