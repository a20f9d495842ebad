"""The commands that read results: `explain` and `verify`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..data.alignment import as_text, rows_of
from ..data.preparation import prepare_views
from ..data.views import MultiView
from ..exceptions import InputError
from ..inspection import explain as explain_model
from ..inspection import verify as verify_model
from ..inspection.explain import OTHERS
from ..io.models import view_checksums
from ..methods import estimator_for, load
from ..metrics import ari
from ..report.words import counted, number
from .arguments import Reading, clean, reads
from .cluster import demo_data, show_progress
from .output import changed_files, explanation_of, read_labels, read_result
from .summary import column_table

MOST_VIEWS, MOST_CLUSTERS = 8, 12  # columns of a table that fit into 80 characters
Results = Annotated[Path, typer.Argument(help="Folder of the results of mkclust cluster.")]
Data = Annotated[
    list[Path] | None, typer.Argument(help="The data; default: where the run read them.")
]


@reads()
def explain(results: Results, paths: Data = None, *, reading: Reading) -> None:
    """Print what separates the clusters, and other answers.

    Results hold the explanation, unless it was skipped to save time. Then the data are read as
    the run read them, and the model is fitted again.
    """
    result = cluster_result(results)
    found = result.get("explanation")
    if paths or found is None:
        with show_progress(False):
            found = _explanation(results, result, _data(results, result, paths, reading))
    console = Console(highlight=False)
    sizes, title = result["clusters"], result["method"]["title"]
    what = f"{sum(sizes)} samples in {counted(len(sizes), 'cluster')} by {title}"
    console.print(Text(what, style="bold"))
    for heading, lines in found["words"].items():
        console.print(Text(f"\n{heading}", style="bold"))
        if heading == next(iter(found["words"])):
            for table in _separation_tables(found["separation"]):
                console.print(table)
        numbered = bool(found["alternatives"]) and heading == OTHERS
        shown = Table.grid(padding=(0, 1, 0, 1))
        for at, line in enumerate(lines, start=1):
            shown.add_row(f"{at}." if numbered else "-", clean(line))
        console.print(shown)
    if found["alternatives"] and (results / "alternatives.csv").exists():
        console.print(clean(f"\nTheir labels: {results / 'alternatives.csv'}"), soft_wrap=True)


def cluster_result(folder: Path) -> dict[str, Any]:
    """Return the result.json of a folder that `cluster` wrote."""
    result = read_result(folder)
    if result["command"] != "cluster":
        raise InputError(f"{folder}: results of mkclust {result['command']}, not of cluster")
    return result


def _data(folder: Path, result: dict[str, Any], paths: list[Path] | None, reading: Reading) -> Any:
    """Read the data of a run as the run did, or from other places, samples in the order of it."""
    if not paths and (bundled := demo_data(result["source"][0])) is not None:
        return bundled
    stored = reading.over(result["reading"])
    sources = paths or [Path(path) for path in result["source"]]
    missing = [str(path) for path in sources if not path.exists()]
    if missing:
        raise InputError(f"{', '.join(missing)}: no data here; name the data that were clustered")
    data = replace(stored, labels="none").read(sources)
    prepared = result["prepared"]
    data = prepare_views(data, **prepared) if any(prepared.values()) else data
    named = isinstance(data, MultiView) and data.index is not None  # not rows outside memory
    names, samples = as_text(data.index) if named else [], read_labels(folder)[0]
    return data[rows_of(samples, names)] if sorted(names) == sorted(samples) else data


def _explanation(folder: Path, result: dict[str, Any], data: Any) -> dict[str, Any]:
    """Fit the method of the results again, check that the labels are the same, and explain."""
    given = dict(result["parameters"])
    model = estimator_for(result["method"]["name"], given.pop("n_clusters"), **given).fit(data)
    saved = read_labels(folder)[1]
    if len(saved) != len(model.labels_) or ari(saved, model.labels_) < 1:
        raise InputError(f"{folder}: a fit to these data gives other labels; are they the same?")
    return explanation_of(explain_model(model, data))


def _separation_tables(separation: dict[str, list[float | None]]) -> Iterator[Any]:
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


class Claim(NamedTuple):
    """A claim of the results, and what contradicts it: nothing where the claim holds."""

    text: str
    problem: str = ""

    def __str__(self) -> str:
        return f"FAILS: {self.text}: {self.problem}" if self.problem else f"holds: {self.text}"


@reads("labels")
def verify(results: Results, paths: Data = None, *, reading: Reading) -> None:
    """Check that results are complete and belong to these data.

    Compared are the files and the data with the checksums in result.json, and the labels with
    the samples. Where the run saved its model, every claim of the model is computed again. Exit
    code 1 if a claim fails.
    """
    result = cluster_result(results)
    console = Console(highlight=False, soft_wrap=True)
    failed = False
    with show_progress(False):
        for claim in _claims(results, result, paths, reading):
            console.print(clean(str(claim)))
            failed = failed or bool(claim.problem)
    if "model.npz" not in result["files"]:
        console.print("[dim]The run saved no model (--save): its claims were not checked.[/]")
    if failed:
        raise typer.Exit(1)


def _claims(
    folder: Path, result: dict[str, Any], paths: list[Path] | None, reading: Reading
) -> Iterator[Claim]:
    changed = changed_files(folder, result)
    yield Claim("the files are those that the run wrote", ", ".join(changed))
    if changed:
        return
    data = _data(folder, result, paths, reading)
    before, now = result["input"]["checksums"], view_checksums(data)
    other = "" if set(before) == set(now) else f"the data hold {', '.join(now)}"
    yield Claim(f"the views are {', '.join(before)}", other)
    for name in sorted(set(before) & set(now)):
        differ = "values, sample names or the order of rows or columns differ"
        same = before[name] == now[name]
        yield Claim(f"view {name} holds the data that were clustered", "" if same else differ)
    samples, labels = read_labels(folder)
    counts = "" if len(labels) == len(data) else f"{len(labels)} labels, {len(data)} samples"
    yield Claim("every sample has a label", counts)
    if data.index is not None:
        differ = "" if samples == [str(name) for name in data.index] else "they differ"
        yield Claim("the labels have the names of the samples, in their order", differ)
    if "model.npz" in result["files"]:
        yield from _model_claims(folder / "model.npz", labels, data)


def _model_claims(path: Path, labels: np.ndarray, data: Any) -> Iterator[Claim]:
    model = load(path)
    same = np.array_equal(model.labels_, labels)
    yield Claim("the labels are those of the saved model", "" if same else "they differ")
    try:
        found = verify_model(model, data)
    except InputError as error:
        yield Claim(f"the model cannot be verified: {error}")
        return
    for check in found.checks:
        problem = "" if check.holds else f"error {check.error:.1e}, limit {check.limit:.0e}"
        yield Claim(check.claim, problem)
