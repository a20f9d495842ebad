"""``mkclust bench``: run suites of experiments, and make tables and figures of what they gave."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..exceptions import InputError
from .display import following
from .experiment import Experiment, Wishes, prepare
from .experiment import run as run_experiment
from .export import export as export_rows
from .record import FAILED, OUT_OF_MEMORY, OUT_OF_TIME
from .registry import registered, unregistered
from .store import Store
from .suite import load_suite, suites

app = typer.Typer(
    help="Run the paper's experiments and a leaderboard, and make tables and figures of them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

StorePath = Annotated[Path, typer.Option("--store", help="The file with the results.")]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of data sets; by default the variable MKCLUST_DATA."),
]
STORE = Path("mkclust-bench.db")


@app.command()
def run(
    suite: Annotated[str, typer.Argument(help="A suite's name, or a .toml file.")],
    data: Data = None,
    methods: Annotated[str | None, typer.Option(help="Only these, comma-separated.")] = None,
    datasets: Annotated[
        str | None, typer.Option(help="Only these data sets or files in --data, comma-separated.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Units at the same time, a thread each.")] = 1,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds per unit, waiting for a processor not counted.")
    ] = None,
    memory_limit: Annotated[float | None, typer.Option(help="Gigabytes per unit.")] = None,
    store: StorePath = STORE,
    peers_python: Annotated[
        str | None, typer.Option(help="Another interpreter that has the peers' packages.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try again what did not succeed.")] = False,
    keep_kernels: Annotated[bool, typer.Option(help="Leave the shared kernels on disk.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Run what a suite has left to do; killed at any moment, the same command goes on."""
    wishes = Wishes(
        _folder(data), _several(datasets), _several(methods), jobs, time_limit, memory_limit,
        peers_python, retry,
    )  # fmt: skip
    experiment = prepare(suite, wishes)
    console = Console(stderr=True, highlight=False, quiet=quiet)
    _say_what_is_missing(experiment, console)
    with following(console, quiet) as report:
        kept = run_experiment(experiment, store, wishes, report, keep_kernels)
    _say_what_came_of_it(kept, experiment.suite.name, console)


@app.command()
def table(
    suite: Annotated[str, typer.Argument(help="A suite's name.")],
    form: Annotated[
        str, typer.Option("--format", help="terminal, markdown, csv, latex.")
    ] = "terminal",
    store: StorePath = STORE,
) -> None:
    """The results of a suite as a table."""
    from .tables import render

    records = _existing(store).records(suite)
    if not records:
        raise InputError(f"{store} has no results of {suite}: mkclust bench run {suite}")
    print(render(records, suite, form))


@app.command()
def figure(
    name: Annotated[str, typer.Argument(help="figure2, figure4, figure5 or ranks.")],
    data: Data = None,
    store: StorePath = STORE,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the pictures.")] = Path(),
    dataset: Annotated[
        str | None, typer.Option(help="By default BBCSport, or the bundled Mfeat without it.")
    ] = None,
) -> None:
    """A figure, as PNG and SVG."""
    from .figures import draw

    for path in draw(name, store, _folder(data), out, dataset):
        print(path)


@app.command()
def export(
    out: Annotated[Path, typer.Argument(help="A .csv or .parquet file.")],
    store: StorePath = STORE,
) -> None:
    """Every finished unit as a row of a table, with metrics, times, versions and machine."""
    print(f"{export_rows(_existing(store), out)} rows written to {out}")


@app.command("list")
def list_(data: Data = None) -> None:
    """List suites, and data sets with whether they are there and where they come from."""
    console = Console(highlight=False)
    shown = Table("suite", "what it is", box=None, padding=(0, 2, 0, 0))
    for name in suites():
        shown.add_row(f"[bold]{name}[/]", escape(load_suite(name).title))
    console.print(shown, "")
    folder = _folder(data)
    table = Table("data set", "samples", "classes", "views", "here", box=None, padding=(0, 2, 0, 0))
    for entry in registered().values():
        sizes = map(str, (entry.n, entry.k, len(entry.views)))
        table.add_row(escape(entry.name), *sizes, "yes" if entry.present(folder) else "no")
    console.print(table, "")
    for entry in registered().values():
        files = " or ".join(entry.files) or "bundled"
        words = f"{entry.source}; licence: {entry.licence}; file: {files}"
        console.print(f"[bold]{escape(entry.name)}[/]: {escape(words)}", soft_wrap=True)
    for name in unregistered(folder):
        console.print(f"also in the folder, to be run by its name: {escape(name)}")


def _folder(given: Path | None) -> Path | None:
    named = os.environ.get("MKCLUST_DATA")
    folder = given or (Path(named) if named else None)
    if folder is not None and not folder.is_dir():
        raise InputError(f"--data {folder} is not a folder")
    return folder


def _several(given: str | None) -> list[str] | None:
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]


def _existing(path: Path) -> Store:
    if not path.is_file():
        raise InputError(f"no results at {path}: run a suite first, or say where with --store")
    return Store(path)


def _say_what_is_missing(experiment: Experiment, console: Console) -> None:
    for entry in experiment.absent:
        console.print(
            f"[yellow]skipped:[/] {escape(entry.name)} is absent: {escape(entry.where())}"
        )
    if experiment.not_installed:
        console.print(f"[yellow]skipped:[/] not installed: {', '.join(experiment.not_installed)}")


def _say_what_came_of_it(store: Store, suite: str, console: Console) -> None:
    records = store.records(suite)
    counts = Counter(record.status.partition(":")[0] for record in records if record.ok)
    for status in (OUT_OF_TIME, OUT_OF_MEMORY, FAILED):
        counts[status] = sum(record.status.startswith(status) for record in records)
    listed = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    console.print(f"{suite}: {listed or 'nothing to do'}, in {escape(str(store.path))}")
