"""Warnings of suspicious input: huge values, kernels taken as tables, rows in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..exceptions import DegenerateWarning, OutlierWarning, UnrelatedWarning, warn
from .values import SHOWN
from .views import MultiView

FACTOR = 1e5  # times the median; real data sets have up to 1e4
RIGHT_ANGLE = 5e-10  # cosine of a right angle, up to rounding, as in the neighbor search
MOST = 0.5  # share of isolated samples above which a kernel is close to the identity
FEWEST = 3  # samples: a centered kernel of two holds only one negative similarity


def warn_of_outliers(views: MultiView) -> None:
    """Warn of samples whose largest value is 100 000 times larger than usual in a view.

    The usual value is the median over the samples of their largest absolute values, without
    zeros. Nothing is changed. O(n f).
    """
    found: dict[int, list[str]] = {}
    factor = 0.0
    for p, name in enumerate(views.names):
        size = largest_values(views.views[p])
        positive = size[size > 0]
        usual = float(np.quantile(positive, 0.5, method="lower")) if len(positive) else np.inf
        for i in np.flatnonzero(size / FACTOR > usual).tolist():
            found.setdefault(i, []).append(name)
            factor = max(factor, float(size[i]) / usual)
    if not found or 2 * len(found) > len(views):
        return
    names = np.arange(len(views)) if views.index is None else views.index
    samples = [f"sample {names[i]}" for i in list(found)[:SHOWN]]
    samples += [f"{len(found) - SHOWN} more"] if len(found) > SHOWN else []
    inside = dict.fromkeys(name for names in found.values() for name in names)
    warn(
        f"{', '.join(samples)}: values up to {factor:.0e} times larger than usual in "
        f"{', '.join(inside)}. Such a sample can decide scaling and clusters alone; check it, or "
        "leave it out",
        OutlierWarning,
    )


def largest_values(view: Any) -> np.ndarray:
    """Return the largest absolute value of every row (n,); 0 where all are missing."""
    if sp.issparse(view):
        ends = (view.max(axis=1).toarray().ravel(), view.min(axis=1).toarray().ravel())
    else:
        ends = (view.max(axis=1), view.min(axis=1))
    with np.errstate(invalid="ignore", over="ignore"):
        top = np.max([np.abs(end.astype(np.float64)) for end in ends], axis=0)
    return np.asarray(np.nan_to_num(top, nan=0.0, posinf=np.inf))


def warn_of_isolation(views: MultiView) -> None:
    r"""Warn of given kernels that are close to the identity; nothing is changed.

    Its eigenvectors are unrelated to those of the other kernels. MKC-DNM then keeps about
    $\sqrt{kn}$ eigenvectors of every kernel, because each pair must overlap by k
    (docs/research.md, section 9).
    """
    if not views.kernels or len(views) < FEWEST:
        return
    shares = [isolated_share(views.own_rows(p)) for p in range(views.n_views)]
    names = [name for name, share in zip(views.names, shares, strict=True) if share > MOST]
    if not names:
        return
    warn(
        f"{', '.join(names)}: most samples are similar to no other sample, so that the kernel is "
        "close to the identity and holds no clusters. Leave it out, or give a Gaussian kernel a "
        "larger width",
        DegenerateWarning,
    )


def isolated_share(kernel: Any) -> float:
    r"""Return the share of samples at a right angle, or more, to all others: O(n^2).

    Sample i is isolated where $K_{ij} \le 5\cdot10^{-10}\sqrt{K_{ii}K_{jj}}$ for all other j.

    >>> isolated_share(np.eye(4)), isolated_share(np.ones((4, 4)))
    (1.0, 0.0)
    """
    K = np.array(kernel.toarray() if sp.issparse(kernel) else kernel, dtype=np.float64)
    length = np.sqrt(np.maximum(np.diagonal(K), 0.0))
    np.fill_diagonal(K, -np.inf)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        K /= length
        nearest = np.nan_to_num(K, nan=-np.inf).max(axis=1, initial=-np.inf)
        return float(np.mean(nearest <= RIGHT_ANGLE * length))


def warn_of_kernels(views: MultiView) -> None:
    """Warn of square tables that look like kernels: symmetric, ones on the diagonal, none above.

    Their rows would be clustered as features. Nothing is changed.
    """
    if views.kernels or len(views) < FEWEST:
        return
    names = [name for name, view in zip(views.names, views.views, strict=True) if _is_like(view)]
    if names:
        warn(
            f"{', '.join(names)}: square, symmetric and with ones on the diagonal, as kernel "
            "matrices are, but clustered as tables of features. Say that they are kernels: "
            "MultiView(views, kernels=True), precomputed=True of GraphFusion, or "
            'kernel="precomputed"',
            DegenerateWarning,
        )


def _is_like(view: Any) -> bool:
    """Return whether a table is symmetric with a unit diagonal and nothing larger."""
    if view.shape[0] != view.shape[1] or not np.allclose(view.diagonal(), 1.0):
        return False
    if sp.issparse(view):
        return bool(abs(view - view.T).max() < 1e-8 and abs(view).max() < 1 + 1e-8)
    with np.errstate(invalid="ignore"):
        return bool(np.nanmax(np.abs(view)) < 1 + 1e-8 and np.allclose(view, view.T))


def warn_of_unrelated(views: MultiView, unrelated: Sequence[str]) -> None:
    """Warn where no view agrees with another, as where the rows of one were shuffled."""
    if views.n_views > 1 and len(unrelated) == views.n_views:
        how = "" if views.index is not None else ", in the same order"
        warn(
            "no two views agree beyond chance: are the rows of every view the same samples"
            f"{how}? The clusters rest on views that do not confirm each other",
            UnrelatedWarning,
        )
