"""Checksums of views, which do not depend on how their numbers are stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

BLOCK = 1 << 20  # entries of a dense block


def rows_checksum(blocks: Iterable[Any], width: int, names: Sequence[Any] | None = None) -> str:
    """Return the SHA-256 of a table given in blocks of rows, and of the names of its samples.

    It covers the position and the value, as a double, of every entry that is not zero. So it is
    the same for a dense and a sparse table, in any type that holds the values, in any layout,
    and in blocks of any size. Other values, another order of rows or columns, and other names
    give another checksum. It takes about 2 s per GB of doubles.

    >>> X = np.eye(3)
    >>> dense = rows_checksum([X], 3)
    >>> dense == rows_checksum([sp.csr_array(X[:2]), X[2:].astype(int)], 3)
    True
    >>> dense == rows_checksum([X], 3, names="abc")
    False
    """
    positions, values, n = hashlib.sha256(), hashlib.sha256(), 0
    for block in blocks:
        at, entries = _entries(block)
        positions.update((at + n * width).data)
        values.update(entries.data)
        n += block.shape[0]
    labels = "" if names is None else "\0".join(map(str, names))
    whole = f"{n} x {width} {positions.hexdigest()} {values.hexdigest()} {labels}"
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


def view_checksums(views: Any) -> dict[str, str]:
    """Return the checksum of every view of a `MultiView` or of `LargeViews`, by its name."""
    found: dict[str, str] = {}
    blocks: Iterable[Any]
    for p, (name, width) in enumerate(zip(views.names, views.widths, strict=True)):
        height = max(1, BLOCK // max(width, 1))
        spans = [slice(a, min(a + height, len(views))) for a in range(0, len(views), height)]
        if hasattr(views, "blocks"):  # rows stored outside memory
            blocks = views.blocks(p)
        else:
            view = views.views[p]
            blocks = [view] if sp.issparse(view) else (view[span] for span in spans)
        found[str(name)] = rows_checksum(blocks, width, views.index)
    return found


def joint_checksum(checksums: dict[str, str]) -> str:
    """Return one checksum of all views, which does not depend on their order."""
    text = "\n".join(f"{name} {found}" for name, found in sorted(checksums.items()))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _entries(block: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return positions in row-major order, and values as doubles, of the entries that are not 0."""
    if sp.issparse(block):
        X = sp.csr_array(block, dtype=np.float64, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        at, values = rows * X.shape[1] + X.indices.astype(np.int64), X.data
    else:
        flat = np.asarray(block, dtype=np.float64).ravel()
        at = np.flatnonzero(flat).astype(np.int64)
        values = flat[at]
    values = np.where(np.isnan(values), np.nan, values)  # one pattern of bits for NaN
    return at, np.ascontiguousarray(values, dtype="<f8")
