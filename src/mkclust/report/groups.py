"""What is known of the clusters: sizes, silhouettes, and the classes they hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import silhouette_samples

from ..linalg.kmeans import unit_rows
from .layout import sample_rows

COMPARED = 2000  # rows whose distances are all computed
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Silhouettes:
    """Of a sample of rows: means and quantiles (k, 5) by cluster, the overall mean.

    NaN for a cluster that nobody is in.
    """

    mean: float
    by_cluster: np.ndarray
    quantiles: np.ndarray
    n_rows: int


def silhouettes(H: np.ndarray, labels: np.ndarray) -> Silhouettes | None:
    """How much nearer each sample is to its own cluster than to the next, from -1 to 1.

    On the unit rows of H (n, r), where the clusters were found; a sample of the rows beyond
    `COMPARED`. None where there are fewer than two clusters, or as many as samples.

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
    """Names of the classes, and samples by cluster and class (k, classes)."""
    names, codes = np.unique(classes, return_inverse=True)
    table = np.zeros((int(labels.max()) + 1, len(names)), dtype=int)
    np.add.at(table, (labels, codes), 1)
    order = np.argsort([_natural(name) for name in names], kind="stable")
    return [str(names[c]) for c in order], table[:, order]


def _natural(name: str) -> float:
    """Numbers in their own order, before words."""
    try:
        return float(name)
    except ValueError:
        return np.inf
