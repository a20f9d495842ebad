"""Columns made comparable, and the distances between rows; dense and sparse alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .errors import InputError


def standardised(view: Any) -> Any:
    """Each column with unit variance; constant columns are 0; dense columns also centred.

    A sparse view stays sparse: its columns are scaled, not shifted, which no distance notices.
    Columns are divided by their largest entry first, so that 1e-300 and 1e300 both work.

    >>> standardised(np.array([[1.0, 7.0], [3.0, 7.0]]))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    X = view.astype(np.float64)
    if sp.issparse(X):
        peak = _safe(abs(X).max(axis=0).toarray().ravel())
        X = X @ sp.diags_array(1 / peak)
        mean = X.mean(axis=0)
        deviation = np.sqrt(np.maximum((X.power(2)).mean(axis=0) - mean**2, 0))
        varies = _sparse_varies(X)
        return sp.csr_array(X @ sp.diags_array(np.where(varies, 1 / _safe(deviation), 0.0)))
    X /= _safe(np.abs(X).max(axis=0))
    varies = X.max(axis=0) > X.min(axis=0)
    X -= X.mean(axis=0)
    X /= _safe(X.std(axis=0))
    X[:, ~varies] = 0.0
    return X


def rescaled(X: Any) -> Any:
    """X divided by its largest entry where that is so extreme that squares would overflow."""
    peak = abs(X).max()
    return X if peak == 0 or 1e-100 < peak < 1e100 else X / peak


def squared_distances(X: Any) -> np.ndarray:
    r"""$D^2_{ij} = |x_i|^2 + |x_j|^2 - 2x_i^Tx_j$: one product, then in place; n x n.

    Raises InputError when every distance is zero, as nothing can be clustered then.
    """
    gram = X @ X.T
    squared = gram.toarray() if sp.issparse(gram) else gram
    norms = squared.diagonal().copy()
    squared *= -2.0
    squared += norms[:, None]
    squared += norms
    np.maximum(squared, 0.0, out=squared)
    np.fill_diagonal(squared, 0.0)
    if sp.issparse(gram):  # a sparse product does not promise symmetric rounding
        squared += squared.T.copy()
        squared /= 2
    if not squared.any():
        raise InputError("it is constant: all its samples are the same")
    return squared


def _safe(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, values, 1.0)


def _sparse_varies(X: Any) -> np.ndarray:
    top = X.max(axis=0).toarray().ravel()
    bottom = X.min(axis=0).toarray().ravel()
    return top > bottom
