"""Whole fits of both estimators, with the time of the matrix products that they cannot avoid.

Sections of `speed.py`: `features` (Mfeat, compared with concatenated spectral clustering), `large`
(10 000 and 20 000 samples) and `questions` (multiples of a fit).
"""

from __future__ import annotations

import os
from unittest import mock

import numpy as np
from measure import best, in_own_process, in_turn
from reference import concatenated
from sets import load

from mkclust import MKCDNM, GraphFusion, choose_k, datasets, metrics, stability, view_influence
from mkclust.linalg.krylov import KrylovSpace

METRICS = 2  # different ones of a dense view, and as many of all views together


def planted(n=20_000):
    """Return three planted views of 20 columns with ten overlapping clusters, and one of noise."""
    return datasets.make_views(n, 10, 3, n_features=20, noise=2.0, n_noise_views=1, random_state=0)


def product_rate(dtype, n=2000, f=400):
    """Return the multiplications per second of X @ X.T, each pair of rows counted once."""
    X = np.random.default_rng(0).standard_normal((n, f)).astype(dtype)
    return n**2 * f / 2 / best(lambda: X @ X.T, 5)[0].cpu


def bandwidth(dtype, n):
    """Return the bytes per second at which one core reads an n x n matrix."""
    K = np.ones(n * n, dtype=dtype)
    return K.nbytes / best(lambda: K @ K, 5)[0].cpu


def fusion_limit(views, rate):
    """Return the seconds of the inner products: all pairs, in each view and in all together."""
    return METRICS * 2 * len(views) ** 2 / 2 * sum(views.widths) / rate


def dual_noise_limit(views, dtype, fit):
    """Return the seconds of the kernels' products, and of reading a kernel for every block."""
    n, blocks = len(views), 0
    expand = KrylovSpace._expand

    def counted(space, K):
        nonlocal blocks
        blocks += 1
        expand(space, K)

    with mock.patch.object(KrylovSpace, "_expand", counted):
        fit()
    products = n**2 / 2 * sum(views.widths) / product_rate(np.float64)
    return products + blocks * n**2 * np.dtype(dtype).itemsize / bandwidth(dtype, n)


def features():
    """Mfeat: features to labels, compared with spectral clustering of the concatenated views."""
    views = datasets.load_mfeat()

    def dual_noise(precision):
        return MKCDNM(10, kernel="gaussian", random_state=0, precision=precision).fit(views)

    first = "scikit-learn, concatenated spectral clustering"
    rows = in_turn(
        {
            first: lambda: concatenated(views.views, 10),
            "MKC-DNM, double precision": lambda: dual_noise("double").labels_,
            "MKC-DNM, single precision": lambda: dual_noise("single").labels_,
            "graph fusion": lambda: GraphFusion(10, random_state=0).fit(views).labels_,
        },
        8,
    )
    limits = {
        "MKC-DNM, double precision": dual_noise_limit(
            views, np.float64, lambda: dual_noise("double")
        ),
        "MKC-DNM, single precision": dual_noise_limit(
            views, np.float32, lambda: dual_noise("single")
        ),
        "graph fusion": fusion_limit(views, product_rate(np.float32)),
    }
    peer = rows[first][0]
    yield (
        "Limit: graph fusion, the inner products of all pairs under all metrics at the measured "
        "rate of X @ X.T in single precision; MKC-DNM, those of the kernels, and every block "
        "product at the measured bandwidth."
    )
    yield ""
    yield (
        "| features → labels | wall s | CPU s | ratio to concatenated: wall | CPU | limit, CPU s | "
        "ratio to limit | ACC |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for name, (t, y) in rows.items():
        limit = f"{limits[name]:.2f} | {t.cpu / limits[name]:.1f}" if name in limits else "- | -"
        yield (
            f"| {name} | {t.wall:.2f} | {t.cpu:.2f} | {t.wall / peer.wall:.2f} | {t / peer:.2f} | "
            f"{limit} | {metrics.accuracy(views.labels, y):.3f} |"
        )


def large():
    """Graph fusion of many samples, each fit in its process."""
    yield "| data | n | columns | CPU s | limit, CPU s | ratio to limit | peak GiB | ACC |"
    yield "|---|---|---|---|---|---|---|---|"
    names = [*(["Hdigit"] if os.environ.get("MKCLUST_DATA") else []), "planted"]
    for name in names:
        found = in_own_process(_large_fit, name)
        if isinstance(found, str):
            yield f"| {name} | {found} | | | | | | |"
            continue
        n, columns, t, limit, accuracy = found[3]
        yield (
            f"| {name} | {n} | {columns} | {t.cpu:.1f} | {limit:.1f} | {t.cpu / limit:.1f} | "
            f"{found[2]:.2f} | {accuracy:.3f} |"
        )


def _large_fit(name):
    views = planted() if name == "planted" else load(name, 20_000)
    t, model = best(lambda: GraphFusion(10, random_state=0).fit(views), 1)
    limit = fusion_limit(views, product_rate(np.float32))
    accuracy = metrics.accuracy(views.labels, model.labels_)
    return len(views), sum(views.widths), t, limit, accuracy


def questions():
    """Questions after a fit of graph fusion to Mfeat, as multiples of the fit."""
    views = datasets.load_mfeat()
    model = GraphFusion(10, random_state=0).fit(views)
    rows = in_turn(
        {
            "fit": lambda: GraphFusion(10, random_state=0).fit(views),
            "choose_k": lambda: choose_k(model, views),
            "stability": lambda: stability(model, views),
            "view_influence": lambda: view_influence(model, views),
        },
        3,
    )
    fit = rows["fit"][0]
    yield "| question | wall s | CPU s | ratio to the fit: wall | CPU |"
    yield "|---|---|---|---|---|"
    for name, (t, _) in rows.items():
        yield f"| {name} | {t.wall:.2f} | {t.cpu:.2f} | {t.wall / fit.wall:.1f} | {t / fit:.1f} |"
