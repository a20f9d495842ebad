"""Given kernels in which most samples are similar to no other sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.views import MultiView
from ..exceptions import DegenerateWarning, warn
from ..kernels.functions import dense

RIGHT_ANGLE = 5e-10  # cosine of a right angle, up to rounding, as in the neighbor search
MOST = 0.5  # share of isolated samples above which a kernel is close to the identity
FEWEST = 3  # samples: a centered kernel of two holds only one negative similarity


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
    K = dense(kernel).astype(np.float64)  # a copy
    length = np.sqrt(np.maximum(np.diagonal(K), 0.0))
    np.fill_diagonal(K, -np.inf)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        K /= length
        nearest = np.nan_to_num(K, nan=-np.inf).max(axis=1, initial=-np.inf)
        return float(np.mean(nearest <= RIGHT_ANGLE * length))
