"""Kinds of files by their names, and the name of the view that a file or sheet holds."""

from __future__ import annotations

from pathlib import Path

# The module that reads each kind of file. It is imported on first use.
ARCHIVES = {".mat": "mat5", ".npz": "npz"}  # many variables in one file; .mat v7.3 by "mat73"
STACK_AXIS = {".mat": 2, ".npz": 0}  # along which MATLAB and NumPy stack matrices
OMICS = {".h5mu": "h5mu", ".h5ad": "h5mu"}  # matrices with sample names
TEXTS = dict.fromkeys((".csv", ".tsv", ".csv.gz", ".tsv.gz"), "delimited")
WORKBOOKS = {".xlsx": "excel"}  # one table per sheet
TABLES = TEXTS | {".parquet": "parquet"} | WORKBOOKS
READERS = ARCHIVES | OMICS | TABLES


def kind_of(path: Path) -> str:
    """Return the ending that says how a file is read; that of the workbook for a sheet.

    >>> kind_of(Path("a.CSV.gz")), kind_of(Path("study.xlsx/rna")), kind_of(Path("b.tar"))
    ('.csv.gz', '.xlsx', '.tar')
    """
    if is_sheet(path):
        return path.parent.suffix.lower()
    ending = "".join(path.suffixes[-2:]).lower()
    return ending if ending in READERS else path.suffix.lower()


def view_name(path: Path) -> str:
    """Return the name of the view in a file: its name without the ending; that of a sheet.

    >>> view_name(Path("rna.csv.gz")), view_name(Path("rna.v2.csv")), view_name(Path("s.xlsx/x.y"))
    ('rna', 'rna.v2', 'x.y')
    """
    if is_sheet(path):
        return path.name
    kind = kind_of(path)
    return path.name[: -len(kind)] if kind in READERS and path.name != kind else path.stem


def is_sheet(path: Path) -> bool:
    """Return whether a path is that of a sheet: WORKBOOK.xlsx/SHEET."""
    return path.parent.suffix.lower() in WORKBOOKS and not path.parent.is_dir()


def file_of(path: Path) -> Path:
    """Return the file itself: the workbook of a sheet."""
    return path.parent if is_sheet(path) else path
