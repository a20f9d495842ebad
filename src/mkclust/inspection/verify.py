"""Check a fit against its data."""

from __future__ import annotations

from typing import Any

from ..linalg.verification import Verification
from .fitting import fitted


def verify(estimator: Any, views: Any) -> Verification:
    """Check every claim of a fit with another eigensolver, and name near ties.

    Parameters
    ----------
    estimator : GraphFusion or MKCDNM
        Fitted to `views`, or not.
    views : as for its `fit`

    Returns
    -------
    Verification
        Its `holds` is True where every claim holds; str() lists them.

    Examples
    --------
    >>> from mkclust import GraphFusion, datasets, verify
    >>> views = datasets.make_views(60, n_clusters=2, n_views=2, noise=0.3, random_state=0)
    >>> verify(GraphFusion(2, random_state=0), views).holds
    True
    """
    return fitted(estimator, views).verify(views)
