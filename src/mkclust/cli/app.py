"""The command line: a thin shell over read, fit, summary and write."""

from __future__ import annotations

import io
import shlex
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .._version import __version__
from ..agreement.cache import sharing
from ..base import MultiViewClusterer
from ..bench.cli import app as bench
from ..chunked.rows import Rows
from ..data import datasets
from ..data.views import MultiView
from ..dual_noise.estimator import MKCDNM, RECIPES, with_recipe
from ..exceptions import InputError, MkclustWarning
from ..inspection.choose_k import asked_k, choose_for, choosing
from ..io.model import load
from ..kernels.bank import AUTO, KERNELS
from ..methods import METHODS
from ..progress import listening
from ..report import pageable, write_report
from .answers import (
    CHECKED_UP_TO,
    answers_as_dict,
    checked_answers,
    require_checkable,
    write_stability,
)
from .arguments import LIMITS, chosen_limits, contents, named_numbers, read_views
from .method_options import chosen_options, own_parameters, with_method_options
from .output_directory import kept
from .results import clear_earlier, write_predictions, write_results
from .summary import choice_table, summary
from .supervision import supervised

app = typer.Typer(
    help="Cluster samples described by several views or kernels, and see which views helped.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(bench, name="bench")
errors = Console(stderr=True, highlight=False, soft_wrap=True)

Paths = Annotated[
    list[Path],
    typer.Argument(
        help="A .mat, .npz, .h5mu, .csv or .parquet file, a folder, or one file per view."
    ),
]
Clusters = Annotated[
    str,
    typer.Option(
        "-k",
        "--clusters",
        metavar="NUMBER|auto|LOW:HIGH",
        help="Number of clusters; 'auto' chooses from 2 to 12, '3:20' from 3 to 20.",
    ),
]
Method = Annotated[str, typer.Option(help="The method; see [bold]mkclust methods[/].")]
Recipe = Annotated[
    str,
    typer.Option(
        metavar="|".join(RECIPES),
        help="What MKC-DNM works on: neighbour graphs weighed and fused, or the paper's kernels.",
    ),
]
Kernel = Annotated[
    str | None,
    typer.Option(
        help=f"Instead of the recipe's: one of {', '.join([AUTO, *KERNELS])}.",
        show_default=f"{AUTO}; {RECIPES['published']} as published, and for other methods",
    ),
]
KernelParams = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel-param", metavar="NAME=NUMBER", help="Such as gamma=0.1 or n_neighbors=5."
    ),
]
ViewNames = Annotated[
    str | None, typer.Option("--views", help="Variables or files to use, comma-separated.")
]
Labels = Annotated[
    str | None, typer.Option(help="Where the known classes are; 'none' to ignore them.")
]
Transpose = Annotated[
    bool | None,
    typer.Option("--transpose/--no-transpose", help="Samples are columns.", show_default="decide"),
]
AsKernels = Annotated[
    bool | None,
    typer.Option("--kernels/--features", help="What the matrices are.", show_default="decide"),
]
Center = Annotated[bool, typer.Option(help="Centre the kernels.")]
Normalize = Annotated[bool, typer.Option(help="Scale the kernels to unit diagonal.")]
Restarts = Annotated[int, typer.Option(help="Restarts of k-means.", min=1)]
Seed = Annotated[int, typer.Option(help="Seed of k-means.", min=0)]
Out = Annotated[Path, typer.Option("-o", "--out", help="Folder for the results.")]
Checks = Annotated[
    bool | None,
    typer.Option(
        "--stability/--no-stability",
        help="Cluster halves of the samples too, and leave out each view: what would stay.",
        show_default=f"up to {CHECKED_UP_TO} samples",
    ),
]
Report = Annotated[bool, typer.Option("--report/--no-report", help="Write report.html.")]
Save = Annotated[
    Path | None, typer.Option(help="Write the fitted model to this .npz, for [bold]predict[/].")
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=NUMBER",
        help=f"What a file may claim: {', '.join(LIMITS)}, such as max_bytes=2e10.",
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing but errors.")]


@app.command()
@with_method_options
def cluster(
    paths: Paths,
    clusters: Clusters,
    method: Method = "mkc-dnm",
    recipe: Recipe = "auto",
    kernel: Kernel = None,
    kernel_param: KernelParams = None,
    views: ViewNames = None,
    labels: Labels = None,
    transpose: Transpose = None,
    kernels: AsKernels = None,
    limit: Limit = None,
    center: Center = True,
    normalize: Normalize = True,
    n_init: Restarts = 10,
    seed: Seed = 0,
    out: Out = Path("mkclust-out"),
    quiet: Quiet = False,
    stability: Checks = None,
    report: Report = True,
    save: Save = None,
    **options: Any,
) -> None:
    """Cluster the samples of one or more files, say what was found, and write the results.

    Writes labels.csv, embedding.npz (or graph.npz), stability.csv, result.json and report.html to
    the output folder, each whole or not at all, in place of an earlier run's. Views in parts
    (folders of .npy or .parquet, zarr) are read by blocks, labels and embedding written as parts.
    """
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; known are {', '.join(METHODS)}")
    if kernel is not None and kernel not in (AUTO, *KERNELS):
        raise InputError(f"unknown kernel {kernel!r}; known are {', '.join([AUTO, *KERNELS])}")
    asked = asked_k(clusters)
    usual = with_recipe(recipe, {})["kernel"]
    usual = usual if METHODS[method] is MKCDNM else RECIPES["published"]
    model = METHODS[method](
        asked if isinstance(asked, int) else 2, kernel=kernel or usual,
        kernel_params=named_numbers("--kernel-param", kernel_param), center=center,
        normalize=normalize, n_init=n_init, random_state=seed, **chosen_options(method, options),
    )  # fmt: skip
    data = read_views(paths, views, labels, transpose, kernels, limit)
    if isinstance(data, Rows) and not isinstance(model, MKCDNM):
        data = data.in_memory()
    source, tried = list(map(str, paths)), None if isinstance(asked, int) else asked
    if save is not None:
        _check_writable(save.parent)
    _run(model, data, out, quiet, source, report=report, tried=tried, checks=stability)
    if save is not None:
        model.save(save)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model written by cluster --save.")],
    paths: Paths,
    views: ViewNames = None,
    labels: Labels = None,
    transpose: Transpose = None,
    limit: Limit = None,
    out: Out = Path("mkclust-predicted"),
    quiet: Quiet = False,
) -> None:
    """Find the clusters of new samples with a saved model.

    The files hold the same views with the same columns as those that were fitted; for kernels, a
    column for each fitted sample. Writes labels.csv and embedding.npz to the output folder.
    """
    fitted = load(model, limits=chosen_limits(limit))
    if not isinstance(fitted, MKCDNM):
        raise InputError(f"{model}: {fitted.title} says nothing about samples that were not fitted")
    data = read_views(paths, views, labels, transpose, kernels=False, limit=limit)
    _check_writable(out)
    with _progress(quiet):
        written = kept(out, lambda folder: write_predictions(folder, fitted, data))
    console = Console(highlight=False, quiet=quiet)
    console.print(f"{len(data)} samples placed in {fitted.n_clusters} clusters")
    console.print(f"Written to {escape(str(out))}: {', '.join(path.name for path in written)}")


@app.command()
def inspect(
    path: Annotated[Path, typer.Argument(help="A file or folder that may hold views.")],
    limit: Limit = None,
) -> None:
    """Say what is in a file, and what would be made of it."""
    console = Console(highlight=False)
    table = Table("variable", "kind", "shape", "type", "used as", box=None, padding=(0, 2, 0, 0))
    for variable in contents(path, chosen_limits(limit)):
        shape = " x ".join(map(str, variable.shape))
        cells = (variable.name, variable.kind, shape, variable.dtype, variable.role)
        table.add_row(*(escape(str(cell)) for cell in cells))
    console.print(table)
    data = read_views([path], limit=limit)
    console.print(f"\n{escape(repr(data))}", soft_wrap=True)
    for note in data.notes:
        console.print(f"[dim]- {escape(note)}[/]", soft_wrap=True)
    if data.labels is not None:
        console.print(f"[dim]- {len(set(data.labels.tolist()))} known classes[/]")


@app.command()
def demo(
    recipe: Recipe = "auto",
    solver: Annotated[str, typer.Option(help="authors, paper or exact.")] = "authors",
    out: Out = Path("mkclust-demo"),
) -> None:
    """Cluster the bundled handwritten digits (2000 samples, six views) into ten groups."""
    model = MKCDNM(10, **with_recipe(recipe, {"random_state": 0, "solver": solver}))
    _run(model, datasets.load_mfeat(), out, quiet=False, source=["UCI Multiple Features"])


@app.command()
def methods() -> None:
    """List every method with its parameters and where it comes from."""
    table = Table("name", "method", "parameters", "reference", box=None, padding=(0, 2, 0, 0))
    for name, kind in METHODS.items():
        parameters = ", ".join(f"--{p.replace('_', '-')}" for p in own_parameters(kind)) or "-"
        table.add_row(f"[bold]{name}[/]", kind.title, parameters, f"[dim]{kind.reference}[/]")
    Console(highlight=False).print(table)


def _version(asked: bool) -> None:
    if asked:
        print(f"mkclust {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    pass


def command() -> None:
    """What `mkclust` is on a command line: `main`, ended within a second by Ctrl-C or SIGTERM."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a letter the terminal lacks is no reason to fail
            stream.reconfigure(errors="replace")
    supervised(main)


def main() -> None:
    """Run the command line: 0 done, 2 wrong usage or input, 1 a failure of ours."""
    try:
        app()
    except InputError as error:
        errors.print(f"[red]error:[/] {escape(str(error))}")
        sys.exit(2)
    except OSError as error:
        errors.print(f"[red]error:[/] {escape(str(error))}")
        sys.exit(1)
    except KeyboardInterrupt:
        errors.print("interrupted")
        sys.exit(130)


def _run(
    model: MultiViewClusterer,
    data: MultiView | Rows,
    out: Path,
    quiet: bool,
    source: list[str],
    report: bool = True,
    tried: tuple[int, int] | str | None = None,
    checks: bool | None = None,
) -> None:
    """Choose k, fit, check, write, print: what `cluster` and `demo` have in common."""
    _check_writable(out)
    if checks:
        require_checkable(model, data)
    with warnings.catch_warnings(record=True) as caught, _progress(quiet), sharing():
        warnings.simplefilter("always", MkclustWarning)
        choice = None if tried is None else choose_for(choosing(model), data, tried)
        if choice is not None:
            model.set_params(n_clusters=choice.k)
        began = time.perf_counter()
        model.fit(data)
        seconds = time.perf_counter() - began
        checked = checked_answers(model, data, checks)
    answers: list[Any] = [*([] if choice is None else [choice]), *checked]
    notes = [str(w.message) for w in caught if issubclass(w.category, MkclustWarning)]
    extra = {"source": source, "warnings": notes, "seconds": seconds} | answers_as_dict(answers)

    def write(folder: Path) -> list[Path]:
        again = (folder / "result.json").exists()
        written = write_results(folder, model, data, extra) + write_stability(folder, answers)
        if report and pageable(model, data):
            command = shlex.join(["mkclust", *sys.argv[1:]])
            written.append(folder / "report.html")
            write_report(model, written[-1], data, notes=notes, command=command, answers=answers)
        if again:
            clear_earlier(folder, written)
        return written

    written = kept(out, write)  # before a word is said: nobody may be there to read it
    console = Console(highlight=False, quiet=quiet)
    for note in data.notes:
        console.print(f"[dim]{escape(note)}[/]", soft_wrap=True)
    if choice is not None:
        console.print(choice_table(choice))
    console.print(summary(model, data, seconds))
    for answer in checked:
        console.print(f"[bold]{answer.title}:[/] {escape(str(answer))}", soft_wrap=True)
    for note in notes:
        console.print(f"[yellow]note:[/] {escape(note)}")
    console.print(f"Written to {escape(str(out))}: {', '.join(path.name for path in written)}")


def _check_writable(folder: Path) -> None:
    """Find out before the work, not after it, that the results have no place to go."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"results cannot be written to {folder}: {reason}") from None


@contextmanager
def _progress(quiet: bool) -> Iterator[None]:
    """Show what is being done, on terminals only."""
    if quiet or not errors.is_terminal:
        yield
        return
    with errors.status("starting") as status, listening(status.update):
        yield
