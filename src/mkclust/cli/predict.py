"""The command `predict`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..exceptions import InputError
from ..methods import load
from ..predict.new_samples import OutOfSample
from .arguments import (
    AsJson,
    Out,
    Overwrite,
    Paths,
    Quiet,
    Reading,
    input_files,
    reads,
)
from .output_directory import AFTER_A_FIT, OutputFolder
from .results import print_json, result_as_dict, write_predictions
from .run import heard, printing, progress
from .wording import clean, in_options


@reads("kernels")
def predict(
    model: Annotated[Path, typer.Argument(help="A model written by cluster --save.")],
    paths: Paths,
    reading: Reading,
    out: Out = Path("mkclust-predicted"),
    overwrite: Overwrite = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Assign new samples to the clusters of a saved model.

    The files hold the same views with the same columns as those that were
    fitted; for kernels, a column for each fitted sample. Columns are matched by
    name where both have names: the order does not matter, a missing column is
    an error, others are ignored with a note. Writes labels.csv and
    embedding.npz to the output folder.
    """
    folder = OutputFolder(
        out, overwrite=overwrite, inputs=input_files([model, *paths], reading.labels)
    )
    folder.check(**dict.fromkeys(AFTER_A_FIT, False))
    fitted = load(model)
    if not isinstance(fitted, OutOfSample):
        raise InputError(
            f"{model}: {fitted.title} is not defined for samples that were not fitted; cluster "
            "all samples together, or use --method graph-fusion or mkc-dnm"
        )
    with heard() as warned:
        data = replace(reading, kernels=False).read(paths)
        with progress(quiet):
            written = folder.write(lambda staged: write_predictions(staged, fitted, data))
    console = Console(highlight=False, quiet=quiet, stderr=json)
    with printing(folder.path):
        for note in warned:
            console.print(f"[yellow]note:[/] {clean(in_options(note))}", soft_wrap=True)
        console.print(
            f"{len(data)} samples assigned to {fitted.n_clusters} clusters by {fitted.title}"
        )
        console.print(clean(written.describe(out)), soft_wrap=True)
        if json:
            print_json(result_as_dict(folder.path, written.names))
