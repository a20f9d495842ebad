"""The command `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..exceptions import InputError
from ..inspection import Alternatives
from ..inspection import explain as explained
from ..io.manifest import require_complete_set
from ..methods import METHODS, estimator_for
from ..metrics import ari
from ..report.words import number
from .answers import explanation_as_dict
from .arguments import Reading, as_taken, reads
from .results import read_labels, read_result
from .run import progress
from .summary import column_table
from .wording import clean

MOST_VIEWS, MOST_CLUSTERS = 8, 12  # columns of a table that fit into 80 characters


@reads()
def explain(
    results: Annotated[Path, typer.Argument(help="Folder with the results of [bold]cluster[/].")],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="The data that were clustered; needed only if the results hold no explanation."
        ),
    ] = None,
    *,
    reading: Reading,
) -> None:
    """Print which view sees what, where views conflict, and other answers.

    The results of cluster hold the explanation, unless it was skipped to save
    time. Then give the data, and the model is fitted again.
    """
    require_complete_set(results)
    result = read_result(results)
    found = result.get("explanation")
    if paths:
        data = reading.read(paths)
        with progress(False):
            found = _computed(results, result, data)
    if not isinstance(found, dict):
        raise InputError(
            f"{results}: the results hold no explanation; give the data that were clustered: "
            f"mkclust explain {results} DATA"
        )
    _print(found, result, results)


def _computed(folder: Path, result: dict[str, Any], data: Any) -> dict[str, Any]:
    """Fit the method of the results again, check that the labels are the same, and explain."""
    method, given = result["method"]["name"], dict(result["parameters"])
    if method not in METHODS:
        raise InputError(f"{folder}: unknown method {method!r}")
    model = estimator_for(method, given.pop("n_clusters"), **given)
    data = as_taken(model, data)
    model.fit(data)
    saved = read_labels(folder)[1]
    if len(saved) != len(model.labels_) or ari(saved, model.labels_) < 1:
        raise InputError(f"{folder}: a fit to these data gives other labels; are they the same?")
    return explanation_as_dict(explained(model, data))


def _print(found: dict[str, Any], result: dict[str, Any], folder: Path) -> None:
    console = Console(highlight=False)
    sizes = result["clusters"]
    what = f"{sum(sizes)} samples in {len(sizes)} clusters by {result['method']['title']}"
    console.print(Text(what, style="bold"))
    for heading, lines in found["words"].items():
        console.print(Text(f"\n{heading}", style="bold"))
        if heading == next(iter(found["words"])):
            for table in _tables(found["separation"]):
                console.print(table)
        numbered = bool(found["alternatives"]) and heading == Alternatives.title
        listed = Table.grid(padding=(0, 1, 0, 1))
        for at, line in enumerate(lines, start=1):
            listed.add_row(f"{at}." if numbered else "-", clean(line))
        console.print(listed)
    if found["alternatives"]:
        console.print(
            clean(f"\nTheir labels are in {folder / 'alternatives.csv'}."), soft_wrap=True
        )


def _tables(separation: dict[str, list[float | None]]) -> Iterator[Any]:
    """Yield how well each view separates each cluster, where that fits into 80 characters."""
    names, values = list(separation), np.array(list(separation.values()), dtype=float).T
    k, m = values.shape
    rows, heads = [f"cluster {c}" for c in range(k)], names
    if m > MOST_VIEWS:
        if k > MOST_CLUSTERS:
            return
        rows, heads, values = names, [str(c) for c in range(k)], values.T
    table = column_table("", *map(clean, heads), no_wrap=True)
    for name, row in zip(rows, values, strict=True):
        table.add_row(clean(name), *(number(value, 2) for value in row))
    yield table
    yield Text(
        "Separation of a cluster from all others: 1 is perfect, 0 the level of chance.",
        style="dim",
    )
