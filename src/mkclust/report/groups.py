"""Numbers about the clusters: silhouettes, and the known classes they hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import silhouette_samples

from ..linalg.kmeans import unit_rows
from .layout import sample_rows

COMPARED = 2000  # samples between which all distances are computed
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Silhouettes:
    """Silhouettes of `n_rows` samples: overall mean, means (k,) and quantiles (k, 5) by cluster.

    NaN for an empty cluster.
    """

    mean: float
    by_cluster: np.ndarray
    quantiles: np.ndarray
    n_rows: int


def silhouettes(H: np.ndarray, labels: np.ndarray) -> Silhouettes | None:
    """Compute silhouettes on the unit rows of an embedding H (n, r).

    A sample of the rows is used beyond `COMPARED`. None where there are fewer than two clusters,
    or as many as samples.

    >>> found = silhouettes(np.repeat(np.eye(2), 3, axis=0), np.repeat([0, 1], 3))
    >>> found.mean, found.by_cluster
    (1.0, array([1., 1.]))
    """
    rows = sample_rows(labels, COMPARED)
    taken = labels[rows]
    sizes = np.bincount(labels)
    there = np.flatnonzero(sizes)
    if not 1 < len(there) < len(rows):
        return None
    values = silhouette_samples(unit_rows(np.asarray(H[rows], dtype=float)), taken)
    means = np.full(len(sizes), np.nan)
    quantiles = np.full((len(sizes), len(QUANTILES)), np.nan)
    for c in there:
        means[c] = values[taken == c].mean()
        quantiles[c] = np.quantile(values[taken == c], QUANTILES)
    return Silhouettes(
        mean=float(sizes[there] @ means[there] / len(labels)),
        by_cluster=means,
        quantiles=quantiles,
        n_rows=len(rows),
    )


def class_table(classes: np.ndarray, labels: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Count samples by cluster and class: names of the classes, and counts (k, classes).

    Classes are ordered so that matched clusters and classes lie on the diagonal; classes
    without a cluster follow, numbers in their order before words.

    >>> class_table(np.array(["a", "b", "b", "c"]), np.array([1, 0, 0, 2]))[0]
    ['b', 'a', 'c']
    """
    names, codes = np.unique(classes, return_inverse=True)
    table = np.zeros((int(labels.max()) + 1, len(names)), dtype=int)
    np.add.at(table, (labels, codes), 1)
    natural = np.argsort([_natural(name) for name in names], kind="stable")
    matched = linear_sum_assignment(table[:, natural], maximize=True)[1]
    rest = np.setdiff1d(np.arange(len(names)), matched)
    order = natural[np.concatenate([matched, rest])]
    return [str(names[c]) for c in order], table[:, order]


def _natural(name: str) -> float:
    """Return a number for names that are numbers, infinity for words."""
    try:
        return float(name)
    except ValueError:
        return np.inf
