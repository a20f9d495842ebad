"""What every estimator shares: input checks, k-means, saving and scikit-learn's contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted, check_random_state

from .agreement.subspaces import KernelSubspaces, SpectraInMemory
from .data.copies import distinct_rows, fit_copies_once
from .data.frames import named_index
from .data.missing import check_presence, require_complete
from .data.views import MultiView
from .exceptions import InputError, MissingRowsWarning, warn
from .graphs.affinity import default_n_neighbors, knn_affinity
from .graphs.metrics import Metric
from .graphs.neighbors import neighborhood
from .io.archive import write_archive
from .kernels.bank import KernelBank, KernelRecipe
from .large.views import LargeViews
from .linalg.kmeans import kmeans_clusters
from .predict.new_samples import Membership
from .preprocessing.intake import TakesViews, in_fitted_order
from .preprocessing.suspects import warn_of_isolation, warn_of_outliers
from .progress import step

INDEFINITE = ("raise", "shift", "ignore")


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


class MultiViewClusterer(Membership, TakesViews, ClusterMixin, BaseEstimator, ABC):
    """Base of all estimators: checks the input and leaves the method to `_fit`.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    columns : dict or sequence, optional
        For a single table: its columns by view name, or a view name for each column.
    missing : {None, "median", "knn"} or callable
        What to do with NaN cells. None refuses them. ``"median"`` and ``"knn"`` fill them per
        view by scikit-learn's SimpleImputer or KNNImputer, fitted here and applied to new
        samples. A function takes a table (n_p, f) and returns it filled; new samples are given
        to it below the fitted rows. Columns that are NaN in more than half of the samples are
        left out with a warning. A row of NaN only is a missing sample, and is not filled.
    n_init : int
        Restarts of k-means.
    random_state : int, RandomState or None
        Seed of k-means.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    takes_missing_rows: ClassVar[bool] = False

    def __init__(
        self,
        n_clusters: int,
        *,
        columns: Any = None,
        missing: Any = None,
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.columns = columns
        self.missing = missing
        self.n_init = n_init
        self.random_state = random_state

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
        views = self._checked_views(X)
        k = self._checked_k(views)
        self._check_kmeans()
        self._forget()
        self._note_names(views)
        if isinstance(views, MultiView):
            self._note_presence(views, k)
            warn_of_outliers(views)
            warn_of_isolation(views)
        self._note_gaps()
        if isinstance(views, MultiView):
            fit_copies_once(self, views, k, tables=self._tables_only(views))
        else:
            self._fit(views, k)
        return self

    @abstractmethod
    def _fit(self, views: Any, k: int) -> None:
        """Set the fitted attributes, `labels_` among them."""

    @abstractmethod
    def subspaces(self, views: MultiView, size: int) -> SpectraInMemory:
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
        chosen: dict[str, Any] = {"n_init": n_init, "random_state": random_state}
        chosen |= dict.fromkeys({"columns"} & set(self.get_params(deep=False)))
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
        `confidence` where the method has an embedding.
        """
        check_is_fitted(self, "labels_")
        columns = {"cluster": np.asarray(self.labels_)}
        support: np.ndarray | None = getattr(self, "support_", None)
        columns |= {} if support is None else {"views": support}
        return columns | ({"confidence": self.confidence_} if self._has_membership else {})

    def to_frame(self) -> Any:
        """Return `per_sample` and the membership as a pandas DataFrame, indexed by sample."""
        import pandas as pd

        columns = self.per_sample()
        if self._has_membership:
            columns |= {f"membership_{c}": P for c, P in enumerate(self.membership_.T)}
        names = getattr(self, "sample_names_in_", None)
        index = pd.RangeIndex(len(self.labels_)) if names is None else named_index(names)
        return pd.DataFrame(columns, index=index.rename("sample"))

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
        input_names = ("n_features_in_", "feature_names_in_", "view_feature_names_in_")
        fitted = [name for name in vars(self) if name.endswith("_") and name not in input_names]
        for name in [*fitted, "_extension", "_spectra", "_distinct"]:
            self.__dict__.pop(name, None)
        self.notes_ = ()

    def _note_presence(self, views: MultiView, k: int) -> None:
        """Record which samples each view holds, or refuse views that lack some."""
        if not self.takes_missing_rows:
            require_complete(views, self.title)
            return
        notes = check_presence(views, k)
        self.notes_ = notes
        self.presence_ = views.present
        self.support_ = None if views.present is None else views.present.sum(axis=1)
        if notes:
            warn(" ".join(notes), MissingRowsWarning)

    def _tables_only(self, views: MultiView | LargeViews) -> bool:
        return not views.kernels  # no view is a kernel matrix, so that rows can be left out

    def _label(self, H: np.ndarray, k: int) -> None:
        """Set labels and centers by k-means on the unit rows of an embedding (n, r)."""
        self.embedding_ = H
        found = kmeans_clusters(H, k, self.n_init, check_random_state(self.random_state))
        self.labels_, self.cluster_centers_ = found.labels, found.centers
        self.inertia_ = found.inertia

    def _checked_k(self, views: MultiView | LargeViews) -> int:
        k = self._k_among(len(views))
        if isinstance(views, MultiView) and (distinct := distinct_rows(views, k)) < k:
            raise InputError(
                f"n_clusters = {k} is more than the {distinct} distinct samples: all others are "
                "duplicates in every view"
            )
        return k

    def _k_among(self, n: int) -> int:
        k = self.n_clusters
        if not isinstance(k, Integral) or isinstance(k, bool):
            raise InputError(f"n_clusters must be a whole number, got {k!r}")
        if k < 1:
            raise InputError(f"n_clusters must be at least 1, got {k}")
        if n < 2:
            raise InputError(f"at least two samples are needed to cluster, got n_samples = {n}")
        if k > n:
            raise InputError(f"n_clusters = {k} is more than the {n} samples")
        return int(k)

    def _check_kmeans(self) -> None:
        """Check the parameters of k-means before the work, not after it."""
        if not isinstance(self.n_init, Integral) or self.n_init < 1:
            raise InputError(f"n_init must be a whole number from 1 on, got {self.n_init!r}")
        try:
            check_random_state(self.random_state)
        except ValueError as error:
            raise InputError(f"random_state: {error}") from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing is not None
        return tags


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

    def __init__(
        self,
        n_clusters: int,
        *,
        kernel: Any = "gaussian",
        kernel_params: Mapping[str, Any] | None = None,
        center: bool = True,
        normalize: bool = True,
        indefinite: str = "raise",
        columns: Any = None,
        missing: Any = None,
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters, columns=columns, missing=missing, n_init=n_init, random_state=random_state
        )
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.center = center
        self.normalize = normalize
        self.indefinite = indefinite

    @property
    def gives_kernels(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def fit_kernels(self, kernels: KernelBank) -> Self:
        """Cluster from kernels that are ready: nothing is copied, checked, centered or scaled.

        For one bank that serves many fits, such as those of a grid.
        """
        k = self._k_among(kernels.n_samples)
        self._check_kmeans()
        self._forget()
        self._imputation = None
        self._note_names(kernels.views)
        self.view_feature_names_in_ = list(kernels.views.feature_names)
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

    def subspaces(self, views: MultiView, size: int) -> KernelSubspaces:
        """Return the `size` leading eigenvectors of every view's kernel."""
        found = KernelSubspaces.of(KernelBank(views, self._recipe(views)))
        found.grow(min(size, len(views)))
        return found

    def affinity(self, views: MultiView, k: int) -> sp.csr_array:
        """Return the kNN graph (n, n) of the average kernel: n x n memory on the way."""
        mean = KernelBank(views, self._recipe(views)).mean()
        metric = Metric("average kernel", mean, gram=True)
        near = neighborhood(metric, default_n_neighbors(len(views), k))
        return knn_affinity(near, near.places.shape[1])

    def _recipe(self, views: MultiView | LargeViews) -> KernelRecipe:
        check_indefinite(self.indefinite)
        kernel, params = ("precomputed", {}) if views.kernels else (self.kernel, self.kernel_params)
        params = {} if params is None else params
        return KernelRecipe(kernel, params, self.center, self.normalize, self.indefinite)


def check_indefinite(value: Any) -> None:
    """Refuse another value of the parameter `indefinite`."""
    if value not in INDEFINITE:
        raise InputError(f'indefinite must be "raise", "shift" or "ignore", got {value!r}')


def refitted_views(model: MultiViewClusterer, views: Any) -> MultiView:
    """Return `views` as a fitted model took them; an InputError where they are others."""
    check_is_fitted(model, "labels_")
    fresh = type(model)(**model.get_params(deep=False))
    taken = fresh._checked_views(views)
    return in_fitted_order(model, taken.in_memory() if isinstance(taken, LargeViews) else taken)
