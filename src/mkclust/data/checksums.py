"""Checksums of rows: which samples are duplicates, and whether data are those of a fit."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .views import MultiView

BLOCK = 1 << 18  # entries of a dense block
SEED = 8_675_309  # of the multipliers of columns
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd, with bits that look random
ABSENT = np.uint64(1)  # stands for a row that a view lacks


def hash_rows(block: Any) -> np.ndarray:
    r"""Return a number of 64 bits for every row of a matrix (b, f), dense or sparse.

    $$h_i = \sum_j r_j \cdot \text{mix}(x_{ij}) \bmod 2^{64}$$

    Every column has its own random odd $r_j$; mix spreads the bits of a double, and mix(0) is 0.
    So equal rows have equal numbers in any storage and type, and different rows in all
    likelihood different ones. About 1 s per GB.

    >>> X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])
    >>> h = hash_rows(X)
    >>> bool(h[0] == h[1] != h[2]), np.array_equal(h, hash_rows(sp.csr_array(X.astype(int))))
    (True, True)
    """
    n, width = block.shape
    factors = np.random.default_rng(SEED).integers(0, 2**64, width, dtype=np.uint64)
    factors |= np.uint64(1)
    if sp.issparse(block):
        X = sp.csr_array(block, copy=not block.has_canonical_format)
        X.sum_duplicates()
        sums = np.zeros(X.nnz + 1, dtype=np.uint64)
        np.cumsum(_mix(X.data) * factors[X.indices], out=sums[1:])
        return np.asarray(sums[X.indptr[1:]] - sums[X.indptr[:-1]])
    found, height = np.empty(n, dtype=np.uint64), max(1, BLOCK // max(width, 1))
    for start in range(0, n, height):
        found[start : start + height] = _mix(block[start : start + height]) @ factors
    return found


def hash_views(views: MultiView) -> np.ndarray:
    """Return `hash_rows` of every view, (n, m); rows that a view lacks have the number 1."""
    found = np.column_stack([hash_rows(view) for view in views.views])
    if views.present is not None:
        found[~views.present] = ABSENT
    return found


def checksum_of(hashes: np.ndarray, width: int, names: Any = None) -> str:
    """Return one SHA-256 of the rows of a view, given by `hash_rows`, and of the sample names."""
    digest = hashlib.sha256(f"{len(hashes)} x {width} ".encode())
    digest.update(np.ascontiguousarray(hashes, dtype="<u8").data)
    labels = "" if names is None else "\0".join(map(str, names))
    digest.update(labels.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def view_checksums(views: Any) -> dict[str, str]:
    """Return the checksum of every view, with the sample names, by the name of the view.

    Rows outside memory are read in blocks, by their method `blocks`.
    """
    if isinstance(views, MultiView):
        hashes = list(hash_views(views).T)
    else:
        own = range(len(views.names))
        hashes = [np.concatenate([hash_rows(b) for b in views.blocks(p)]) for p in own]
    return {
        str(name): checksum_of(rows, width, views.index)
        for name, rows, width in zip(views.names, hashes, views.widths, strict=True)
    }


def joint_checksum(checksums: dict[str, str]) -> str:
    """Return one checksum of all views, which does not depend on their order."""
    text = "\n".join(f"{name} {found}" for name, found in sorted(checksums.items()))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Duplicates:
    """Samples that are equal in every view, absent in the same views, too.

    Attributes
    ----------
    group : (n,) int array
        A number from 0 on for every distinct sample, in the order in which they appear.
    """

    group: np.ndarray

    @property
    def n_distinct(self) -> int:
        return int(self.group.max()) + 1

    @property
    def first(self) -> np.ndarray:
        """Positions of the first sample of every group, ascending."""
        return np.asarray(np.unique(self.group, return_index=True)[1])

    @property
    def mostly_duplicates(self) -> bool:
        """Whether most samples equal others, so that neighbors are mostly duplicates."""
        return 2 * self.n_distinct < len(self.group)

    def divided(self, labels: np.ndarray) -> np.ndarray:
        """Return the groups whose samples have different labels (n,)."""
        low = np.full(self.n_distinct, np.iinfo(np.int64).max)
        high = np.full(self.n_distinct, -1)
        np.minimum.at(low, self.group, labels)
        np.maximum.at(high, self.group, labels)
        return np.flatnonzero(low < high)

    def mean_rows(self, rows: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """Return rows (n, k) with the mean of its group for every sample of these groups.

        >>> same = Duplicates(np.array([0, 0, 1]))
        >>> same.mean_rows(np.array([[1.0], [2.0], [5.0]]), np.array([0])).ravel()
        array([1.5, 1.5, 5. ])
        """
        found = rows.copy()
        for group in groups:
            members = np.flatnonzero(self.group == group)
            found[members] = rows[members].mean(axis=0)
        return found

    def most_common(self, labels: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """Return labels (n,) with that of most of its members for every sample of these groups.

        Between equally many, the label that most samples have is taken.

        >>> same = Duplicates(np.array([0, 0, 0, 1]))
        >>> same.most_common(np.array([1, 1, 0, 0]), np.array([0])).tolist()
        [1, 1, 1, 0]
        """
        found, sizes = labels.copy(), np.bincount(labels)
        for group in groups:
            members = np.flatnonzero(self.group == group)
            counts = np.bincount(labels[members], minlength=len(sizes))
            found[members] = np.lexsort((sizes, counts))[-1]
        return found


def find_duplicates(hashes: np.ndarray) -> Duplicates | None:
    """Group the samples by `hash_views` (n, m); None where all are different."""
    first, group = np.unique(_join(hashes), return_index=True, return_inverse=True)[1:]
    if len(first) == len(hashes):
        return None
    return Duplicates(np.argsort(np.argsort(first))[group])


def _join(hashes: np.ndarray) -> np.ndarray:
    """Return one number for the numbers of all views (n, m): (n,)."""
    found = np.zeros(len(hashes), dtype=np.uint64)
    for column in hashes.T:
        found = _spread(found * SPREAD + column)
    return found


def _mix(values: Any) -> np.ndarray:
    """Return the bits of numbers as doubles, spread; 0 for zero of either sign."""
    X = np.asarray(values).astype(np.float64) + 0.0  # turns a negative zero into zero
    if np.isnan(X).any():
        X[np.isnan(X)] = np.nan  # one pattern of bits
    return _spread(X.view(np.uint64))


def _spread(bits: np.ndarray) -> np.ndarray:
    bits = bits * SPREAD
    bits ^= bits >> np.uint64(32)
    return bits
