"""What kind of numbers the columns of a view are: measurements, counts or components.

The kind decides how samples are compared. It is found once, on all samples that were given, and
stays with the views: some of the samples, or a draw of the null model, would not show it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

MEASUREMENTS, COUNTS, COMPONENTS, KERNEL = "measurements", "counts", "components", "kernel"
KINDS = MEASUREMENTS, COUNTS, COMPONENTS  # of tables
COUNTS_UP_TO = 0.8  # share of nonzero entries below which a nonnegative view is counts
UNCORRELATED = 1e-3  # of the correlation that chance gives independent columns, 1 / sqrt(n)
NEGLIGIBLE = 1e-10  # of the largest deviation in a view: smaller ones are rounding
COMPARED = 64  # columns whose correlations are computed, at most


def kind_of(view: Any) -> str:
    """Return the kind of the columns of a table (n, f), dense or sparse; NaN cells are ignored.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 5)) * [9.0, 5.0, 3.0, 2.0, 1.0]
    >>> U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    >>> kind_of(X), kind_of(U * s), kind_of(np.eye(20))
    ('measurements', 'components', 'counts')
    """
    if 0 in view.shape:
        return MEASUREMENTS
    if looks_like_counts(view):
        return COUNTS
    return COMPONENTS if are_components(view) else MEASUREMENTS


def looks_like_counts(X: Any) -> bool:
    """Return whether a table is nonnegative and at least a fifth of its cells are zero.

    Columns of zeros, such as genes that no sample expresses, and NaN cells do not count.
    """
    if not sp.issparse(X) and np.isnan(X).any():
        X = np.where(np.isnan(X), 0.0, X)
    stored = np.asarray((X != 0).sum(axis=0)).ravel()
    cells = float(X.shape[0]) * np.count_nonzero(stored)
    return bool(X.min() >= 0 and 0 < stored.sum() < COUNTS_UP_TO * cells)


def are_components(X: Any) -> bool:
    r"""Return whether the columns are components, such as all or the first principal ones.

    Components are uncorrelated on the samples that they were computed from: $r_{ij} = 0$ up to
    rounding, where independent columns have $|r_{ij}| \approx 1 / \sqrt n$. That must hold for
    half of the pairs of at most 64 columns, so that a few further columns hide nothing, and for
    the column of the largest deviation with half of the others. Columns that vary by less than
    1e-10 of the largest deviation do not count. Fewer than three columns, sparse tables and
    tables with NaN cells are no components. $O(n \min(f, 64)^2)$.
    """
    if sp.issparse(X) or X.shape[1] < 3 or X.shape[0] < 4:
        return False
    with np.errstate(over="ignore", invalid="ignore"):  # huge values are no components
        deviation = X.std(axis=0, dtype=np.float64)
    if not np.isfinite(deviation).all() or not deviation.any():
        return False
    columns = np.flatnonzero(deviation > NEGLIGIBLE * deviation.max())
    first = int(np.argmax(deviation[columns]))
    for most in (8, COMPARED):  # most tables show by a few columns that they are no components
        chosen = np.unique(np.linspace(0, len(columns) - 1, min(most, len(columns))).astype(int))
        if not _uncorrelated(X[:, columns[np.union1d(chosen, first)]].astype(np.float64)):
            return False
    return len(columns) > 2


def _uncorrelated(X: np.ndarray) -> bool:
    """Return whether half of all pairs, and half of the longest column's, are uncorrelated."""
    if X.shape[1] < 3:
        return False
    X = X - X.mean(axis=0)
    length = np.linalg.norm(X, axis=0)
    r = np.abs((X / length).T @ (X / length))
    limit = UNCORRELATED / np.sqrt(len(X))
    own = np.delete(r[np.argmax(length)], np.argmax(length))
    return bool(np.median(r[np.triu_indices(len(r), 1)]) < limit and np.median(own) < limit)
