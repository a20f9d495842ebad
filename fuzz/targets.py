"""What is fuzzed: one function per format, which reads a file of any bytes and checks the outcome.

A file may be read, or refused by an error of ours. Anything else is a finding: another exception,
memory beyond the limits, a file written, code run.
"""

from __future__ import annotations

import os
import sys
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import mkclust
from mkclust.data.views import MultiView
from mkclust.exceptions import InputError
from mkclust.io import Limits, inspect, read
from mkclust.large.views import LargeViews

LIMITS = Limits(max_bytes=64 << 20, max_views=1000, max_columns=100_000)
NEVER = ("pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen",
         "socket.connect")  # fmt: skip


class FoundError(Exception):
    """A reader did what none may do."""


@dataclass(frozen=True)
class Target:
    """The ending of a format's files, and the calls that read them."""

    suffix: str
    calls: tuple[Callable[[Path], Any], ...]


def described(path: Path) -> None:
    inspect(path, limits=LIMITS)


def views(**options: Any) -> Callable[[Path], None]:
    return lambda path: _check_views(read(path, limits=LIMITS, **options))


def classes(path: Path) -> None:
    """The file twice: as a view, and as the labels beside it."""
    beside = path.with_name(f"labels{''.join(path.suffixes)}")
    os.link(path, beside)
    try:
        _check_views(read([path, beside], limits=LIMITS))
    finally:
        beside.unlink()


def rows(path: Path) -> None:
    """Rows that stay in their file: opened, then read from its start and to its end."""
    views = LargeViews([path])
    ends = np.unique([0, len(views) - 1])
    if views.take(ends).shape != (len(ends), views.shape[1]):
        raise FoundError(f"rows of {views.take(ends).shape[1]} columns")


def model(path: Path) -> None:
    mkclust.load(path, limits=LIMITS).get_params()


TARGETS: dict[str, Target] = {
    "mat": Target(".mat", (views(), described, views(views="X"))),
    "mat73": Target(".mat", (views(), described, views(views="X"))),
    "npz": Target(".npz", (views(), described, views(views="X"), views(index="y"))),
    "npy": Target(".npy", (rows,)),
    "csv": Target(".csv", (views(), classes, described, views(decimal=","))),
    "tsv": Target(".tsv", (views(), views(index=False, labels=False))),
    "csvgz": Target(".csv.gz", (views(), classes, described)),
    "xlsx": Target(".xlsx", (views(), classes, described, views(index=False, labels=False))),
    "parquet": Target(".parquet", (views(), classes, described, rows)),
    "h5mu": Target(".h5mu", (views(), views(labels="kind"), described)),
    "model": Target(".npz", (model,)),
}


def run(name: str, data: bytes, folder: Path, *, every: bool = False) -> None:
    """Read these bytes as a file of this format in an empty folder, which stays empty.

    One of the format's calls is made, which one depends on the bytes; or `every` one of them.
    """
    target = TARGETS[name]
    path = folder / f"input{target.suffix}"
    path.write_bytes(data)
    calls = target.calls if every else target.calls[zlib.crc32(data) % len(target.calls) :][:1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for call in calls:
                _ours(call, path)
    finally:
        path.unlink()
    left = os.listdir(folder)
    if left:
        raise FoundError(f"files were left behind: {left}")


def watch() -> None:
    """From now on running code, or reaching out, is a finding."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in NEVER:
            raise FoundError(f"{event} {arguments!r}")

    sys.addaudithook(hook)


def _ours(call: Callable[[Path], Any], path: Path) -> None:
    try:
        call(path)
    except InputError as error:
        if not str(error):
            raise FoundError("an error without a message") from error
        if isinstance(error.__cause__, FoundError):
            raise error.__cause__ from error
        if isinstance(error.__cause__, MemoryError) and not _of_the_parser(error.__cause__):
            raise FoundError("memory beyond the limits was asked for") from error


def _of_the_parser(error: BaseException) -> bool:
    """Python's own parser raises MemoryError where brackets are nested too deeply."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return step is not None and step.tb_frame.f_code.co_filename.endswith("ast.py")


def _check_views(found: MultiView) -> None:
    for view in found.views:
        sparse = sp.issparse(view)
        values = view.data if sparse else view
        whole = sparse or (found.kernels and found.present is None)  # tables may have gaps
        if (
            view.shape[0] != len(found)
            or (~np.isfinite(values) if whole else np.isinf(values)).any()
        ):
            raise FoundError(
                f"a view of shape {view.shape} that is not finite, or not of all samples"
            )
    for beside in (found.labels, found.index):
        if beside is not None and len(beside) != len(found):
            raise FoundError(f"{len(beside)} values for {len(found)} samples")
