"""The commands `cluster` and `demo`: read, choose k, fit, ask, write, print."""

from __future__ import annotations

import shlex
import sys
import time as clock
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from ..base import MultiViewClusterer
from ..data.alignment import match_samples
from ..data.memory import shared_views
from ..data.preparation import prepare_views
from ..exceptions import FileFormatError, InputError, MkclustWarning
from ..inspection import Annotations, Stability, choose_k, compare_annotations, verdict
from ..large.blocks import open_client
from ..large.views import LargeViews
from ..methods import DEFAULT, estimator_for, with_shared
from ..progress import listening
from ..report.words import counted
from ..report.writing import answer_questions, pageable, prepare_report, write_report
from . import app
from .arguments import (
    AsJson,
    Out,
    Paths,
    Quiet,
    Reading,
    clean,
    n_clusters_of,
    parameters_of,
    reads,
)
from .inspect import read_all
from .output import OutputFolder, as_text, print_result, result_of, write_answers, write_labels
from .summary import print_summary

DIGITS, COHORT = "UCI Multiple Features", "breast.TCGA of mixOmics"  # the data of `demo`
PATIENCE = 120.0  # seconds that the checks may be expected to take without being asked for
HALVES, EXPLAINED = 5.0, 3.0  # fits that refits to halves and the explanation cost at most

Clusters = Annotated[
    str,
    typer.Option(
        "-k", "--clusters", metavar="K|auto|LOW:HIGH", help="Number of clusters; 'auto' chooses."
    ),
]
Method = Annotated[str, typer.Option(metavar="NAME", help="See mkclust methods.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Parameter of the method: mkclust methods NAME."
    ),
]
Missing = Annotated[
    Literal["median", "knn"] | None, typer.Option(help="Fill NaN cells; default: refuse them.")
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.", min=0)]
Checks = Annotated[
    bool | None,
    typer.Option(
        "--checks/--no-checks",
        help="Refit to halves and without each view; default: if under two minutes.",
        show_default=False,
    ),
]
Report = Annotated[bool, typer.Option("--report/--no-report", help="Write report.html.")]
Save = Annotated[bool, typer.Option("--save", help="Write model.npz, for mkclust predict.")]
Figures = Annotated[
    Literal["svg", "pdf", "png"] | None, typer.Option(help="Write figures for a paper.")
]
Log = Annotated[
    bool, typer.Option("--log", help="Scale counts to a million per sample, log2(1 + x).")
]
Top = Annotated[
    int | None,
    typer.Option("--top-variance", metavar="N", help="Only the columns of most variance.", min=1),
]
Dask = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Cluster for rows outside memory.")
]
ClinicalTable = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Table to compare with the clusters afterwards."),
]
Time = Annotated[str | None, typer.Option(metavar="COLUMN", help="Survival time in it.")]
Event = Annotated[str | None, typer.Option(metavar="COLUMN", help="Event (1) or censored (0).")]


@dataclass
class Run:
    """One run of `cluster` or `demo`: what is to be done, and what was found."""

    model: MultiViewClusterer
    n_clusters: int | tuple[int, int] | str
    folder: OutputFolder
    source: list[str]
    reading: dict[str, Any] = field(default_factory=dict)
    prepared: dict[str, Any] = field(default_factory=dict)
    checks: bool | None = None
    report: bool = True
    save: bool = False
    figures: str | None = None
    quiet: bool = False
    json: bool = False
    compare: Callable[[Any], Annotations] | None = None
    answers: list[Any] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure a stage, show its progress, and collect the warnings of the package."""
        began = clock.perf_counter()
        with warnings.catch_warnings(record=True) as caught, show_progress(self.quiet):
            warnings.simplefilter("always", MkclustWarning)
            yield
        self.seconds[name] = round(clock.perf_counter() - began, 2)
        messages = [str(w.message) for w in caught if issubclass(w.category, MkclustWarning)]
        self.warned += [message for message in messages if message not in self.warned]


@reads()
def cluster(
    paths: Paths,
    clusters: Clusters,
    *,
    method: Method = DEFAULT,
    settings: Settings = None,
    missing: Missing = None,
    seed: Seed = 0,
    reading: Reading,
    log: Log = False,
    top_variance: Top = None,
    annotations: ClinicalTable = None,
    time: Time = None,
    event: Event = None,
    checks: Checks = None,
    out: Out = Path("mkclust-out"),
    save: Save = False,
    report: Report = True,
    figures: Figures = None,
    dask: Dask = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Cluster the samples of one or more files.

    The output folder gets labels.csv, report.html, result.json and tables, in place of an
    earlier result of this command.
    """
    n_clusters = n_clusters_of(clusters)
    shared = {"missing": missing, "random_state": seed}
    model = estimator_for(method, 2, **with_shared(parameters_of(settings or ()), shared))
    folder = OutputFolder(out, "cluster", [*paths, *filter(None, [annotations])])
    folder.check()
    prepared: dict[str, Any] = {"log": log, "top_variance": top_variance}
    run = Run(
        model, n_clusters, folder, [as_text(str(path)) for path in paths], reading.given(),
        prepared, checks, report, save, figures, quiet, json,
    )  # fmt: skip
    with run.stage("read"):
        data, problems = read_all(paths, reading, missing is not None)
        if problems:
            several = [f"{len(problems)} problems:", *problems]
            raise FileFormatError("\n- ".join(several if len(problems) > 1 else problems))
        data = prepare_views(data, **prepared) if log or top_variance else data
        run.compare = comparison(annotations, reading.id, time, event, data)
    stored = isinstance(data, LargeViews)
    if dask is not None and not stored:
        run.warned.append("--dask was not used: the samples are in memory")
    with open_client(dask if stored else None):
        complete(run, data)


def demo(
    cohort: Annotated[
        bool, typer.Option("--cohort", help="220 breast cancer patients, fetched once.")
    ] = False,
    out: Out = Path("mkclust-demo"),
    checks: Checks = None,
    quiet: Quiet = False,
) -> None:
    """Cluster bundled data: handwritten digits in six views."""
    folder = OutputFolder(out, "cluster")
    folder.check()
    k, source = (3, COHORT) if cohort else (10, DIGITS)
    model = estimator_for(DEFAULT, k, random_state=0)
    run = Run(model, k, folder, [source], checks=checks, quiet=quiet)
    with run.stage("read"):
        data = demo_data(source)
    complete(run, data)


def demo_data(source: str) -> Any:
    """Return the data of `demo` by the name in its result.json; None for another name."""
    from ..data import datasets

    read = {COHORT: datasets.fetch_breast, DIGITS: datasets.load_mfeat}.get(source)
    return None if read is None else read()


def complete(run: Run, data: Any) -> None:
    """Choose k, fit, judge, ask what comes after the labels, write everything, then print it."""
    model, choice = run.model, None
    with shared_views():
        if isinstance(run.n_clusters, int):
            model.set_params(n_clusters=run.n_clusters)
        else:
            with run.stage("choose k"):
                choice = choose_k(model, data, run.n_clusters)
            run.answers.append(choice)
            model.set_params(n_clusters=choice.k)
        with run.stage("fit"):
            model.fit(data)
        with run.stage("checks"):
            ask_questions(run, data)
        with run.stage("verdict"):
            refits = next((a for a in run.answers if isinstance(a, Stability)), None)
            model.verdict_ = verdict(model, data, choice=choice, stability=refits)
        run.warned += [n for n in model.notes_ if not any(n in each for each in run.warned)]
        replaces = run.folder.replaces
        with run.stage("write"):
            result = run.folder.write(lambda folder: write_run(run, data, folder))
    console = Console(highlight=False, quiet=run.quiet, stderr=run.json)
    print_summary(console, run, data)
    written = "Replaced the earlier result in" if replaces else "Written to"
    shown = [name for name in ("report.html", "labels.csv") if name in result["files"]]
    more = f" and {counted(len(result['files']) + 1 - len(shown), 'more file')}"
    console.print(clean(f"{written} {run.folder.path}: {', '.join(shown)}{more}"))
    if run.json:
        print_result(run.folder.path, result)


def ask_questions(run: Run, data: Any) -> None:
    """Ask what comes after the labels: explanation, influence of views, stability, markers."""
    model, wanted = run.model, ["explanation", "influence", "stability", "markers"]
    expected = run.seconds["fit"] * (HALVES + EXPLAINED + data.n_views)
    if run.checks is False or (run.checks is None and expected > PATIENCE):
        wanted = ["markers"]
        why = f"they may take {expected / 60:.0f} minutes; ask for them by --checks"
        why = "--no-checks was given" if run.checks is False else why
        run.skipped.append(f"Explanation, stability and influence of views: {why}.")
    beside = [partial(prepare_report, model)] if run.report and pageable(model, data) else []
    run.answers, why_not = answer_questions(model, data, run.answers, wanted=wanted, beside=beside)
    run.skipped += why_not
    if run.compare is not None:
        try:
            compared = run.compare(model.labels_)
            run.answers.append(compared)
            run.skipped += [f"Not compared: {reason}" for reason in compared.skipped]
        except InputError as error:
            run.skipped.append(f"Annotations were not compared: {error}.")


def write_run(run: Run, data: Any, folder: Path) -> dict[str, Any]:
    """Write the files of a run to a folder; return what result.json holds beside their list."""
    model = run.model
    write_labels(folder, model, data)
    write_answers(folder, run.answers)
    if run.save:
        model.save(folder / "model.npz")
    command = as_text(shlex.join(["mkclust", *sys.argv[1:]]))
    if run.report and pageable(model, data):
        write_report(
            model, folder / "report.html", data, notes=run.warned, command=command,
            answers=run.answers, skipped=run.skipped, compute=False,
        )  # fmt: skip
    elif run.report:
        run.skipped.append("report.html was not written: it needs the embedding in memory.")
    if run.figures is not None:
        from ..report.plot import write_figures

        write_figures(model, data, folder, run.figures, answers=run.answers)
    return result_of(model, data, run.answers) | {
        "source": run.source,
        "reading": run.reading,
        "prepared": run.prepared,
        "run": command,
        "warnings": run.warned,
        "not_computed": run.skipped,
        "seconds": run.seconds,
    }


def comparison(
    path: Path | None, id: str | None, time: str | None, event: str | None, data: Any
) -> Callable[[Any], Annotations] | None:
    """Read a table of annotations before the fit; return what compares it with the clusters."""
    if path is None:
        if time is not None or event is not None:
            raise InputError("--time and --event name columns of --annotations, which is missing")
        return None
    if data.index is None:
        raise InputError(
            "--annotations needs samples with names, so that its rows can be matched; the views "
            "have none (--id names the column)"
        )
    from ..io.tables import read_table

    frame = read_table(path, id=id)
    table = match_samples(frame, data.index, id if id in frame.columns else None)
    for name, column in (("--time", time), ("--event", event)):
        if column is not None and column not in table.columns:
            known = ", ".join(map(str, table.columns))
            raise InputError(f"{name} {column} is no column of {path}; there are {known}")
    return partial(compare_annotations, table=table, index=data.index, time=time, event=event)


@contextmanager
def show_progress(quiet: bool) -> Iterator[None]:
    """Show the current step, on terminals only."""
    if quiet or not app.errors.is_terminal:
        yield
        return
    with app.errors.status("starting") as status, listening(lambda t: status.update(clean(t))):
        yield
