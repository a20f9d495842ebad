"""``mkclust bench``: run suites of experiments, and make tables and figures of the results.

The progress of a run is a bar on a terminal, otherwise a line every half minute.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from ..exceptions import InputError
from .registry import ORDERS, SHUFFLED, registered, unregistered
from .runner import Experiment, Options, Runner, prepare
from .runner import run as run_experiment
from .store import DONE, FAILED, OUT_OF_MEMORY, OUT_OF_TIME, Store
from .suite import check_order, load_suite, stored_name, suites

app = typer.Typer(
    help="Run the paper's experiments and the leaderboards; make tables and figures.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

StorePath = Annotated[Path, typer.Option("--store", help="The file of results.")]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of data sets; by default $MKCLUST_DATA."),
]
Order = Annotated[str, typer.Option(help=f"Order of the rows: {' or '.join(ORDERS)} (by class).")]
STORE = Path("mkclust-bench.db")
EVERY = 30.0  # seconds between two lines without a terminal
COLUMNS = ("{task.completed}/{task.total}", "{task.description}")


@app.command()
def run(
    suite: Annotated[str, typer.Argument(help="A suite's name, or a .toml file.")],
    data: Data = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these methods, comma-separated.")
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(help="Only these data sets or files in --data, comma-separated.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Parallel units, one thread each.")] = 1,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds per unit, without waiting for a processor.")
    ] = None,
    memory_limit: Annotated[float | None, typer.Option(help="Gigabytes per unit.")] = None,
    order: Annotated[
        str | None,
        typer.Option(
            help=f"Order of the rows: {' or '.join(ORDERS)} (by class); default shuffled."
        ),
    ] = None,
    store: StorePath = STORE,
    peers_python: Annotated[
        str | None, typer.Option(help="Interpreter with the packages of the peers.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run failed units again.")] = False,
    keep_kernels: Annotated[bool, typer.Option(help="Keep the shared kernels on disk.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Run the open units of a suite and print its first table.

    The same command resumes an interrupted run.
    """
    options = Options(
        _folder(data), _several(datasets), _several(methods), jobs, time_limit, memory_limit,
        peers_python, retry, order,
    )  # fmt: skip
    experiment = prepare(suite, options)
    console = Console(stderr=True, highlight=False, quiet=quiet)
    _print_skipped(experiment, console)
    with following(console, quiet) as report:
        kept = run_experiment(experiment, store, report, keep_kernels)
    _print_counts(kept, experiment.suite.stored_as, console)
    records = kept.records(experiment.suite.stored_as)
    if records and not quiet:
        from .tables import render

        print(render(records, experiment.suite.name, "terminal", brief=True))


@app.command()
def table(
    suite: Annotated[str, typer.Argument(help="A suite's name.")],
    form: Annotated[
        str, typer.Option("--format", help="terminal, markdown, csv, latex.")
    ] = "terminal",
    order: Order = SHUFFLED,
    spread: Annotated[
        bool, typer.Option("--spread", help="Print the standard deviation beside each mean.")
    ] = False,
    store: StorePath = STORE,
) -> None:
    """Print the results of a suite as a table."""
    from .tables import render

    check_order(order)
    records = _existing(store).records(stored_name(suite, order))
    if not records:
        option = "" if order == SHUFFLED else f" --order {order}"
        raise InputError(f"{store} has no results of {suite}: mkclust bench run {suite}{option}")
    print(render(records, suite, form, spread))


@app.command()
def figure(
    name: Annotated[str, typer.Argument(help="figure2, figure4, figure5 or ranks.")],
    data: Data = None,
    store: StorePath = STORE,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder of the pictures.")] = Path(),
    dataset: Annotated[
        str | None, typer.Option(help="By default BBCSport if present, otherwise Mfeat.")
    ] = None,
    suite: Annotated[str, typer.Option(help="The suite whose ranks are drawn.")] = "multiview",
) -> None:
    """Draw a figure, as PNG and SVG."""
    from .paper_figures import draw

    for path in draw(name, store, _folder(data), out, dataset, suite):
        print(path)


@app.command()
def export(
    out: Annotated[Path, typer.Argument(help="A .csv or .parquet file.")],
    store: StorePath = STORE,
) -> None:
    """Write every finished unit as a row, with metrics, times, versions and machine."""
    from .tables import export as export_rows

    print(f"{export_rows(_existing(store), out)} rows written to {out}")


@app.command("list")
def list_(data: Data = None) -> None:
    """List suites, and data sets with their presence, source, license and file."""
    console = Console(highlight=False)
    shown = Table("suite", "content", box=None, padding=(0, 2, 0, 0))
    for name in suites():
        shown.add_row(f"[bold]{name}[/]", escape(load_suite(name).title))
    console.print(shown, "")
    folder = _folder(data)
    heads = ("data set", "samples", "classes", "views", "present")
    table = Table(*heads, box=None, padding=(0, 2, 0, 0))
    for entry in registered().values():
        sizes = map(str, (entry.n, entry.k, len(entry.views)))
        table.add_row(escape(entry.name), *sizes, "yes" if entry.present(folder) else "no")
    console.print(table, "")
    for entry in registered().values():
        files = " or ".join(entry.files) or "bundled"
        details = f"{entry.source}; license: {entry.license}; file: {files}"
        console.print(f"[bold]{escape(entry.name)}[/]: {escape(details)}", soft_wrap=True)
    for name in unregistered(folder):
        console.print(f"unregistered file, can be run by its name: {escape(name)}")


def _folder(given: Path | None) -> Path | None:
    named = os.environ.get("MKCLUST_DATA")
    folder = given or (Path(named) if named else None)
    if folder is not None and not folder.is_dir():
        raise InputError(f"--data {folder} is not a folder")
    return folder


def _several(given: str | None) -> tuple[str, ...] | None:
    return tuple(name.strip() for name in (given or "").split(",") if name.strip()) or None


def _existing(path: Path) -> Store:
    if not path.is_file():
        raise InputError(f"no results at {path}: run a suite first, or give the file by --store")
    return Store(path)


def _print_skipped(experiment: Experiment, console: Console) -> None:
    for entry in experiment.absent:
        console.print(
            f"[yellow]skipped:[/] {escape(entry.name)} is absent: {escape(entry.where())}"
        )
    if experiment.not_installed:
        console.print(f"[yellow]skipped:[/] not installed: {', '.join(experiment.not_installed)}")


def _print_counts(store: Store, suite: str, console: Console) -> None:
    records = store.records(suite)
    kinds = (DONE, OUT_OF_TIME, OUT_OF_MEMORY, FAILED)
    counts = [sum(record.status.startswith(kind) for record in records) for kind in kinds]
    listed = ", ".join(f"{n} {kind}" for n, kind in zip(counts, kinds, strict=True) if n)
    console.print(f"{suite}: {listed or 'nothing to do'}, in {escape(str(store.path))}")


@contextmanager
def following(console: Console, quiet: bool = False) -> Iterator[Callable[[Runner], None]]:
    """Yield a function that displays the state of a runner."""
    began = last = time.monotonic()
    if quiet:
        yield lambda _: None
    elif console.is_terminal:
        with Progress(BarColumn(), *map(TextColumn, COLUMNS), console=console) as bar:
            task = bar.add_task("", total=None)

            def update(runner: Runner) -> None:
                done, total, words = state(runner, began)
                bar.update(task, completed=done, total=total, description=words)

            yield update
    else:

        def line(runner: Runner) -> None:
            nonlocal last
            done, total, words = state(runner, began)
            if done == total or time.monotonic() - last >= EVERY:
                last = time.monotonic()
                console.print(f"{done}/{total} units  {words}", soft_wrap=True)

        yield line


def state(runner: Runner, began: float) -> tuple[int, int, str]:
    """Return the numbers of finished and of all units, and a phrase.

    The phrase says what the workers compute, such as ``hmkc on Mfeat``, and the time left by the
    pace of this run.
    """
    counts = runner.store.counts()
    total, left = sum(counts.values()), counts.get("", 0)
    first = [job.units[0] for job in runner.jobs if job.units]
    words = ", ".join(f"{unit.method} on {unit.dataset}" for unit in first) if left else ""
    if left and runner.finished:
        seconds = (time.monotonic() - began) / runner.finished * left
        long = seconds >= 90
        words += f"; about {seconds / 60:.0f} min left" if long else f"; about {seconds:.0f} s left"
    return total - left, total, words
