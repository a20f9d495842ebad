"""How often each class meets each cluster, and the four metrics that follow from it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from .exceptions import InputError, MkclustWarning

SPREAD = 4  # a table with up to so many cells per sample is counted cell by cell

NORMALIZERS: dict[str, Callable[[float, float], float]] = {
    "max": max,
    "arithmetic": lambda a, b: (a + b) / 2,
    "geometric": lambda a, b: sqrt(a * b),
    "min": min,
}


@dataclass(frozen=True)
class Table:
    r"""$n_{ij}$, how many samples of class i are in cluster j, without the zeros.

    Class `rows[t]` and cluster `columns[t]` share `counts[t]` samples; `shape` is the number of
    classes and of clusters. All metrics follow from it, so labels are read and counted once:
    O(n log n), and no more cells than samples whatever the number of clusters. Accuracy alone
    writes the whole table.

    >>> Table.of(["a", "a", "b"], [7, 3, 3]).counts
    array([1, 1, 1])
    """

    rows: np.ndarray
    columns: np.ndarray
    counts: np.ndarray
    shape: tuple[int, int]

    @classmethod
    def of(cls, classes: Any, labels: Any, finite: bool = False) -> Table:
        """The table of two labelings of the same samples; NaN is refused where `finite`."""
        i, height = _numbered(classes, "classes", finite)
        j, width = _numbered(labels, "labels", finite)
        if len(i) != len(j):
            raise InputError(
                f"classes and labels must be of the same samples: there are {len(i)} classes "
                f"and {len(j)} labels"
            )
        cells = i * width + j
        if height * width <= SPREAD * len(i):
            every = np.bincount(cells, minlength=height * width)
            filled = every.nonzero()[0]
            counts = every[filled]
        else:
            filled, counts = np.unique(cells, return_counts=True)
        rows, columns = np.divmod(filled, max(width, 1))
        return cls(rows, columns, counts.astype(np.int64, copy=False), (height, width))

    @cached_property
    def n(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """How many samples each class has, and each cluster."""
        height, width = self.shape
        a, b = np.zeros(height, dtype=np.int64), np.zeros(width, dtype=np.int64)
        np.add.at(a, self.rows, self.counts)
        np.add.at(b, self.columns, self.counts)
        return a, b

    def accuracy(self) -> float:
        self._some()
        whole = np.zeros(self.shape, dtype=np.int64)
        whole[self.rows, self.columns] = self.counts
        return float(whole[linear_sum_assignment(whole, maximize=True)].sum() / self.n)

    def purity(self) -> float:
        self._some()
        largest = np.zeros(self.shape[1], dtype=np.int64)
        np.maximum.at(largest, self.columns, self.counts)
        return float(largest.sum() / self.n)

    def nmi(self, normalizer: str = "max") -> float:
        """One where neither labeling splits the samples, zero where just one does not."""
        if normalizer not in NORMALIZERS:
            known = ", ".join(map(repr, NORMALIZERS))
            raise InputError(f"normalizer must be one of {known}, not {normalizer!r}")
        if max(self.shape) <= 1:
            return 1.0
        information = self.information()
        if information == 0:
            return 0.0
        return information / NORMALIZERS[normalizer](*map(_entropy, self.sizes))

    def information(self) -> float:
        r"""$\sum_{ij} \frac{n_{ij}}{n} \log\frac{n\,n_{ij}}{a_i b_j}$; mere rounding is zero."""
        if min(self.shape) == 1:
            return 0.0
        a, b = self.sizes
        share = self.counts / self.n
        chance = -np.log(a[self.rows] * b[self.columns]) + log(self.n) + log(self.n)
        terms = share * (np.log(self.counts) - log(self.n)) + share * chance
        terms[np.abs(terms) < np.finfo(float).eps] = 0.0
        return max(float(terms.sum()), 0.0)

    def ari(self) -> float:
        """From ordered pairs of samples: together in both labelings, in one, in neither.

        Python's integers, because the product of two such counts exceeds 64 bits from n = 1e5 on.
        """
        a, b = self.sizes
        both, n = _squares(self.counts), self.n
        of_class, of_cluster = _squares(a) - both, _squares(b) - both
        if of_class == 0 and of_cluster == 0:
            return 1.0
        neither, together = n * n - both - of_class - of_cluster, both - n
        agreement = 2 * (together * neither - of_class * of_cluster)
        most = (together + of_class) * (of_class + neither)
        most += (together + of_cluster) * (of_cluster + neither)
        return agreement / most

    def _some(self) -> None:
        if not self.n:
            raise InputError("classes and labels are empty: give at least one sample")


def _numbered(given: Any, name: str, finite: bool) -> tuple[np.ndarray, int]:
    """Labels of any kind as numbers from 0 on (n,), and how many different ones there are."""
    values = np.asarray(given)
    if values.ndim != 1:
        raise InputError(
            f"{name} must be a sequence of one label per sample, not of shape {values.shape}"
        )
    try:
        distinct, numbers = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise InputError(
            f"{name} cannot be told apart ({error}): give labels of one kind, none missing"
        ) from error
    if finite:
        _check_finite(distinct, name)
    return numbers.astype(np.int64, copy=False), len(distinct)


def _check_finite(distinct: np.ndarray, name: str) -> None:
    """Neither NaN nor infinite; numbers that are not whole are probably no labels."""
    if distinct.dtype.kind == "O":
        missing = any(isinstance(value, float) and not np.isfinite(value) for value in distinct)
    else:
        missing = distinct.dtype.kind in "fc" and not np.isfinite(distinct).all()
    if missing:
        raise InputError(f"{name} contain NaN or infinity: leave out samples without a label")
    if distinct.dtype.kind == "f" and (distinct != np.rint(distinct)).any():
        warnings.warn(
            f"{name} are numbers that are not whole: each is taken as a cluster of its own",
            MkclustWarning,
            stacklevel=5,  # whoever asked for the metric
        )


def _entropy(sizes: np.ndarray) -> float:
    r"""$-\sum_i \frac{a_i}{n} \log\frac{a_i}{n}$."""
    n = sizes.sum()
    return float(-np.sum(sizes / n * (np.log(sizes) - log(n))))


def _squares(counts: np.ndarray) -> int:
    return int((counts * counts).sum())
