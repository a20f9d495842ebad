"""The methods `predict` and `transform` for new samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..chunked.rows import Rows, stored_rows
from ..data.adapters import as_views, is_several
from ..data.views import MultiView
from ..exceptions import InputError
from ..linalg.kmeans import nearest_centers
from .anchors import AnchorExtension
from .neighbors import NeighborExtension
from .nystroem import FeatureExtension, KernelExtension, embedded

Found = KernelExtension | FeatureExtension | NeighborExtension | AnchorExtension


class OutOfSample(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Mixin with `predict` and `transform` through the out-of-sample extension `_extension`."""

    _extension: Found

    def predict(self, X: Any, *, self_similarity: Any = None) -> np.ndarray:
        r"""Assign each new sample to the nearest center, $\min_j \|h/|h| - c_j\|$.

        A fitted sample gets its own label. The time is that of n_new x n kernel values per view,
        the memory that of a few blocks of them.

        Parameters
        ----------
        X : as in `fit`, of any number of samples
            The same views with the same columns; a sample may lack views (a row of NaN). With
            given kernels: each new sample's kernel values with the fitted ones, (n_new, n).
        self_similarity : list or dict of (n_new,) arrays, optional
            With given kernels: each new sample's kernel value with itself. It is needed where
            kernels are normalized and the diagonal of the fitted kernel is not constant.

        Returns
        -------
        (n_new,) array of int
        """
        parts = self._placed(X, self_similarity)
        return np.concatenate([nearest_centers(H, self.cluster_centers_) for H in parts])

    def transform(self, X: Any, *, self_similarity: Any = None) -> np.ndarray:
        """Return the embedding of new samples, (n_new, k); parameters as in `predict`."""
        return np.concatenate(list(self._placed(X, self_similarity)))

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Cluster the samples of X and return their embedding, (n, k)."""
        self.fit(X, y)
        return np.array(self.embedding_) if hasattr(self, "embedding_") else self.transform(X)

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[1])

    def _placed(self, X: Any, self_similarity: Any) -> Iterator[np.ndarray]:
        check_is_fitted(self)
        found = self._extension
        if not found.given and self_similarity is not None:
            raise InputError("self_similarity is for given kernels; this model was fitted on views")
        known = found.known(self.embedding_) if hasattr(found, "known") else None
        rows: Any = None if found.kernels else stored_rows(X)
        if rows is not None:
            unknown = [None] * len(found.names)
            return embedded(found, _matched(rows, found), unknown, known=known)
        views = _kernel_columns(X, found) if found.kernels else self._new_views(X, found)
        views = _matched(views, found)
        own = _self_similarities(self_similarity, X, views, found)
        return embedded(found, Rows(views), own, views.present, known)

    def _new_views(self, X: Any, found: Found) -> MultiView:
        X = as_views(X)
        if not is_several(X):
            return self._views_of_table(X, reset=False)
        if isinstance(X, (list, tuple)) and len(X) == len(found.names):
            return MultiView(X, names=found.names)
        return X if isinstance(X, MultiView) else MultiView(X)


def _matched(views: Any, found: Found) -> Any:
    """Return the views in the order of the fit; InputError where their names or widths differ."""
    if set(views.names) != set(found.names):
        raise InputError(
            f"the model was fitted on the views {', '.join(found.names)}, but got "
            f"{', '.join(views.names)}"
        )
    if views.names != found.names:
        views = (
            views.select(found.names)
            if isinstance(views, MultiView)
            else Rows({name: views.sources[views.names.index(name)] for name in found.names})
        )
    for name, width, fitted in zip(found.names, views.widths, found.widths, strict=True):
        if width != fitted:
            what = "a kernel value for each fitted sample" if found.kernels else "the same columns"
            raise InputError(
                f"view {name!r} has {width} columns, but was fitted on {fitted}: new samples need "
                f"{what}"
            )
    return views


def _kernel_columns(X: Any, found: Found) -> MultiView:
    """Return the kernel values of new with fitted samples; fitted kernels are accepted too."""
    if isinstance(X, MultiView):
        return MultiView(dict(zip(X.names, X.views, strict=True)))
    if isinstance(X, Mapping):
        return MultiView(X)
    views = list(X) if isinstance(X, (list, tuple)) or np.ndim(X) == 3 else [X]
    if len(views) != len(found.names):
        raise InputError(f"{len(found.names)} kernels were fitted, but got {len(views)}")
    return MultiView(views, names=found.names)


def _self_similarities(
    given: Any, X: Any, views: MultiView, found: Found
) -> Sequence[np.ndarray | None]:
    if given is None and isinstance(X, MultiView) and X.kernels:
        return [np.diagonal(_dense(X[name])) for name in found.names]
    values = _by_name({} if given is None else given, found)
    for name, own in values.items():
        if own.shape != (len(views),) or not np.isfinite(own).all():
            raise InputError(
                f"self_similarity of view {name!r} must be {len(views)} finite numbers"
            )
    for name in found.needs_own():
        if name not in values:
            raise InputError(
                f"view {name!r}: its kernel has different values on its diagonal and is "
                "normalized, so new samples need self_similarity, their kernel value with "
                "themselves"
            )
    return [values.get(name) for name in found.names]


def _by_name(given: Any, found: Found) -> dict[str, np.ndarray]:
    """Return the self-similarities by the name of the kernel, from a mapping or a sequence."""
    if not isinstance(given, Mapping):
        if len(given) != len(found.given):
            raise InputError(f"self_similarity must be given for {', '.join(found.given)}")
        given = dict(zip(found.given, given, strict=True))
    odd = [name for name in given if name not in found.given]
    if odd:
        raise InputError(
            f"self_similarity is given for {odd[0]!r}, which was not given as a kernel"
        )
    return {name: np.asarray(own, dtype=np.float64) for name, own in given.items()}


def _dense(kernel: Any) -> np.ndarray:
    return kernel.toarray() if hasattr(kernel, "toarray") else np.asarray(kernel)
