"""N-noise and C-noise of the views with respect to any partition."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..dual_noise.consensus import Noise, dual_noise
from .fitting import fitted, views_of


def view_noise(estimator: Any, views: Any) -> Noise:
    r"""Measure what each view adds to a partition and what it lacks of it.

    The partition is $H$ (n, k - 1), an orthonormal basis of the centered indicators of the
    labels; a view is its k leading eigenvectors, of its graph or kernel as the estimator builds
    it. See `Noise` for the three parts.

    Parameters
    ----------
    estimator : MultiViewClusterer
        Fitted to `views`, or not.
    views : as for its `fit`

    Returns
    -------
    Noise

    Examples
    --------
    >>> from mkclust import GraphFusion, datasets
    >>> from mkclust.inspection import view_noise
    >>> views = datasets.make_views(90, 3, 2, noise=0.5, n_noise_views=1, random_state=0)
    >>> found = view_noise(GraphFusion(3, random_state=0), views)
    >>> int(found.null.argmax())
    2
    """
    model = fitted(estimator, views)
    data, rows = views_of(model, views)
    k = int(model.n_clusters)
    subspaces = model.subspaces(data, k)
    d = np.array([min(k, spectrum.size) for spectrum in subspaces])
    H = partition_basis(np.asarray(model.labels_)[rows])
    return dual_noise(subspaces.coordinates(H, d))


def partition_basis(labels: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (n, c - 1) of the centered indicators of c clusters.

    >>> partition_basis(np.array([0, 0, 1, 1])).round(2).ravel().tolist()
    [0.5, 0.5, -0.5, -0.5]
    """
    clusters = np.unique(labels)
    Z = (labels[:, None] == clusters).astype(float)
    Z -= Z.mean(axis=0)
    H = scipy.linalg.qr(Z[:, :-1], mode="economic")[0]
    return np.asarray(H * np.where(H[0] < 0, -1.0, 1.0))
