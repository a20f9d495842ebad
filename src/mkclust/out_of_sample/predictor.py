"""The methods `predict` and `transform` for new samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from ..data.frames import named_index
from ..data.views import MultiView
from ..exceptions import InputError
from ..kernels.functions import dense
from ..large.views import LargeViews
from ..linalg.kmeans import nearest_centers
from ..preprocessing.columns import check_width
from ..preprocessing.intake import TakesViews
from .anchors import AnchorExtension
from .membership import Membership
from .neighbors import NeighborExtension
from .nystroem import FeatureExtension, KernelExtension, embedded

Found = KernelExtension | FeatureExtension | NeighborExtension | AnchorExtension


class OutOfSample(  # type: ignore[call-arg]
    Membership,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    TakesViews,
    auto_wrap_output_keys=None,
):
    """Mixin with `predict` and `transform` through the out-of-sample extension `_extension`.

    Sample names come from all views and not from one table, so that the frames that `set_output`
    asks for are made here and not by scikit-learn.
    """

    _extension: Found

    def predict(self, X: Any, *, self_similarity: Any = None) -> np.ndarray:
        r"""Assign each new sample to the nearest center, $\min_j \|h/|h| - c_j\|$.

        A fitted sample gets its own label. The time is that of n_new x n kernel values per view,
        the memory that of a few blocks of them.

        Parameters
        ----------
        X : as in `fit`, of any number of samples
            The same views, by name in any order, with the same columns. Columns of frames are
            matched by name: reordered where needed, an error where one is missing, left out with
            a `ColumnsWarning` where the model was not fitted to it. Arrays need the fitted
            width. A sample may lack views (a row of NaN). With given kernels: each new sample's
            kernel values with the fitted ones, (n_new, n).
        self_similarity : list or dict of (n_new,) arrays, optional
            With given kernels: each new sample's kernel value with itself. It is needed where
            kernels are normalized and the diagonal of the fitted kernel is not constant.

        Returns
        -------
        (n_new,) array of int
            In the order of the given rows; of frames with different samples, those of the first
            frame and then the others. ``MultiView(X).index`` has the names in this order:
            ``pd.Series(model.predict(X), index=MultiView(X).index)``.
        """
        parts = self._placed(X, self_similarity)
        return np.concatenate([nearest_centers(H, self.cluster_centers_) for H in parts])

    def predict_proba(self, X: Any, *, self_similarity: Any = None) -> np.ndarray:
        """Return the probability of every cluster, (n_new, k); parameters as in `predict`.

        The most probable cluster is that of `predict`, and a fitted sample has its row of
        `membership_`.
        """
        parts = self._placed(X, self_similarity)
        return np.concatenate([self._membership_of(H) for H in parts])

    def transform(self, X: Any, *, self_similarity: Any = None) -> Any:
        """Return the embedding of new samples, (n_new, k); parameters as in `predict`.

        ``set_output(transform="pandas")`` gives a frame whose index has the sample names;
        ``"polars"`` one with a leading column ``sample``, as polars has no index. Without sample
        names there is neither.
        """
        views = self._new_samples(X)
        H = np.concatenate(list(self._embedded(views, X, self_similarity)))
        return self._output(H, views.index)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Cluster the samples of X and return their embedding, (n, k), as `transform` does."""
        self.fit(X, y)
        if not hasattr(self, "embedding_"):
            return self.transform(X)
        return self._output(np.array(self.embedding_), getattr(self, "sample_names_in_", None))

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[1])

    def _placed(self, X: Any, self_similarity: Any) -> Iterator[np.ndarray]:
        """Yield rows of the embedding of new samples, block by block."""
        return self._embedded(self._new_samples(X), X, self_similarity)

    def _new_samples(self, X: Any) -> Any:
        """Return new samples as MultiView or LargeViews, with the views and columns of the fit."""
        check_is_fitted(self)
        found = self._extension
        views = self._new_kernel_rows(X) if found.kernels else self._new_views(X)
        what = "a kernel value for each fitted sample" if found.kernels else "the same columns"
        for name, width, fitted in zip(found.names, views.widths, found.widths, strict=True):
            check_width(name, width, fitted, what)
        return views

    def _embedded(self, views: Any, X: Any, self_similarity: Any) -> Iterator[np.ndarray]:
        found = self._extension
        if not found.given and self_similarity is not None:
            raise InputError("self_similarity is for given kernels; this model was fitted on views")
        known = None
        if hasattr(found, "known"):
            distinct = getattr(self, "_distinct", slice(None))  # where most samples are copies
            known = found.known(self.embedding_[distinct])
        if isinstance(views, LargeViews):
            return embedded(found, views, [None] * len(found.names), known)
        own = _self_similarities(self_similarity, X, views, found)
        return embedded(found, views, own, known)

    def _output(self, H: np.ndarray, names: Any) -> Any:
        """Return rows of the embedding as `set_output` asks, with the sample names if any."""
        kind = _get_output_config("transform", self)["dense"]
        if kind == "default":
            return H
        columns = [str(column) for column in self.get_feature_names_out()]
        if kind == "pandas":
            import pandas as pd

            index = None if names is None else named_index(names)
            return pd.DataFrame(H, index=index, columns=columns)
        import polars as pl

        frame = pl.DataFrame(H, schema=columns)
        if names is None:
            return frame
        return frame.insert_column(0, pl.Series("sample", list(names)))


def _self_similarities(
    given: Any, X: Any, views: MultiView, found: Found
) -> Sequence[np.ndarray | None]:
    if given is None and isinstance(X, MultiView) and X.kernels:
        return [np.diagonal(dense(X[name])) for name in found.names]
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
