"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .arguments import LIMITS

Paths = Annotated[
    list[Path],
    typer.Argument(
        help="A .mat, .npz, .h5mu, .csv, .xlsx or .parquet file, a folder, or a file per view."
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
        metavar="NAME|FILE|none",
        help="Variable, column or file with the known classes, or 'none'.",
    ),
]
Index = Annotated[
    str | None,
    typer.Option(metavar="NAME|none", help="Column or variable with the sample names, or 'none'."),
]
DropColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--drop-column", metavar="NAME", help="Leave this column out of every table; repeatable."
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep",
        metavar="CHARACTER",
        help="Between the cells of a text table; 'tab' or 'space' for those.",
        show_default="from the first lines",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(metavar=".|,", help="Decimal sign.", show_default="from the first lines"),
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
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print the result as JSON; messages go to standard error."),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing but errors.")]
