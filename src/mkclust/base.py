"""What every method shares: input, kernels, labels and scikit-learn's contract."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import (
    check_array,
    check_is_fitted,
    check_random_state,
    validate_data,
)

from .chunked.rows import Rows
from .data.adapters import as_views
from .data.missing import require_complete
from .data.views import MultiView, split_columns
from .exceptions import InputError
from .graphs.affinity import neighbours_for
from .kernels.bank import AUTO, KernelBank, KernelRecipe
from .linalg.kmeans import kmeans_clusters


class MultiViewClusterer(ClusterMixin, BaseEstimator, ABC):
    """Base of all methods: checks the input, builds kernels, leaves the rest to `_solve`.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    kernel : str, callable, dict or list
        ``"gaussian"`` (at the scale of the data, nothing to tune), ``"linear"``, ``"cosine"``,
        ``"polynomial"``, ``"rbf"``, ``"knn"``, ``"self-tuning"``, ``"precomputed"``; ``"auto"``,
        neighbour graphs in several senses pooled, of given kernels too; a callable from a view
        to an n x n matrix; or one of these per view, by name or position.
    kernel_params : dict, optional
        Arguments of the kernel, such as ``{"gamma": 0.1}``.
    center, normalize : bool
        Centre the kernels in feature space, then scale them to unit diagonal. Precomputed
        kernels too: switch off what has been done to them already.
    indefinite : {"raise", "shift", "ignore"}
        What to do with a given kernel that has negative eigenvalues.
    columns : dict or sequence, optional
        For a single table: its columns by view name, or a view name for each column.
    n_init : int
        Restarts of k-means.
    random_state : int, RandomState or None
        Seed of k-means.

    A method adds its own keyword parameters; the constructor's signature shows both. It also
    says what it is called, where it comes from, and over which values its authors tuned it.
    """

    title: ClassVar[str]
    reference: ClassVar[str]
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    takes_missing_rows: ClassVar[bool] = False

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
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.center = center
        self.normalize = normalize
        self.indefinite = indefinite
        self.columns = columns
        self.n_init = n_init
        self.random_state = random_state

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Show the shared parameters in the signature of a method that takes ``**shared``.

        scikit-learn reads `get_params` and `clone` off the signature.
        """
        super().__init_subclass__(**kwargs)
        own = inspect.signature(cls.__init__)
        if any(p.kind is p.VAR_KEYWORD for p in own.parameters.values()):
            shared = inspect.signature(MultiViewClusterer.__init__).parameters
            mine = {name: p for name, p in own.parameters.items() if p.kind is not p.VAR_KEYWORD}
            both = [*mine.values(), *(p for name, p in shared.items() if name not in mine)]
            cls.__init__.__signature__ = own.replace(parameters=both)  # type: ignore[attr-defined]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples of X.

        Parameters
        ----------
        X : MultiView, list or dict of (n, f_p) views, MuData, AnnData, or one (n, f) table
            With ``kernel="precomputed"``: n x n kernels, or an (m, n, n) array of them.
        y : ignored
        """
        self._fit_views(self._checked_views(X))
        return self

    def fit_kernels(self, kernels: KernelBank) -> Self:
        """Cluster from kernels that are ready: nothing is copied, checked, centred or normalised.

        For one bank that serves many fits, such as those of a grid.
        """
        k = self._k_among(kernels.n_samples)
        self._check_kmeans()
        self.view_names_in_ = np.array(kernels.names, dtype=object)
        self._solve(kernels, k)
        return self

    def _fit_views(self, views: MultiView) -> None:
        k = self._checked_k(views)
        self._check_kmeans()
        if not self.takes_missing_rows:
            require_complete(views, self.title)
        self.view_names_in_ = np.array(views.names, dtype=object)
        self._solve(KernelBank(views, self._recipe(views)), k)

    def report(
        self,
        path: Any,
        views: Any = None,
        *,
        classes: Any = None,
        notes: Sequence[str] = (),
        answers: Sequence[Any] = (),
    ) -> Path:
        """Write what was found as one HTML page that works offline.

        `views`, what was fitted, adds sample names, widths and known classes; `classes` (n,)
        gives or replaces the latter; `notes` are warnings to show, `answers` what `choose_k`,
        `stability` and `view_influence` returned.
        """
        from .report import write_report

        return write_report(self, path, views, classes=classes, notes=notes, answers=answers)

    def save(self, path: Any) -> Path:
        """Write the fitted model to one .npz file, without pickle; `mkclust.load` reads it.

        The file holds the fitted views, which new samples are compared with.
        """
        from .io.model import save_model

        check_is_fitted(self)
        return save_model(self, path)

    @abstractmethod
    def _solve(self, kernels: KernelBank, k: int) -> None:
        """Set the fitted attributes, `labels_` among them, from the kernels."""

    def _label(self, H: np.ndarray, k: int) -> None:
        """Labels by k-means on the rows of an embedding (n, r)."""
        self.embedding_ = H
        seed = check_random_state(self.random_state)
        found = kmeans_clusters(H, k, n_init=self.n_init, random_state=seed)
        self.labels_, self.cluster_centers_ = found.labels, found.centers

    def _recipe(self, views: MultiView | Rows) -> KernelRecipe:
        if self.indefinite not in ("raise", "shift", "ignore"):
            raise InputError(
                f'indefinite must be "raise", "shift" or "ignore", got {self.indefinite!r}'
            )
        params = dict(self.kernel_params or {})
        if isinstance(self.kernel, str) and self.kernel == AUTO:
            params.setdefault("n_neighbors", neighbours_for(len(views), int(self.n_clusters)))
            odd = [name for name in params if name != "n_neighbors"]
            if odd:
                raise InputError(f'kernel="auto" has no parameter {odd[0]!r}, only n_neighbors')
            given = views.kernels
            return KernelRecipe(AUTO, params, self.center, self.normalize, given=given)
        kernel, params = ("precomputed", {}) if views.kernels else (self.kernel, params)
        return KernelRecipe(kernel, params, self.center, self.normalize, self.indefinite)

    def _checked_views(self, X: Any) -> MultiView:
        X = as_views(X)
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        if not precomputed and not is_several(X):
            return self._views_of_table(X)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit to one table
        views = X if isinstance(X, MultiView) else MultiView(X, kernels=precomputed)
        self.n_features_in_ = views.shape[1]
        return views

    def _views_of_table(self, X: Any, reset: bool = True) -> MultiView:
        if not hasattr(X, "columns") and not sp.issparse(X):
            try:
                X = check_array(
                    X, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0
                )
            except ValueError as error:
                raise InputError(f"X is neither views nor a table: {error}") from None
        validate_data(self, X, reset=reset, skip_check_array=True)
        return MultiView([X]) if self.columns is None else split_columns(X, self.columns)

    def _checked_k(self, views: MultiView | Rows) -> int:
        k = self._k_among(len(views))
        if isinstance(views, MultiView) and (distinct := _distinct_rows(views, k)) < k:
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
        """Before the work, not after it."""
        if not isinstance(self.n_init, Integral) or self.n_init < 1:
            raise InputError(f"n_init must be a whole number from 1 on, got {self.n_init!r}")
        try:
            check_random_state(self.random_state)
        except ValueError as error:
            raise InputError(f"random_state: {error}") from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def is_several(X: Any) -> bool:
    """Whether X holds views rather than being one table."""
    if sp.issparse(X):
        return False
    if isinstance(X, (MultiView, Mapping)) or getattr(X, "ndim", 2) == 3:
        return True
    if not isinstance(X, (list, tuple)) or not len(X):
        return False
    first = X[0]
    if hasattr(first, "shape"):
        return len(first.shape) == 2
    return isinstance(first, (list, tuple)) and len(first) > 0 and np.ndim(first[0]) > 0


def _distinct_rows(views: MultiView, enough: int) -> int:
    """Number of different samples, counted until there are `enough`: usually the first few."""
    seen: set[bytes] = set()
    for i in range(len(views)):
        seen.add(b"".join(_row_bytes(view, i) for view in views.views))
        if len(seen) >= enough:
            break
    return len(seen)


def _row_bytes(view: Any, i: int) -> bytes:
    if sp.issparse(view):
        span = slice(view.indptr[i], view.indptr[i + 1])
        stored = view.data[span] != 0
        order = np.argsort(view.indices[span][stored])
        parts = view.indices[span][stored][order], view.data[span][stored][order]
        return b"".join(part.tobytes() for part in parts) + b"|"
    return bytes((view[i] + 0).tobytes())  # + 0 turns a negative zero into zero
