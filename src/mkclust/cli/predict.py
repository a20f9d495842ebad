"""The command `predict`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from ..exceptions import InputError, MkclustWarning
from ..methods import load
from ..out_of_sample.predictor import OutOfSample
from .arguments import chosen_limits, input_files, read_views
from .options import Index, Labels, Limit, Out, Overwrite, Paths, Quiet, Transpose, ViewNames
from .output_directory import AFTER_A_FIT, OutputFolder
from .results import write_predictions
from .run import progress
from .summary import clean
from .wording import in_options


def predict(
    model: Annotated[Path, typer.Argument(help="A model written by cluster --save.")],
    paths: Paths,
    views: ViewNames = None,
    labels: Labels = None,
    index: Index = None,
    transpose: Transpose = None,
    limit: Limit = None,
    out: Out = Path("mkclust-predicted"),
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Assign new samples to the clusters of a saved model.

    The files hold the same views with the same columns as those that were
    fitted; for kernels, a column for each fitted sample. Columns are matched by
    name where both have names: the order does not matter, a missing column is
    an error, others are ignored with a note. Writes labels.csv and
    embedding.npz to the output folder.
    """
    folder = OutputFolder(out, overwrite=overwrite, inputs=input_files([model, *paths], labels))
    folder.check(**dict.fromkeys(AFTER_A_FIT, False))
    fitted = load(model, limits=chosen_limits(limit))
    if not isinstance(fitted, OutOfSample):
        raise InputError(
            f"{model}: {fitted.title} is not defined for samples that were not fitted; cluster "
            "all samples together, or use --method graph-fusion or mkc-dnm"
        )
    data = read_views(paths, views, labels, index, transpose, kernels=False, limit=limit)
    with warnings.catch_warnings(record=True) as caught, progress(quiet):
        warnings.simplefilter("always", MkclustWarning)
        written = folder.write(lambda staged: write_predictions(staged, fitted, data))
    console = Console(highlight=False, quiet=quiet)
    for note in (str(w.message) for w in caught if issubclass(w.category, MkclustWarning)):
        console.print(f"[yellow]note:[/] {clean(in_options(note))}", soft_wrap=True)
    console.print(f"{len(data)} samples assigned to {fitted.n_clusters} clusters by {fitted.title}")
    console.print(escape(written.describe(out)), soft_wrap=True)
