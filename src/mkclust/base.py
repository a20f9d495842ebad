"""What every estimator shares: input checks, k-means, saving and scikit-learn's contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted

from .agreement.subspaces import Subspaces
from .data.input import TakesViews, fitted_views, warn_of_input
from .data.missing import Imputation, Imputer, check_presence
from .data.values import COMPONENTS, random_generator
from .data.views import MultiView
from .exceptions import (
    DegenerateWarning,
    InputError,
    MissingRowsWarning,
    MkclustWarning,
    UnrelatedWarning,
    check_choice,
    check_whole,
    warn,
)
from .graphs.affinity import knn_affinity
from .graphs.metrics import Metric
from .graphs.neighbors import neighborhood
from .io.models import storable, write_archive
from .kernels.bank import KernelBank, KernelRecipe
from .large.views import LargeViews, as_large_views
from .linalg.kmeans import inertia, kmeans_clusters
from .linalg.verification import Check, Verification
from .predict.new_samples import Membership
from .progress import step

INDEFINITE = ("raise", "shift", "ignore")
MOST, FEWEST = 10, 5  # neighbors by default; fewer than MOST where clusters are small
PRIVATE_FITTED = (
    "_extension", "_spectra", "_distinct", "_united", "_row_hashes", "_key_columns", "_imputation",
    "_log",
)  # fmt: skip
PER_SAMPLE = ("labels_", "embedding_")  # fitted attributes with a row per sample
PER_PAIR = ("graph_", "kernel_")  # with a row and a column per sample

storable(Imputer)
storable(Imputation)


def default_n_neighbors(n: int, k: int) -> int:
    """Return half the size of an average cluster, between 5 and 10, and below n.

    >>> default_n_neighbors(165, 15), default_n_neighbors(1600, 100), default_n_neighbors(2000, 10)
    (6, 8, 10)
    """
    return int(min(np.clip(round(n / k / 2 + 1e-9), FEWEST, MOST), n - 1))


def neighbors_note(asked: int | None, used: int) -> tuple[str, ...]:
    """Return the note that there are fewer neighbors than asked for, if so."""
    note = f"n_neighbors = {asked} is more than there are: {used} neighbors were used"
    return (note,) if asked is not None and asked > used else ()


@dataclass(frozen=True)
class Partitions:
    """Partitions for several numbers of clusters, and one graph to compare them on.

    Attributes
    ----------
    graph : (n, n) sparse array
        Symmetric, degree-normalized.
    labels : dict of int to (n,) int array
        The labels for every k.
    """

    graph: sp.csr_array
    labels: dict[int, np.ndarray]


@dataclass(eq=False, repr=False, kw_only=True)
class MultiViewClusterer(Membership, TakesViews, ClusterMixin, BaseEstimator, ABC):
    """Base of all estimators: checks the input and leaves the method to `_fit`.

    The parameters are fields of a dataclass, so that a method declares only its own.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    columns : dict or sequence, optional
        For a single table: its columns by view name, or a view name for each column.
    missing : {None, "median", "knn"}
        What to do with NaN cells. None refuses them. ``"median"`` and ``"knn"`` fill them per
        view by scikit-learn's SimpleImputer or KNNImputer, fitted here and applied to new
        samples. Columns that are NaN in more than half of the samples are left out with a
        warning. A row of NaN only is a missing sample, and is not filled.
    n_init : int
        Restarts of k-means.
    random_state : int, RandomState or None
        Seed of k-means.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {}

    n_clusters: int = field(kw_only=False)
    columns: Any = None
    missing: Any = None
    n_init: int = 10
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples of X.

        Parameters
        ----------
        X : MultiView, list or dict of (n, f_p) views, MuData, AnnData, or one (n, f) table
            Kernel matrices (n, n), or an (m, n, n) array of them, where the estimator is told
            that kernels are given.
        y : ignored

        Returns
        -------
        self
        """
        self._forget()
        views = self._fit_views(X)
        k = self._check_parameters(len(views))
        group = None
        if isinstance(views, MultiView):  # rows outside memory are checked as they are read
            self._note_presence(views, k)
            self._note_gaps()
            warn_of_input(views)
            group = self._find_duplicates(views, k)
        if group is not None and 2 * (group.max() + 1) < len(group) and self._tables_only(views):
            self._fit(views[_first_of(group)], k)  # else neighbors would mostly be duplicates
            self._extend_to(group)
        else:
            self._fit(views, k)
            if group is not None:
                self._unite(group)
        self._note_components(views)
        self._warn_of_unrelated(views)
        return self

    def _warn_of_unrelated(self, views: Any) -> None:
        """Warn where no view agrees with another, as where the rows of one were shuffled."""
        if views.n_views > 1 and len(vars(self).get("unrelated_views_", ())) == views.n_views:
            how = "" if views.index is not None else ", in the same order"
            warn(
                "no two views agree beyond chance: are the rows of every view the same samples"
                f"{how}? The clusters rest on views that do not confirm each other",
                UnrelatedWarning,
            )

    @abstractmethod
    def _fit(self, views: Any, k: int) -> None:
        """Set the fitted attributes, `labels_` among them."""

    @abstractmethod
    def subspaces(self, views: MultiView, size: int) -> Subspaces:
        """Return the `size` leading eigenvectors of every view, as the method builds it."""

    @abstractmethod
    def affinity(self, views: MultiView, k: int) -> sp.csr_array:
        """Return one sparse graph (n, n) of all views, on which partitions can be compared."""

    def partitions(
        self, views: MultiView, ks: Sequence[int], random_state: int, n_init: int
    ) -> Partitions:
        """Return a graph of all views and the labels of a fit for every number of clusters."""
        graph = self.affinity(views, ks[len(ks) // 2])
        fit, found = self._refit(views), {}
        chosen = {"n_init": n_init, "random_state": random_state, "columns": None}
        for k in ks:
            step(f"{k} clusters")
            found[k] = np.asarray(fit(clone(self).set_params(n_clusters=k, **chosen)).labels_)
        return Partitions(graph, found)

    def _refit(self, views: MultiView) -> Callable[[Any], Any]:
        """Return the function that fits a copy of the estimator to these views."""
        return lambda model: model.fit(views)

    def per_sample(self) -> dict[str, np.ndarray]:
        """Return what is known about every sample as columns (n,), by name: `cluster` first.

        `views`, the number of views that hold the sample, is there where some are missing,
        `confidence` after `mkclust.cluster`, which judges the clusters (docs/confidence.md).
        """
        check_is_fitted(self, "labels_")
        columns = {"cluster": np.asarray(self.labels_)}
        support: np.ndarray | None = vars(self).get("support_")
        columns |= {} if support is None else {"views": support}
        found: Any = vars(self).get("verdict_")
        known = found is not None and found.confidence is not None
        return columns | ({"confidence": found.confidence.samples} if known else {})

    def describe(self) -> tuple[str, ...]:
        """Return the verdict, after `mkclust.cluster`, and what the method did, in sentences."""
        found: Any = vars(self).get("verdict_")
        return (*(() if found is None else found.sentences), *self.describe_method())

    def describe_method(self) -> tuple[str, ...]:
        """Return what the method did, one sentence each."""
        return ()

    def verify(self, views: Any) -> Verification:
        """Check every claim of the fit with another eigensolver, and name near ties.

        `views` are those of the fit. Methods other than graph fusion and MKC-DNM refuse.
        """
        model, data = self._distinct_only(fitted_views(self, views))
        found = list(model._checks(data))
        checks = tuple(each for each in found if isinstance(each, Check))
        return Verification(checks, tuple(each for each in found if isinstance(each, str)))

    def _checks(self, views: MultiView) -> Iterator[Check | str]:
        """Yield every claim of the fit with its error, and a sentence for every near tie."""
        raise InputError(f"{self.title} has no verification: graph fusion and MKC-DNM have one")

    def to_frame(self) -> Any:
        """Return `per_sample` and the membership as a pandas DataFrame, indexed by sample."""
        columns = self.per_sample()
        if self._has_membership:
            columns |= {f"membership_{c}": P for c, P in enumerate(self.membership_.T)}
        names = vars(self).get("sample_names_in_")
        index = range(len(self.labels_)) if names is None else list(names)
        return pd.DataFrame(columns, index=pd.Index(index, name="sample", tupleize_cols=False))

    def labels_series(self) -> Any:
        """Return the labels as a pandas Series `cluster`, indexed by sample name or position."""
        return self.to_frame()["cluster"]

    def save(self, path: Any) -> Path:
        """Write the fitted model to one .npz file, without pickle; `mkclust.load` reads it.

        The file holds the fitted views, because new samples are compared with them.
        """
        check_is_fitted(self)
        if "name" not in vars(type(self)):
            raise InputError(f"{type(self).__name__} is none of the methods of mkclust")
        parameters = self.get_params(deep=False)
        fitted = {
            name: value
            for name, value in vars(self).items()
            if name not in parameters
            and name != "_output"  # of set_output
            and not isinstance(value, np.memmap)  # an embedding too large for memory
        }
        if "sample_names_in_" in fitted:  # of other types, such as dates, as text
            names = [n if isinstance(n, (str, int)) else str(n) for n in self.sample_names_in_]
            fitted["sample_names_in_"] = np.array(names, dtype=object)
        return write_archive(path, kind=self.name, parameters=parameters, fitted=fitted)

    def _forget(self) -> None:
        """Remove the attributes of an earlier fit, which may have been of another kind."""
        for name in [name for name in vars(self) if name.endswith("_") or name in PRIVATE_FITTED]:
            del self.__dict__[name]
        self.notes_ = ()

    def _large_views(self, X: Any) -> Any:
        return as_large_views(X)

    def _note_presence(self, views: MultiView, k: int) -> None:
        """Record which samples each view holds, and warn where some lack any."""
        self.presence_, self.support_ = views.present, None
        if views.present is None:
            return
        self.support_ = views.present.sum(axis=1)
        notes = check_presence(views, k)
        self.notes_ = (*self.notes_, *notes)
        warn(" ".join(notes), MissingRowsWarning)

    def _tables_only(self, views: MultiView | LargeViews) -> bool:
        return not views.kernels  # no view is a kernel matrix, so that rows can be left out

    def _label(self, H: np.ndarray, k: int) -> None:
        """Set labels and centers by k-means on the unit rows of an embedding (n, r)."""
        self.embedding_ = H
        step("k-means")
        found = kmeans_clusters(H, k, self.n_init, random_generator(self.random_state))
        self.labels_, self.cluster_centers_ = found.labels, found.centers
        self.inertia_ = found.inertia

    def _find_duplicates(self, views: MultiView, k: int) -> np.ndarray | None:
        """Number the distinct samples (n,), and note that there are copies; None without any.

        Fewer distinct samples than clusters are refused.
        """
        known: Any = self._row_hashes if self._imputation is None else views.row_hashes()
        group = number_distinct(known)
        n, distinct = len(group), int(group.max()) + 1
        if distinct < k:
            raise InputError(
                f"n_clusters = {k} is more than the {distinct} distinct samples: all others are "
                "duplicates in every view",
                parameter="n_clusters",
            )
        if distinct == n:
            return None
        copies = f"{n - distinct} of {n} samples are equal to others in every view"
        self._note(f"{copies}: {distinct} are distinct")
        return group

    def _extend_to(self, group: np.ndarray) -> None:
        """Extend a fit of the distinct samples to all: duplicates are alike."""
        self._distinct = _first_of(group)
        distinct = len(self._distinct)
        for name in vars(self).keys() & {*PER_SAMPLE, *PER_PAIR}:
            rows = np.asarray(vars(self)[name])[group]
            setattr(self, name, rows[:, group] if name in PER_PAIR else rows)
        if self._has_membership:
            self.inertia_ = inertia(self.embedding_, self.labels_, self.cluster_centers_)
        spectra = self._spectra
        if spectra is not None and all(len(H) == distinct for H in spectra.heads):
            self._spectra = replace(spectra, heads=tuple(H[group] for H in spectra.heads))
        self._note(f"most samples are copies: the {distinct} distinct samples were clustered")

    def _unite(self, group: np.ndarray) -> None:
        """Put duplicates that k-means divided into one cluster: that of their mean membership.

        Without a membership, it is the cluster of most of them.
        """
        known = self._has_membership
        P = self.membership_ if known else np.eye(self.labels_.max() + 1)[self.labels_]
        repeated = np.bincount(group)[group] > 1
        labels = np.where(repeated, _group_means(P, group).argmax(axis=1), self.labels_)
        moved = np.count_nonzero(labels != self.labels_)
        if not moved:
            return
        asked, left = len(np.unique(self.labels_)), len(np.unique(labels))
        self.labels_ = labels  # numbered as before: predict uses the same centers
        self._united = group
        fewer = f"; {left} clusters of {asked} are left" if left < asked else ""
        self._note(
            f"{moved} samples were moved to the cluster of their copies: samples that are equal "
            f"in every view share a cluster{fewer}"
        )

    @property
    def membership_(self) -> np.ndarray:
        """Probability of every cluster for every sample, (n, k); rows sum to 1.

        Duplicates have their mean, where k-means divided some.
        """
        found: np.ndarray = super().membership_
        return found if self._united is None else _group_means(found, self._united)

    def _check_labels(self, nearest: np.ndarray) -> Check:
        """Compare the labels with the nearest centers (n,), duplicates with that of their mean."""
        if self._united is not None:
            nearest = self.membership_.argmax(axis=1)
        wrong = float(np.mean(nearest != self.labels_))
        return Check("every label is that of the nearest center", wrong, 0.0)

    def _distinct_only(self, views: MultiView) -> tuple[Self, MultiView]:
        """Return the model and views with the rows that were fitted, where most are duplicates."""
        if self._distinct is None:
            return self, views
        small = copy(self)
        for name in PER_SAMPLE:
            setattr(small, name, np.asarray(vars(self)[name])[self._distinct])
        return small, views[self._distinct]

    def _note_components(self, views: MultiView | LargeViews) -> None:
        self.notes_ += tuple(
            f"{name}: its columns are uncorrelated, as principal components are, and were not "
            "scaled"
            for name, kind in zip(views.names, views.kinds, strict=True)
            if kind == COMPONENTS
        )

    def _note(self, note: str, category: type[MkclustWarning] = DegenerateWarning) -> None:
        self.notes_ = (*self.notes_, note)
        warn(note, category)

    def _check_parameters(self, n: int) -> int:
        """Check the parameters of every method before the work; return the number of clusters."""
        k = self.n_clusters
        if isinstance(k, (float, np.floating)) and float(k).is_integer():
            k = int(k)  # R has no other numbers
        k = check_whole("n_clusters", k)
        if n < 2:
            raise InputError(f"at least two samples are needed to cluster, got n_samples = {n}")
        if k > n:
            raise InputError(
                f"n_clusters = {k} is more than the {n} samples", parameter="n_clusters"
            )
        check_whole("n_init", self.n_init)
        random_generator(self.random_state)
        for parameter in fields(self):
            name, value = parameter.name, getattr(self, parameter.name)
            if isinstance(parameter.default, bool) and not isinstance(value, bool):
                raise InputError(f"{name} must be True or False, got {value!r}", parameter=name)
        return k

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing is not None
        return tags


def number_distinct(hashes: np.ndarray) -> np.ndarray:
    """Number the distinct rows (n, m) of checksums in order of appearance, (n,).

    >>> number_distinct(np.array([[7, 1], [5, 1], [7, 1]]))
    array([0, 1, 0])
    """
    return np.asarray(pd.DataFrame(hashes).groupby([*range(hashes.shape[1])], sort=False).ngroup())


def _first_of(group: np.ndarray) -> np.ndarray:
    """Return the position of the first sample of every group."""
    return np.asarray(np.unique(group, return_index=True)[1])


def _group_means(rows: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return for every row (n, k) the mean over the rows of its group (n,).

    >>> _group_means(np.array([[1.0], [2.0], [5.0]]), np.array([0, 0, 1])).ravel()
    array([1.5, 1.5, 5. ])
    """
    return np.asarray(pd.DataFrame(rows).groupby(group).transform("mean"))


@dataclass(eq=False, repr=False, kw_only=True)
class KernelClusterer(MultiViewClusterer):
    """Base of the estimators that work on one kernel matrix per view.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    kernel : str, callable, dict or list
        ``"gaussian"`` (at the scale of the data, nothing to tune), ``"linear"``, ``"cosine"``,
        ``"polynomial"``, ``"rbf"``, ``"precomputed"``; a callable from a view
        to an n x n matrix; or one of these per view, by name or position.
    kernel_params : dict, optional
        Arguments of the kernel, such as ``{"gamma": 0.1}``.
    center, normalize : bool
        Center the kernels in feature space, then scale them to unit diagonal. Precomputed
        kernels too: switch off what has been done to them already.
    indefinite : {"raise", "shift", "ignore"}
        What to do with a given kernel that has negative eigenvalues.
    columns, missing, n_init, random_state
        See MultiViewClusterer.
    """

    kernel: Any = "gaussian"
    kernel_params: Mapping[str, Any] | None = None
    center: bool = True
    normalize: bool = True
    indefinite: str = "raise"

    @property
    def gives_kernels(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def fit_kernels(self, kernels: KernelBank) -> Self:
        """Cluster from kernels that are ready: nothing is copied, checked, centered or scaled.

        For one bank that serves many fits, such as those of a grid.
        """
        self._forget()
        self._fit_names(kernels.views)
        self.n_features_in_ = kernels.views.shape[1]
        self._row_hashes = kernels.views.row_hashes()
        k = self._check_parameters(kernels.n_samples)
        self._note_presence(kernels.views, k)
        self._solve(kernels, k)
        return self

    def _tables_only(self, views: MultiView | LargeViews) -> bool:
        return "precomputed" not in map(str, self._recipe(views).for_views(views.names))

    def _fit(self, views: MultiView, k: int) -> None:
        self._solve(KernelBank(views, self._recipe(views)), k)

    @abstractmethod
    def _solve(self, kernels: KernelBank, k: int) -> None:
        """Set the fitted attributes, `labels_` among them, from the kernels."""

    def subspaces(self, views: MultiView, size: int) -> Subspaces:
        """Return the `size` leading eigenvectors of every view's kernel."""
        spaces = Subspaces.of(KernelBank(views, self._recipe(views)))
        return spaces.grow(min(size, len(views)))

    def affinity(self, views: MultiView, k: int) -> sp.csr_array:
        """Return the kNN graph (n, n) of the average kernel: n x n memory on the way."""
        mean = KernelBank(views, self._recipe(views)).mean()
        metric = Metric("average kernel", mean, gram=True)
        near = neighborhood(metric, default_n_neighbors(len(views), k))
        return knn_affinity(near, near.places.shape[1])

    def _recipe(self, views: MultiView | LargeViews) -> KernelRecipe:
        check_choice("indefinite", self.indefinite, INDEFINITE)
        kernel, params = ("precomputed", {}) if views.kernels else (self.kernel, self.kernel_params)
        params = {} if params is None else params
        return KernelRecipe(kernel, params, self.center, self.normalize, self.indefinite)
