"""The commands `cluster` and `demo`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ..base import MultiViewClusterer
from ..data import datasets
from ..data.views import MultiView
from ..exceptions import InputError, MkclustWarning, warn
from ..large.blocks import open_client
from ..large.views import LargeViews
from ..methods import DEFAULT, METHODS, estimator_for
from .after import Clinical, check_clinical
from .arguments import (
    AsJson,
    Method,
    Out,
    Overwrite,
    Paths,
    Quiet,
    Reading,
    as_taken,
    asked_k,
    input_files,
    reads,
)
from .method_options import chosen_options, with_method_options
from .output_directory import OutputFolder, check_model_path
from .results import valid
from .run import Job, Stopwatch, heard, run
from .wording import option

Clusters = Annotated[
    str,
    typer.Option(
        "-k",
        "--clusters",
        metavar="K|auto|LOW:HIGH",
        help="Number of clusters; 'auto' chooses it, '3:20' chooses from 3 to 20.",
    ),
]
Missing = Annotated[
    Literal["median", "knn"] | None,
    typer.Option(
        help="Fill NaN cells per view: by the median of the column or the nearest samples.",
        show_default="refuse them",
    ),
]
Restarts = Annotated[
    int | None, typer.Option("--n-init", help="Restarts of k-means.", min=1, show_default="10")
]
Seed = Annotated[int | None, typer.Option(help="Seed of k-means.", min=0, show_default="0")]
Checks = Annotated[
    bool | None,
    typer.Option(
        "--stability/--no-stability",
        help="Explain the answer; refit to halves of the samples and without each view, and "
        "compare the labels.",
        show_default="if expected within two minutes",
    ),
]
Report = Annotated[bool, typer.Option("--report/--no-report", help="Write report.html.")]
WithMarkers = Annotated[
    bool, typer.Option("--markers/--no-markers", help="Test which features set clusters apart.")
]
ClinicalFile = Annotated[
    Path | None,
    typer.Option(
        "--annotations",
        metavar="FILE",
        help="Table of clinical columns, by sample name, to compare with the clusters afterwards.",
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Survival time in the annotations.",
        show_default="a column such as OS.time",
    ),
]
Event = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Event (1) or censored (0) in the annotations.",
        show_default="a column such as OS",
    ),
]
Correction = Annotated[
    str, typer.Option(metavar="holm|bh", help="Correction of p values over the annotations.")
]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Scheduler of a dask cluster that computes with views stored in parts.",
    ),
]
Save = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write the fitted model to this .npz, for [bold]mkclust predict[/]."
    ),
]


@reads()
@with_method_options
def cluster(
    paths: Paths,
    clusters: Clusters,
    *,
    method: Method = DEFAULT,
    reading: Reading,
    missing: Missing = None,
    n_init: Restarts = None,
    seed: Seed = None,
    out: Out = Path("mkclust-out"),
    overwrite: Overwrite = False,
    stability: Checks = None,
    report: Report = True,
    save: Save = None,
    dask: Dask = None,
    markers: WithMarkers = True,
    annotations: ClinicalFile = None,
    time: Time = None,
    event: Event = None,
    correction: Correction = "holm",
    json: AsJson = False,
    quiet: Quiet = False,
    options: dict[str, Any],
) -> None:
    """Cluster the samples of one or more files.

    Writes labels.csv, embedding.npz (or graph.npz), stability.csv, markers.csv,
    alternatives.csv, annotations.csv, result.json and report.html to the output
    folder, in place of those of an earlier run; mkclust.json lists them. Where
    views are stored in parts (folders of .npy or .parquet, zarr), rows are read in
    chunks, and labels, embedding and confidence are written as parts.
    """
    watch = Stopwatch()
    asked = asked_k(clusters)
    given = {"missing": missing, "n_init": n_init, "random_state": seed}
    model = _estimator(method, asked, options | given)
    inputs = input_files([*paths, *([] if annotations is None else [annotations])], reading.labels)
    check_clinical(annotations, time, event, correction)
    folder = OutputFolder(out, overwrite=overwrite, inputs=inputs)
    folder.check(
        report=report,
        stability=stability is not False,
        alternatives=stability is not False,
        markers=markers,
        annotations=annotations is not None,
    )
    if save is not None:
        check_model_path(save, folder, inputs)
    with watch.stage("read"), heard() as warned:
        data = _data(model, reading.read(paths), options)
        if dask is not None and not isinstance(data, LargeViews):
            warn("--dask was not used: the samples are clustered in memory", MkclustWarning)
        clinical = None
        if annotations is not None:
            clinical = Clinical.read(annotations, time, event, correction, data.index, reading)
    tried = None if isinstance(asked, int) else asked
    source = [valid(str(path)) for path in paths]
    job = Job(
        model, tried, folder, source, _command(), report, stability, save, quiet, markers,
        clinical, tuple(warned), json,
    )  # fmt: skip
    with open_client(dask if isinstance(data, LargeViews) else None):
        run(job, data, watch)


def demo(
    method: Method = DEFAULT,
    out: Out = Path("mkclust-demo"),
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Cluster the bundled handwritten digits into ten clusters.

    The data are 2000 samples in six views (UCI Multiple Features).
    """
    watch = Stopwatch()
    model = _estimator(method, 10, {})
    folder = OutputFolder(out, overwrite=overwrite)
    folder.check(annotations=False)
    with watch.stage("read"):
        data = datasets.load_mfeat()
    source = ["UCI Multiple Features"]
    run(Job(model, None, folder, source, _command(), quiet=quiet), data, watch)


def _command() -> str:
    """Return the command as it was typed."""
    return valid(shlex.join(["mkclust", *sys.argv[1:]]))


def _estimator(method: str, asked: Any, options: dict[str, Any]) -> MultiViewClusterer:
    if method not in METHODS:
        raise InputError(f"unknown --method {method!r}; known are {', '.join(METHODS)}")
    k = asked if isinstance(asked, int) else 2  # until it is chosen
    return estimator_for(method, k, **({"random_state": 0} | chosen_options(method, options)))


def _data(
    model: MultiViewClusterer, data: MultiView | LargeViews, options: dict[str, Any]
) -> MultiView | LargeViews:
    """Return the views as the method takes them."""
    for name in ("kernel", "kernel_params"):
        if data.kernels and options.get(name):
            raise InputError(
                f"{option(name)} cannot be used with views that are kernel matrices already; "
                "--features takes them as features"
            )
    return as_taken(model, data)
