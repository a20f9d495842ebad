"""All methods behind one interface: the registry, `cluster`, and models read from files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from inspect import signature
from typing import Any

from .base import PRIVATE_FITTED, MultiViewClusterer
from .baselines import COMPARED
from .data.missing import Imputation
from .data.views import MultiView
from .dual_noise import MKCDNM
from .exceptions import FileFormatError, InputError
from .graph_fusion import GraphFusion
from .inspection.choose_k import choose_k
from .inspection.verdict import verdict as verdict_on
from .io.models import ADVICE, Archive, check_shape, read_archive, rebuilding
from .predict.new_samples import Extension
from .progress import listening

DEFAULT = GraphFusion.name
METHODS: dict[str, type[MultiViewClusterer]] = {
    method.name: method for method in (GraphFusion, MKCDNM, *COMPARED)
}


def cluster(
    views: Any,
    n_clusters: int | str | Iterable[int],
    *,
    method: str = DEFAULT,
    parameters: Mapping[str, Any] | None = None,
    missing: Any = None,
    n_init: int = 10,
    random_state: Any = None,
    id: str | None = None,
    verbose: bool = False,
    verdict: bool = True,
) -> Any:
    """Cluster samples that are described by several views.

    Parameters
    ----------
    views : MultiView, list or dict of (n, f_p) views, MuData, AnnData, or one (n, f) table
    n_clusters : int, "auto", pair or iterable of int
        Number of clusters, k. ``"auto"`` chooses it by `choose_k`, a pair ``(2, 8)`` or a
        ``range(2, 9)`` among the numbers given; the choice is kept as ``choice_of_k_``.
    method : str
        A name of `METHODS`: ``"graph-fusion"``, ``"mkc-dnm"`` or a compared method.
    parameters : dict, optional
        Further parameters of that method, such as ``{"solver": "exact"}``.
    missing : {None, "median", "knn"}
        What to do with NaN cells: refuse them, or fill them (see MultiViewClusterer).
    n_init : int
        Restarts of k-means.
    random_state : int, RandomState or None
        Seed of k-means.
    id : str, optional
        The column of the tables with the sample names, by which rows are joined. Without it, the
        index or a column that is recognized (see MultiView).
    verbose : bool
        Whether to print every step to standard error when it starts.
    verdict : bool
        Whether to judge the clusters (`mkclust.verdict`): are there any beyond chance, are they
        reproducible, which views to distrust. It is kept as ``verdict_``.

    Returns
    -------
    model : MultiViewClusterer
        The fitted estimator of the method, such as GraphFusion, with ``labels_`` (n,).
        ``describe()`` says what to think of the clusters, and what was done.

    Examples
    --------
    >>> from mkclust import cluster, datasets
    >>> views = datasets.make_views(90, n_clusters=3, n_views=2, noise=0.3, random_state=0)
    >>> model = cluster(views, 3, random_state=0)
    >>> model.title, sorted(model.labels_.tolist()).count(0)
    ('Graph fusion', 30)
    >>> print(model.describe()[0])
    There are clusters beyond chance (p < 0.001).
    """
    shared = {"missing": missing, "n_init": n_init, "random_state": random_state}
    model = estimator_for(method, 2, **with_shared(parameters or {}, shared))
    choice = None
    with listening(partial(print, file=sys.stderr)) if verbose else nullcontext():
        if id is not None:
            views = MultiView(views, id=id)
        if isinstance(n_clusters, Iterable) and getattr(n_clusters, "shape", None) != ():
            choice = choose_k(model, views, n_clusters)
            n_clusters = choice.k
        model.set_params(n_clusters=n_clusters).fit(views)
        if choice is not None:
            model.choice_of_k_ = choice
        if verdict:
            model.verdict_ = verdict_on(model, views, choice=choice)
    return model


def with_shared(parameters: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of one method and those of all; InputError for one of both kinds."""
    for name in ("n_clusters", *shared):
        if name in parameters:
            message = f"{name} has an argument of its own: give it there, not as a further one"
            raise InputError(message, parameter=name)
    return {**parameters, **shared}


def estimator_for(method: str, n_clusters: int, **parameters: Any) -> MultiViewClusterer:
    """Return an unfitted estimator by the name of its method, its parameters checked by name.

    >>> estimator_for("mkc-dnm", 3, solver="exact")
    MKCDNM(n_clusters=3, solver='exact')
    """
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; known are {', '.join(METHODS)}")
    known = [name for name in signature(METHODS[method]).parameters if name != "n_clusters"]
    for name in parameters:
        if name not in known:
            raise InputError(
                f"{name!r} is no parameter of {method}; its parameters are {', '.join(known)}"
            )
    return METHODS[method](n_clusters, **parameters)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model written by ``model.save(path)``. Nothing is unpickled.

    Parameters
    ----------
    path : path

    Returns
    -------
    model : MultiViewClusterer
        The fitted estimator, ready to predict and to report.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mkclust import cluster, datasets
    >>> views = datasets.make_views(60, n_clusters=2, n_views=2, noise=0.3, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = cluster(views, 2, random_state=0).save(pathlib.Path(folder, "model.npz"))
    ...     model = load(saved)
    >>> bool((model.predict(views) == model.labels_).all())
    True
    """
    found = read_archive(path)
    with rebuilding(path):
        return _model(found)


def _model(found: Archive) -> MultiViewClusterer:
    if found.kind not in METHODS:
        raise FileFormatError(f"unknown method {found.kind!r}; known are {', '.join(METHODS)}")
    model = METHODS[found.kind](**found.parameters)
    parameters = model.get_params(deep=False)
    for name, value in found.fitted.items():
        inner = name in PRIVATE_FITTED
        known = name in parameters or (not inner and name in dir(type(model)))
        if known or not (inner or name.isidentifier()):
            raise FileFormatError(f"{name!r} cannot be a fitted attribute: {ADVICE}")
        setattr(model, name, value)
    if "embedding_" in found.fitted:
        check_shape(model.embedding_.shape[:1], (len(model.labels_),), "its embedding")
    for name, kind in (("_extension", Extension), ("_imputation", Imputation)):
        if not isinstance(found.fitted.get(name), kind | None):
            raise FileFormatError(f"its {name[1:]} is of an unknown kind: {ADVICE}")
    return model
