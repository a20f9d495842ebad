"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .arguments import LIMITS

Paths = Annotated[
    list[Path],
    typer.Argument(
        help="A .mat, .npz, .h5mu, .csv or .parquet file, a folder, or one file per view."
    ),
]
Method = Annotated[
    str, typer.Option("--method", metavar="NAME", help="The method; see [bold]mkclust methods[/].")
]
ViewNames = Annotated[
    str | None,
    typer.Option("--views", metavar="NAMES", help="Variables or files to use, comma-separated."),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|none", help="Variable, file or column with the known classes, or 'none'."
    ),
]
Index = Annotated[
    str | None,
    typer.Option(metavar="NAME|none", help="Column or variable with the sample names, or 'none'."),
]
Transpose = Annotated[
    bool | None,
    typer.Option(
        "--transpose/--no-transpose",
        help="Samples are columns, or rows.",
        show_default="from names and shapes",
    ),
]
AsKernels = Annotated[
    bool | None,
    typer.Option(
        "--kernels/--features",
        help="The matrices are kernels, or features.",
        show_default="from names and shapes",
    ),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=NUMBER",
        help=f"What a file may claim: {', '.join(LIMITS)}, such as max_bytes=2e10.",
    ),
]
Out = Annotated[Path, typer.Option("-o", "--out", metavar="FOLDER", help="Folder for the results.")]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace files that mkclust did not write, too."),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing but errors.")]
