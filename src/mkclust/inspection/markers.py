"""Markers: the features that set each cluster apart, by rank tests of all columns at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import false_discovery_control, norm, rankdata

from ..data.views import MultiView
from ..exceptions import InputError
from ..linalg.threads import in_parallel
from .fitting import Samples, fitted, views_of
from .stability import matched
from .view_influence import ViewInfluence, view_influence

LEVEL = 0.05  # of the corrected p value
CIRCULAR = (
    "The clusters were found in the same features, so that p values would be too small: features "
    "differ between clusters even where there are none. The effects rank the features."
)
INDEPENDENT = (
    "Each view was tested against clusters that were found without it, so the p values are valid "
    "for features that are independent of the other views."
)
BLOCK = 1 << 22  # entries of a dense matrix that are ranked at a time


@dataclass(frozen=True)
class Markers:
    """Features of all views, tested in every cluster; one entry per test, the clearest first.

    Attributes
    ----------
    cluster : (t,) int array
    view, feature : (t,) object arrays
        Names.
    effect : (t,) array
        Standardized mean difference (Cohen's d); positive where the cluster has larger values,
        infinite where the values differ without any spread.
    auc : (t,) array
        Probability that a sample of the cluster has a larger value than one of the rest.
    p, p_adjusted : (t,) arrays
        Two-sided Mann-Whitney test against clusters that were found without the view, and
        corrected by Benjamini and Hochberg over all t tests; NaN unless `valid`.
    mean, rest : (t,) arrays
        Means of the cluster and of the rest.
    samples : (t,) int array
        Samples that the view holds.
    valid : bool
        Whether there are p values: of clusters that were found without the tested view.
    """

    cluster: np.ndarray
    view: np.ndarray
    feature: np.ndarray
    effect: np.ndarray
    auc: np.ndarray
    p: np.ndarray
    p_adjusted: np.ndarray
    mean: np.ndarray
    rest: np.ndarray
    samples: np.ndarray
    valid: bool

    COLUMNS: ClassVar[tuple[str, ...]] = (
        "cluster", "view", "feature", "effect", "auc", "p", "p_adjusted", "mean", "rest", "samples",
    )  # fmt: skip

    def __len__(self) -> int:
        return len(self.p)

    @property
    def warning(self) -> str:
        """What the p values mean, or why there are none."""
        return INDEPENDENT if self.valid else CIRCULAR

    def to_frame(self) -> Any:
        """Return a pandas frame with a row per test, the clearest first."""
        return pd.DataFrame({name: getattr(self, name) for name in self.COLUMNS})

    def top(self, cluster: int, count: int = 10, view: str | None = None) -> np.ndarray:
        """Return the places of the first `count` features of a cluster, in one view or in all."""
        chosen = self.cluster == cluster
        if view is not None:
            chosen &= self.view == view
        return np.flatnonzero(chosen)[:count]

    def name(self, place: int) -> str:
        """Return the name of a feature; of a table without names, its position and view."""
        name = str(self.feature[place])
        return f"column {name} of {self.view[place]}" if name.isdecimal() else name

    def __str__(self) -> str:
        first = [self.top(c, 1) for c in range(int(self.cluster.max()) + 1)]
        best = ", ".join(
            f"{self.name(place[0])} in cluster {c} (effect {self.effect[place[0]]:.1f})"
            for c, place in enumerate(first)
            if len(place)
        )
        if not self.valid:
            return f"the first feature of every cluster: {best}. {self.warning}"
        few = np.count_nonzero(self.p_adjusted < LEVEL)
        return (
            f"{few} of {len(self)} tests of a feature in a cluster have a corrected p value below "
            f"{LEVEL:g}; the first of every cluster: {best}. {self.warning}"
        )


def markers(estimator: Any, views: Any, *, valid: bool | ViewInfluence = False) -> Markers:
    """Test which features set each cluster apart from the rest.

    Every column of every view is tested in every cluster, over the samples that the view holds.
    Sparse views become dense in blocks of columns. O(n f log n) per view, without refits unless
    `valid`.

    Parameters
    ----------
    estimator : MultiViewClusterer
        Fitted to `views`, or not.
    views : as for its `fit`
        Tables; kernel matrices have no features.
    valid : bool or ViewInfluence
        False: there are no p values. They would be too small, because the clusters were found in
        the same features. True: the p values of every view are of
        clusters that were found without it, matched to those of the fit. This needs two views
        and a refit per view; a result of `view_influence` saves the refits. Splitting the
        samples would not give valid p values: the labels of the held-out samples depend on the
        tested values, too. Effect, AUC and means are always those of the fit.

    Returns
    -------
    Markers

    References
    ----------
    L. Gao, J. Bien, D. Witten. Selective inference for hierarchical clustering. Journal of the
    American Statistical Association 119, 2024.

    Examples
    --------
    >>> from mkclust import GraphFusion, datasets
    >>> from mkclust.inspection import markers
    >>> views = datasets.make_views(90, n_clusters=3, n_views=2, noise=0.5, random_state=0)
    >>> found = markers(GraphFusion(3, random_state=0), views)
    >>> len(found), found.valid
    (60, False)
    """
    model = fitted(estimator, views)
    some = views_of(model, views)
    data, labels = some.data, np.asarray(model.labels_)[some.rows]
    if data.kernels:
        raise InputError("markers need tables: kernel matrices have no features")
    k = int(labels.max()) + 1
    if k < 2:
        raise InputError("markers need at least two clusters")
    others = None if valid is False else _labels_without(model, views, some, valid)

    def entries_of(p: int) -> dict[str, np.ndarray]:
        found = _tested(data, p, np.arange(len(data)), labels, k)
        if others is not None:
            found = found._replace(p=_tested(data, p, *others[p], k).p)
        return _entries(found, data, p, feature_names(model, data, p))

    parts = in_parallel(entries_of, range(data.n_views), data.n_views)
    return _sorted(parts, others is not None)


def _tested(data: MultiView, p: int, rows: np.ndarray, labels: np.ndarray, k: int) -> GroupTests:
    """Test the columns of view p among those of `rows` (b,), with labels (b,), that it holds."""
    held = slice(None) if data.present is None else data.present[rows, p]
    return group_tests(data.views[p][rows[held]], labels[held], k)


def _labels_without(
    model: Any, views: Any, some: Samples, valid: bool | ViewInfluence
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the samples that the other views of every view hold, and their labels from these."""
    if some.data.n_views < 2:
        raise InputError("valid p values need two views: each is tested by the other's clusters")
    influence = valid if isinstance(valid, ViewInfluence) else view_influence(model, views)
    if influence.names != some.data.names:
        raise InputError("the result of view_influence is of other views")
    found, labels = [], np.asarray(model.labels_)
    for left in influence.without:
        at, first = np.unique(some.place[left.rows], return_index=True)
        found.append((at, matched(labels[some.rows[at]], left.labels[first])))
    return found


def feature_names(model: Any, data: MultiView, p: int) -> np.ndarray:
    """Return the names of the columns of view p, or their numbers in the table that was given."""
    known = data.feature_names[p], model.view_feature_names_in_[p]  # the latter, read in chunks
    if (own := next((names for names in known if names is not None), None)) is not None:
        return np.asarray(own, dtype=object)
    filled = getattr(model, "_imputation", None)
    imputer = None if filled is None else filled.views[p]
    columns = np.arange(data.widths[p]) if imputer is None else np.flatnonzero(imputer.kept)
    return columns.astype(str).astype(object)


def _entries(
    found: GroupTests, data: MultiView, p: int, names: np.ndarray
) -> dict[str, np.ndarray]:
    """Return one entry per cluster and column, without clusters that the view lacks."""
    k, f = found.p.shape
    entries = {
        "cluster": np.repeat(np.arange(k), f),
        "view": np.full(k * f, data.names[p], dtype=object),
        "feature": np.tile(names, k),
        **{name: getattr(found, name).ravel() for name in ("effect", "auc", "p", "mean", "rest")},
        "samples": np.full(k * f, data.own_rows(p).shape[0]),
    }
    tested = ~np.isnan(entries["p"])
    return {name: values[tested] for name, values in entries.items()}


def _sorted(parts: list[dict[str, np.ndarray]], valid: bool) -> Markers:
    """Return all entries: the smallest p value first, then the largest |AUC - 0.5|."""
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((-np.abs(joined["auc"] - 0.5), joined["p"]))
    if valid:
        joined["p_adjusted"] = false_discovery_control(joined["p"], method="bh")
    else:
        joined["p"] = joined["p_adjusted"] = np.full(len(order), np.nan)
    return Markers(**{name: values[order] for name, values in joined.items()}, valid=valid)


class GroupTests(NamedTuple):
    """Each of k groups against the rest, in each of f columns; all arrays are (k, f).

    `effect` is the standardized mean difference (Cohen's d), `auc` the probability that a sample
    of the group has the larger value, ties counted half, `p` that of the two-sided Mann-Whitney
    test. A constant column has 0, 0.5 and 1; a group without a sample, or with all, has NaN.
    """

    mean: np.ndarray
    rest: np.ndarray
    effect: np.ndarray
    auc: np.ndarray
    p: np.ndarray


def group_tests(X: Any, labels: np.ndarray, k: int) -> GroupTests:
    r"""Compare every group with the rest by mean and rank.

    With the rank sum $R$ of $n_1$ of n samples, $U = R - n_1(n_1 + 1)/2$,
    $\mathrm{AUC} = U/(n_1n_2)$, and U is normal with mean $n_1n_2/2$ and variance
    $\frac{n_1n_2}{n(n-1)}\sum_i (r_i - \bar r)^2$, which accounts for ties. The test is that of
    ``scipy.stats.mannwhitneyu(method="asymptotic")``. Columns are ranked in dense blocks of 32 MB,
    O(n f log n), also those of a sparse matrix.

    Parameters
    ----------
    X : (n, f) array or sparse array
    labels : (n,) int array
        Groups 0 to k - 1.
    k : int

    >>> found = group_tests(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]), np.array([0, 0, 1]), 2)
    >>> found.auc
    array([[0. , 0.5],
           [1. , 0.5]])
    """
    belongs = np.eye(k)[labels].T  # (k, n)
    n, f = X.shape
    width = max(1, BLOCK // max(n, 1))
    columns = sp.csc_array(X) if sp.issparse(X) else X
    blocks = (columns[:, start : start + width] for start in range(0, f, width))
    dense = (block.toarray() if sp.issparse(block) else block for block in blocks)
    parts = [_tests(np.asarray(block, float), belongs) for block in dense]
    return GroupTests(*map(np.hstack, zip(*parts, strict=True)))


def _tests(X: np.ndarray, belongs: np.ndarray) -> GroupTests:
    """Test a block of columns; `belongs` (k, n) marks the samples of every group."""
    n, middle = len(X), X.mean(axis=0)
    X = X - middle  # so that squares of a small spread around a large mean can be summed
    centered = rankdata(X, axis=0) - (n + 1) / 2
    sums, squares, U = belongs @ X, belongs @ X**2, belongs @ centered  # U minus its mean
    variation = np.sum(centered**2, axis=0)
    own = belongs.sum(axis=1, keepdims=True)
    other = n - own
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, rest = sums / own, (sums.sum(axis=0) - sums) / other
        inside = squares - own * mean**2
        outside = squares.sum(axis=0) - squares - other * rest**2
        spread = np.sqrt(np.maximum(inside + outside, 0) / max(n - 2, 1))
        # Rounding leaves a spread in a constant column, and a difference of the same size.
        size = np.sqrt(squares.sum(axis=0) / n) * 1e-7
        difference = np.where(np.abs(mean - rest) <= size, 0.0, mean - rest)
        effect = np.where(difference == 0, 0.0, difference / np.where(spread > size, spread, 0.0))
        deviation = np.sqrt(own * other / (n * max(n - 1, 1)) * variation)
        z = np.where(deviation > 0, np.maximum(np.abs(U) - 0.5, 0) / deviation, 0.0)
        auc = 0.5 + U / (own * other)
    p = np.minimum(2 * norm.sf(z), 1.0)
    empty = np.broadcast_to((own == 0) | (other == 0), p.shape)
    effect, auc, p = (np.where(empty, np.nan, part) for part in (effect, auc, p))
    return GroupTests(mean + middle, rest + middle, effect, auc, p)
