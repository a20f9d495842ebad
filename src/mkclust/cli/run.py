"""One run of `cluster` or `demo`: choose k, fit, check, write, print."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from ..agreement.cache import shared_views
from ..base import MultiViewClusterer
from ..data.views import MultiView
from ..exceptions import MkclustWarning
from ..inspection import ChoiceOfK, Stability, choose_k, verdict
from ..large.views import LargeViews
from ..progress import listening
from ..report import pageable, prepare_report, write_report
from . import app, startup
from .after import Clinical, found_annotations
from .answers import answers_as_dict, answers_for, write_tables
from .output_directory import OutputFolder, StagedModel, Written
from .results import print_json, result_as_dict, write_arrays, write_result
from .summary import choice_table, summary
from .wording import clean, in_options


@dataclass(frozen=True)
class Job:
    """What is to be done: the estimator, the numbers of clusters to try, where results go."""

    model: MultiViewClusterer
    tried: tuple[int, int] | str | None
    folder: OutputFolder
    source: list[str]
    command: str
    report: bool = True
    checks: bool | None = None
    save: Path | None = None
    quiet: bool = False
    markers: bool = True
    clinical: Clinical | None = None
    warnings: tuple[str, ...] = ()  # of reading
    json: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a run found beside the fitted model."""

    choice: ChoiceOfK | None
    checked: list[Any]
    skipped: list[str]
    notes: list[str]

    @property
    def answers(self) -> list[Any]:
        return [*([] if self.choice is None else [self.choice]), *self.checked]


class Stopwatch:
    """The seconds of each stage, from the start of the command on."""

    def __init__(self) -> None:
        self.began = startup.began
        self.seconds = {"start": time.perf_counter() - self.began}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure a stage."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = time.perf_counter() - began

    def describe(self) -> str:
        """Return the stages with their seconds, and the total until now."""
        shown = {n: s for n, s in self.seconds.items() if s >= 0.05 or n in ("fit", "checks")}
        stages = [f"{name} {spent:.1f}" for name, spent in shown.items()]
        total = time.perf_counter() - self.began
        return f"Seconds: {', '.join([*stages, f'total {total:.1f}'])}"


def run(job: Job, data: MultiView | LargeViews, watch: Stopwatch) -> None:
    """Choose k, fit, check, write the results, then print them."""
    with shared_views():
        found = _computed(job, data, watch)
        with progress(job.quiet):
            with watch.stage("save"):
                staged, problem = _staged(job.model, job.save)
            written = _written(job, data, found, watch, staged)
    if problem is not None:
        raise OSError(f"{problem}; the results are in {job.folder.path}")
    with printing(job.folder.path):
        _print(job, data, found, written, watch)
        if job.json:
            print_json(result_as_dict(job.folder.path, written.names))


def _computed(job: Job, data: MultiView | LargeViews, watch: Stopwatch) -> Outcome:
    model, choice = job.model, None
    with heard() as caught, progress(job.quiet):
        if job.tried is not None:
            with watch.stage("choose k"):
                choice = choose_k(model, data, job.tried)
            model.set_params(n_clusters=choice.k)
        with watch.stage("fit"):
            model.fit(data)
        with watch.stage("checks"):
            drawing = [partial(prepare_report, model)] if _paged(job, data) else []
            fit_seconds = watch.seconds["fit"]
            checked, skipped = answers_for(
                model, data, job.checks, job.markers, fit_seconds, drawing
            )
            refits = next((each for each in checked if isinstance(each, Stability)), None)
            model.verdict_ = verdict(model, data, choice=choice, stability=refits)
            compared, not_compared = found_annotations(job.clinical, model, data.index)
            checked, skipped = [*checked, *compared], [*skipped, *not_compared]
    notes = [*job.warnings, *caught]
    notes += [note for note in getattr(model, "notes_", ()) if not any(note in n for n in notes)]
    if job.report and not _paged(job, data):
        skipped.append("report.html was not written: it needs the embedding in memory.")
    return Outcome(choice, checked, skipped, list(dict.fromkeys(notes)))


def _paged(job: Job, data: MultiView | LargeViews) -> bool:
    """Return whether report.html is written; known after the fit."""
    return job.report and pageable(job.model, data)


def _written(
    job: Job,
    data: MultiView | LargeViews,
    found: Outcome,
    watch: Stopwatch,
    staged: StagedModel | None,
) -> Written:
    model = job.model
    extra = {
        "source": job.source,
        "command": job.command,
        "warnings": found.notes,
        "not_computed": found.skipped,
    } | answers_as_dict(found.answers)

    def write(folder: Path) -> None:
        write_arrays(folder, model, data)
        write_tables(folder, found.answers)
        if _paged(job, data):
            write_report(
                model, folder / "report.html", data, notes=found.notes, command=job.command,
                answers=found.answers, skipped=found.skipped, compute=False,
            )  # fmt: skip
        write_result(folder, model, data, extra | {"seconds": watch.seconds})

    with watch.stage("report" if job.report else "write"):
        return job.folder.write(write, staged)


def _staged(model: MultiViewClusterer, path: Path | None) -> tuple[StagedModel | None, str | None]:
    """Write the model under a temporary name; return it, or why it cannot be written."""
    if path is None:
        return None, None
    try:
        return StagedModel.written(model.save, path), None
    except OSError as error:
        return None, f"the model cannot be written to {path}: {error.strerror or error}"


def _print(
    job: Job, data: MultiView | LargeViews, found: Outcome, written: Written, watch: Stopwatch
) -> None:
    console = Console(highlight=False, quiet=job.quiet, stderr=job.json)
    for note in data.notes:
        console.print(f"[dim]{clean(in_options(note))}[/]")
    first, *others = job.model.verdict_.sentences
    console.print(f"[bold]{clean(first)}[/]")
    for line in others:
        console.print(clean(line))
    if found.choice is not None:
        console.print(choice_table(found.choice, job.model))
    console.print(summary(job.model, data))
    if (certain := job.model.verdict_.confidence) is not None:
        console.print(f"[bold]Confidence:[/] {certain}")
    for answer in found.checked:
        console.print(f"[bold]{answer.title}:[/] {clean(str(answer))}")
    for line in found.skipped:
        console.print(f"[dim]{clean(in_options(line))}[/]")
    for note in found.notes:
        console.print(f"[yellow]note:[/] {clean(in_options(note))}")
    console.print(clean(written.describe(job.folder.path)))
    if job.save is not None:
        console.print(clean(f"Model written to {os.fspath(job.save)}"))
    console.print(watch.describe())


@contextmanager
def heard() -> Iterator[list[str]]:
    """Collect the warnings of the package instead of printing them; complete after the block."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MkclustWarning)
        yield found
    found += [str(w.message) for w in caught if issubclass(w.category, MkclustWarning)]


@contextmanager
def printing(results: Path) -> Iterator[None]:
    """Print once all is written: a reader that stops reading, such as `head`, is no error."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich turns the one into the other
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes once more at the end
    except OSError as error:
        reason = error.strerror or error
        raise OSError(f"standard output: {reason}; the results are in {results}") from None


@contextmanager
def progress(quiet: bool) -> Iterator[None]:
    """Show the current step, on terminals only."""
    if quiet or not app.errors.is_terminal:
        yield
        return
    with app.errors.status("starting") as status:

        def show(text: str) -> None:
            status.update(clean(text))

        with listening(show):
            yield
