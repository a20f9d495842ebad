"""Recognition of fitted samples among new ones by hashes of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

BLOCK = 1 << 20  # entries of a sparse view made dense at a time
NOTHING = bytes(16)  # digest of an absent row


class FittedRows:
    """Look up the fitted rows of the embedding (n, k) by the rows of a sample in all views.

    A sample that equals a fitted one in every view gets its row of the embedding; the first of
    several equal ones. The extension alone would differ by rounding, which tiny eigenvalues
    amplify, and with neighbor graphs, where a fitted sample is not its own neighbor. O(n sum(f))
    once, then O(sum(f)) per new row.

    >>> known = FittedRows([np.eye(2)], [None], np.array([[5.0], [7.0]]))
    >>> H = np.zeros((2, 1))
    >>> known.put([np.array([[0.0, 1.0], [1.0, 1.0]])], None, H)
    >>> H.ravel()
    array([7., 0.])
    """

    def __init__(
        self, views: Sequence[Any], held: Sequence[np.ndarray | None], embedding: np.ndarray
    ) -> None:
        self._embedding = embedding
        columns = []
        for view, mask in zip(views, held, strict=True):
            found = _digests(view)
            if mask is not None:
                own = iter(found)
                found = [next(own) if here else NOTHING for here in mask.tolist()]
            columns.append(found)
        keys = [b"".join(key) for key in zip(*columns, strict=True)]
        self._places = {key: i for i, key in reversed(list(enumerate(keys)))}

    def put(self, views: Sequence[np.ndarray], present: np.ndarray | None, H: np.ndarray) -> None:
        """Write the fitted rows into H (b, k) for the fitted samples among new ones."""
        columns = [_digests(view) for view in views]
        if present is not None:
            for row, view in np.argwhere(~present).tolist():
                columns[view][row] = NOTHING
        for i, key in enumerate(zip(*columns, strict=True)):
            place = self._places.get(b"".join(key))
            if place is not None:
                H[i] = self._embedding[place]


def _digests(view: Any) -> list[bytes]:
    height = max(1, BLOCK // view.shape[1])
    found = []
    for start in range(0, view.shape[0], height):
        rows = view[start : start + height]
        dense = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
        dense = np.ascontiguousarray(dense, dtype=np.float64) + 0  # a negative zero is zero
        found += [blake2b(row.tobytes(), digest_size=16).digest() for row in dense]
    return found
