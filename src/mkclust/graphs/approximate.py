r"""Near others of every sample, of many samples, without all distances: sought around each.

Samples drawn as pivots divide the others into cells, each to its nearest pivot. The neighbours of
a cell's samples are sought among those of the cell itself and of the cells around it, until
enough samples have been seen: O(n (s + n / c) f), s seen and c in a cell, in place of
O(n^2 f). Not all are the true nearest, but those found instead are hardly farther.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .metrics import Geometry, Joint
from .neighbors import Nearest, to_distances

CELL = 200  # samples in a cell, on average; none has more than twice as many
SEEN = 5000  # samples that a neighbour is sought among, at least
CLOSE = 1000  # of them, those that are compared first
TIMES = 4  # as many as neighbours wanted, at least
AT_ONCE = 4 << 20  # products in memory while samples are divided among pivots
SINGLE = 8 * float(np.finfo(np.float32).eps)  # of two squared lengths: no distance, but rounding


class Cells(NamedTuple):
    """The samples cell by cell in `order` (n,), cell j from `edges[j]` to `edges[j + 1]`, and its
    squared distances to the others in `apart[pivots[j], pivots]`."""

    order: np.ndarray
    edges: np.ndarray
    pivots: np.ndarray
    apart: np.ndarray

    def around(self, cell: int, wanted: int) -> np.ndarray:
        """Where in `order` those of a cell and of the cells nearest to it are, itself first."""
        numbers = np.arange(len(self.pivots))
        far = self.apart[self.pivots[cell], self.pivots]
        # Pieces of one cell are equally far: of them the next in number is the next.
        nearest = np.lexsort((np.abs(numbers - cell), far, numbers != cell))
        sizes = np.diff(self.edges)[nearest]
        enough = int(np.searchsorted(np.cumsum(sizes), wanted)) + 1
        spans = nearest[:enough]
        return np.concatenate([np.arange(self.edges[j], self.edges[j + 1]) for j in spans])


def nearest_in_cells(geometry: Geometry | Joint, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Places (n, count) and squared distances (n, count) of near others, nearest first.

    As `nearest.nearest`, but among the samples around each, and in single precision. Of equal
    input the answer is equal. Memory n x count, and the points once more in half their size.

    >>> line = Geometry("x", np.arange(600.0)[:, None])
    >>> places, squared = nearest_in_cells(line, 2)
    >>> sorted(places[300].tolist()), squared[300].tolist()
    ([299, 301], [1.0, 1.0])
    """
    n = geometry.n_samples
    cells = divided(geometry)
    points = geometry.in_order(cells.order, np.float32)
    # Lengths from the points as given: those of unit length stay so, and a right angle is one.
    norms = geometry.norms()[cells.order].astype(np.float32)
    places = np.empty((n, count), dtype=np.int64)
    squared = np.empty((n, count))
    wanted = min(n, max(SEEN, TIMES * count))
    for cell in range(len(cells.pivots)):
        rows = slice(cells.edges[cell], cells.edges[cell + 1])
        who = cells.around(cell, wanted)
        near, far = _among(points, norms, rows, who, count)
        far[far <= SINGLE * (norms[who[near]] + norms[rows, None])] = 0.0
        at = cells.order[rows]
        places[at], squared[at] = cells.order[who[near]], far
    return places, squared


def _among(
    points: Geometry | Joint, norms: np.ndarray, rows: slice, who: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Which of the samples `who`, the cell's own first, are nearest to those of the cell, and how
    near: those close by first, so that few of the others come into question."""
    size = rows.stop - rows.start
    own, found = slice(0, size), Nearest(size, count)
    first = min(len(who), max(size + count, CLOSE))
    for columns in (slice(0, first), slice(first, len(who))):
        D2 = points.products(rows, who[columns])
        to_distances(D2, norms[rows], norms[who[columns]])
        if columns.start == 0:
            np.fill_diagonal(D2[:, :size], np.inf)
        found.offer(own, columns, D2)
    return found.in_order()


def divided(geometry: Geometry | Joint) -> Cells:
    """Every sample in the cell of its nearest pivot, large cells in pieces."""
    n = geometry.n_samples
    shuffled = np.random.default_rng(0).permutation(n)
    points = geometry.in_order(shuffled, np.float32)
    norms, pivots = points.norms(), slice(0, -(-n // CELL))
    nearest = np.concatenate(
        [
            (norms[pivots] - 2 * points.products(rows, pivots)).argmin(axis=1)
            for rows in _blocks(n, max(1, AT_ONCE // pivots.stop))
        ]
    )
    sizes = np.bincount(nearest, minlength=pivots.stop)
    pieces = -(-sizes // (2 * CELL))  # none of a cell that is empty
    ends = [start + size * np.arange(1, p + 1) // p for start, size, p in _spans(sizes, pieces)]
    apart = norms[pivots, None] + norms[pivots] - 2 * points.products(pivots, pivots)
    return Cells(
        order=shuffled[np.argsort(nearest, kind="stable")],
        edges=np.concatenate([[0], *ends]),
        pivots=np.repeat(np.arange(pivots.stop), pieces),
        apart=apart,
    )


def _blocks(n: int, height: int) -> Iterator[slice]:
    return (slice(start, min(n, start + height)) for start in range(0, n, height))


def _spans(sizes: np.ndarray, pieces: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Where each cell that is not empty starts, its size, and its pieces."""
    starts = np.cumsum(sizes) - sizes
    return ((s, z, p) for s, z, p in zip(starts, sizes, pieces, strict=True) if p)
