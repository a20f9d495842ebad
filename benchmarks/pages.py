"""Fill the tables of docs/leaderboard.md and README.md from the table of results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from .figures import draw
from .runner import read_table
from .suites import FAMILIES
from .tables import average_ranks, markdown, missing_reasons, ranked, scoreboard, standing, title

ROOT = Path(__file__).resolve().parent.parent
PAGE, README = ROOT / "docs" / "leaderboard.md", ROOT / "README.md"
SHOWN = {  # methods of the table of README.md, with what they are
    "graph-fusion": "the default of mkclust",
    "mkc-dnm": "dual noise minimization (Zhang et al., 2022)",
    "snf": "similarity network fusion (Wang et al., 2014)",
    "oplf": "late fusion (Liu et al., 2021)",
    "imml-nemo": "NEMO, from the package imml",
    "mofa": "MOFA factors, k-means",
    "leiden": "Leiden on the neighbor graph of all tables joined",
    "concat-spectral": "spectral clustering of all tables joined",
}


def fill(text: str, name: str, lines: Sequence[str]) -> str:
    r"""Replace the text between ``<!-- name -->`` and ``<!-- /name -->``.

    >>> fill("a\n<!-- x -->\nold\n<!-- /x -->\nb\n", "x", ["new"])
    'a\n<!-- x -->\nnew\n<!-- /x -->\nb\n'
    """
    head, rest = text.split(f"<!-- {name} -->\n")
    tail = rest[rest.index(f"<!-- /{name} -->") :]
    return f"{head}<!-- {name} -->\n" + "\n".join(lines) + f"\n{tail}"


def fill_page(page: Path, name: str, lines: Sequence[str]) -> None:
    """Replace a part of a page on disk."""
    page.write_text(fill(page.read_text(encoding="utf-8"), name, lines), encoding="utf-8")


def family_part(results: pd.DataFrame) -> list[str]:
    """Return the standing of a family, its tests, and why results are missing."""
    table, notes = standing(results)
    table = table.drop(columns=["rank NMI", "rank ARI", "mean ARI"], errors="ignore")
    return [*markdown(table), "", *(line for note in notes for line in (note, "")),
            *(f"- {reason}" for reason in missing_reasons(results))]  # fmt: skip


def readme_part(results: pd.DataFrame) -> list[str]:
    """Return average ranks of some methods in every family but the large sets, where few finish."""
    columns = {}
    for suite in (family for family in FAMILIES if family != "large"):
        table = ranked(results[results.suite == suite])
        ranks = average_ranks(table)
        columns[f"{suite} ({table.shape[0]} sets, {table.shape[1]} methods)"] = ranks
    shown = pd.DataFrame(columns).reindex(list(SHOWN))
    best = pd.DataFrame(columns).min()
    cells = shown.apply(
        lambda column: [
            "–" if pd.isna(v) else f"**{v:.2f}**" if v == best[column.name] else f"{v:.2f}"
            for v in column
        ]
    )
    cells.insert(0, "what it is", list(SHOWN.values()))
    return markdown(cells.rename(index=title))


def pages() -> dict[Path, str]:
    """Return both pages with their tables made from the results."""
    results, page = read_table(), PAGE.read_text(encoding="utf-8")
    for suite in FAMILIES:
        page = fill(page, suite, family_part(results[results.suite == suite]))
    readme = README.read_text(encoding="utf-8")
    return {PAGE: page, README: fill(readme, "results", readme_part(results))}


def write() -> None:
    """Write the pages and the diagrams of all families."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    results = read_table()
    for suite in FAMILIES:
        scores = scoreboard(results[results.suite == suite])
        scores.to_csv(ROOT / "docs" / "tables" / f"{suite}.csv", lineterminator="\n")
        draw(f"ranks-{suite}", ROOT / "docs" / "images")
