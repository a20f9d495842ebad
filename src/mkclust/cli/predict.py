"""The command `predict`."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..data.preparation import prepare_views
from ..exceptions import FileFormatError, InputError, MkclustWarning
from ..io.files import collect
from ..methods import load
from ..predict.new_samples import OutOfSample
from ..report.words import counted
from .arguments import AsJson, Out, Paths, Quiet, Reading, clean, in_options, reads
from .cluster import show_progress
from .output import OutputFolder, print_result, read_result, write_samples


@reads("labels", "kernels")
def predict(
    model: Annotated[
        Path, typer.Argument(help="Results of cluster --save, or a saved model (.npz).")
    ],
    paths: Paths,
    reading: Reading,
    out: Out = Path("mkclust-predicted"),
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Assign new samples to the clusters of a saved model.

    The files hold the fitted views, or some of them, by name. Columns are matched by name. For
    kernels, each file has a column for each fitted sample. Writes labels.csv.
    """
    path = model / "model.npz" if model.is_dir() else model
    if not path.exists():
        raise InputError(f"{path} does not exist: cluster with --save, or name a saved model")
    folder = OutputFolder(out, "predict", [model, *paths])
    folder.check()
    fitted, stored = load(path), {}
    with suppress(FileFormatError):  # the results of the run may be elsewhere
        stored = read_result(path.absolute().parent)
    if not isinstance(fitted, OutOfSample):
        raise InputError(
            f"{path}: {fitted.title} is not defined for samples that were not fitted; cluster all "
            "samples together, or use --method graph-fusion or mkc-dnm"
        )
    with warnings.catch_warnings(record=True) as caught, show_progress(quiet):
        warnings.simplefilter("always", MkclustWarning)
        options = replace(reading.over(stored.get("reading", {})), labels="none", kernels=False)
        lacking: list[str] = []
        with collect(lacking):  # new samples may lack views that --views of the fit named
            data = options.read(paths)
        data = replace(options, views=reading.views).read(paths) if lacking else data
        data = prepare_views(data, log=True) if fitted._log else data
        membership = fitted.predict_proba(data)
        columns = {"cluster": fitted.predict(data), "membership": membership.max(axis=1).round(4)}
    said = [str(w.message) for w in caught if issubclass(w.category, MkclustWarning)]
    notes = [*dict.fromkeys(said)]

    def write(staging: Path) -> dict[str, Any]:
        write_samples(staging / "labels.csv", data, columns)
        return {"model": str(path), "source": [str(p) for p in paths], "warnings": notes}

    result = folder.write(write)
    console = Console(highlight=False, quiet=quiet, stderr=json, soft_wrap=True)
    for note in notes:
        console.print(f"[yellow]note:[/] {clean(in_options(note))}")
    clusters = counted(int(fitted.n_clusters), "cluster")
    console.print(f"{len(data)} samples assigned to {clusters} by {fitted.title}")
    console.print(f"[dim]{clean(in_options(' '.join(data.notes)))}[/]")
    console.print(clean(f"Written to {out}: labels.csv, result.json"))
    if json:
        print_result(out, result)
