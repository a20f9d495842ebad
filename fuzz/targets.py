"""What is fuzzed: the calls that read a file of each format, and what may come of them.

A file is read, or refused by an `InputError`. Anything else is a finding: another exception, the
end of this process, values that are no views, a file left behind.
"""

from __future__ import annotations

import os
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

LIMITS = {"untrusted": True, "memory_limit": 1 << 30, "time_limit": 60.0}


class FoundError(Exception):
    """A reader did what none may do."""


@dataclass(frozen=True)
class Target:
    """The ending of a format's files, and the calls that read them."""

    suffix: str
    calls: tuple[Callable[..., Any], ...]


def describe(path: Path, **limits: Any) -> None:
    mkclust.inspect(path, **limits)


def views(**options: Any) -> Callable[..., None]:
    return lambda path, **limits: _check_views(mkclust.read(path, **options, **limits))


def classes(path: Path, **limits: Any) -> None:
    """The file twice: as a view, and as the labels beside it."""
    beside = path.with_name(f"labels{''.join(path.suffixes)}")
    os.link(path, beside)
    try:
        _check_views(mkclust.read([path, beside], **limits))
    finally:
        beside.unlink()


def model(path: Path, **limits: Any) -> None:
    mkclust.load(path).get_params()


TARGETS: dict[str, Target] = {
    "mat": Target(".mat", (views(), describe, views(views="X"))),
    "mat73": Target(".mat", (views(), describe, views(views="X"))),
    "npz": Target(".npz", (views(), describe, views(views="X"), views(id="y"))),
    "csv": Target(".csv", (views(), classes, describe, views(decimal=","))),
    "tsv": Target(".tsv", (views(), views(id=False, labels=False))),
    "csvgz": Target(".csv.gz", (views(), classes, describe)),
    "xlsx": Target(".xlsx", (views(), classes, describe, views(id=False, labels=False))),
    "parquet": Target(".parquet", (views(), classes, describe)),
    "h5mu": Target(".h5mu", (views(), views(labels="kind"), describe)),
    "model": Target(".npz", (model,)),
}


def run(
    name: str, data: bytes, folder: Path, *, every: bool = False, untrusted: bool = False
) -> None:
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
                _call(call, path, LIMITS if untrusted else {})
    finally:
        path.unlink()
    left = os.listdir(folder)
    if left:
        raise FoundError(f"files were left behind: {left}")


def _call(call: Callable[..., Any], path: Path, limits: dict[str, Any]) -> None:
    try:
        call(path, **limits)
    except InputError as error:
        if not str(error):
            raise FoundError("an error without a message") from error


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
