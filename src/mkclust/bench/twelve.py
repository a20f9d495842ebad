"""Twelve kernels of one view: the usual way to make a multiple kernel problem of a single table."""

from __future__ import annotations

import numpy as np

from ..data.views import MultiView
from ..exceptions import InputError
from ..linalg.scaling import squared_distances

WIDTHS = (0.01, 0.05, 0.1, 1.0, 10.0, 50.0, 100.0)
POLYNOMIALS = ((0.0, 2), (0.0, 4), (1.0, 2), (1.0, 4))


def twelve_kernels(views: MultiView) -> MultiView:
    r"""Seven Gaussian kernels, four polynomial ones and the linear one, of the rows as they are.

    $\exp(-D^2 / 2(tD_{max})^2)$ with $t$ from 0.01 to 100, $(a + XX^T)^b$ with a of 0 or 1 and b of
    2 or 4, and $XX^T$, rows scaled to unit length for the latter five: the set of L. Du et al.,
    Robust Multiple Kernel K-means Using l2,1-Norm, IJCAI 2015.

    >>> twelve_kernels(MultiView([np.eye(3)])).n_views
    12
    """
    if views.n_views != 1 or views.kernels:
        raise InputError(f"twelve kernels are made of one view, got {views.n_views}")
    X = views.views[0].astype(np.float64)
    squared = squared_distances(X)
    furthest = squared.max()
    built = {f"gaussian {t:g}": np.exp(-squared / (2 * t**2 * furthest)) for t in WIDTHS}
    cosine = _cosines(X)
    for a, b in POLYNOMIALS:
        built[f"polynomial {a:g}, {b}"] = (a + cosine) ** b
    return MultiView({**built, "linear": cosine}, kernels=True, labels=views.labels)


def _cosines(X: np.ndarray) -> np.ndarray:
    product = X @ X.T
    K = np.asarray(product.toarray() if hasattr(product, "toarray") else product)
    length = np.sqrt(np.diagonal(K))
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    return K * scale[:, None] * scale
