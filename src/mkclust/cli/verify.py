"""The command `verify`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console

from ..data.checksums import view_checksums
from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from ..io.manifest import NAME, Manifest, require_complete_set
from ..large.views import LargeViews
from ..methods import load
from .arguments import Paths, Reading, reads
from .results import read_labels, read_result
from .run import progress
from .wording import clean


class Claim(NamedTuple):
    """A claim of the results, and what contradicts it: nothing where the claim holds."""

    text: str
    problem: str = ""

    def __str__(self) -> str:
        return f"FAILS: {self.text}: {self.problem}" if self.problem else f"holds: {self.text}"


@reads("labels")
def verify(
    results: Annotated[Path, typer.Argument(help="Folder with the results of [bold]cluster[/].")],
    paths: Paths,
    reading: Reading,
) -> None:
    """Check that results are complete and belong to these data.

    Give the data and the reading options of the run. Compared are the files
    with mkclust.json, the data with the checksums in result.json, and the labels
    with the samples. Where the run saved its model, every claim of the model is
    computed again with another solver. Exit code 1 if a claim fails.
    """
    manifest = require_complete_set(results)
    if manifest is None:
        raise InputError(f"{results}: no {NAME} here; give the folder that cluster wrote to")
    data = replace(reading, labels="none").read(paths)
    console = Console(highlight=False)
    sound = True
    with progress(False):
        for claim in _claims(results, manifest, data):
            console.print(clean(str(claim)), soft_wrap=True)
            sound = sound and not claim.problem
    if manifest.model is None:
        console.print("[dim]The run saved no model (--save): its claims were not checked.[/]")
    if not sound:
        raise typer.Exit(1)


def _claims(folder: Path, manifest: Manifest, data: MultiView | LargeViews) -> Iterator[Claim]:
    problems = manifest.problems(folder)
    yield Claim("the files are those that the run wrote", "; ".join(problems))
    if problems:
        return
    result = read_result(folder)
    yield from _data_claims(result, data)
    samples, labels = read_labels(folder)
    counts = f"{len(labels)} labels for {len(data)} samples"
    yield Claim("every sample has a label", "" if len(labels) == len(data) else counts)
    if data.index is not None and samples is not None:
        differ = samples != [str(name) for name in data.index]
        text = "the names in labels.csv are not those of the data, in this order" if differ else ""
        yield Claim("the labels have the names of the samples", text)
    sizes = np.bincount(labels).tolist() == result.get("clusters")
    yield Claim("the clusters have the reported sizes", "" if sizes else "labels have other sizes")
    if manifest.model is not None:
        yield from _model_claims(folder / manifest.model[0], labels, data)


def _data_claims(result: dict[str, Any], data: MultiView | LargeViews) -> Iterator[Claim]:
    before = result.get("input", {}).get("checksums")
    if not isinstance(before, dict):
        raise FileFormatError("result.json has no checksums of the data: it is of another version")
    now = view_checksums(data)
    other = "" if set(before) == set(now) else f"the data hold {', '.join(now)}"
    yield Claim(f"the views are {', '.join(before)}", other)
    for name in sorted(set(before) & set(now)):
        same = before[name] == now[name]
        problem = "" if same else "values, sample names or the order of rows or columns differ"
        yield Claim(f"view {name} holds the data that were clustered", problem)


def _model_claims(path: Path, labels: np.ndarray, data: MultiView | LargeViews) -> Iterator[Claim]:
    model = load(path)
    same = np.array_equal(model.labels_, labels)
    yield Claim("the labels are those of the saved model", "" if same else "they differ")
    if not same or not callable(getattr(model, "verify", None)):
        return
    try:
        found = model.verify(data)
    except InputError as error:
        yield Claim(f"the model cannot be verified: {error}")
        return
    for check in found.checks:
        problem = "" if check.holds else f"error {check.error:.1e}, limit {check.limit:.0e}"
        yield Claim(check.claim, problem)
