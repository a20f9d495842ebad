"""The methods `predict` and `transform` for new samples, and the membership of fitted ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..agreement.subspaces import ViewSpectra
from ..data.input import TakesViews
from ..data.views import MultiView
from ..exceptions import InputError
from ..large.blocks import block_height, map_blocks
from ..large.views import LargeViews, refuse_not_finite
from ..linalg.kmeans import ORTHONORMAL, membership, nearest_centers, temperature
from ..linalg.scaling import dense

ROWS_AT_ONCE = 32 << 20  # bytes of similarities (b, n) per thread at a time
EMBEDDED_AT_ONCE = 65_536  # rows of the embedding whose membership is computed at a time
OUTPUTS = ("default", "pandas", "polars")


@dataclass(frozen=True)
class NewRows:
    """A block of new samples.

    Attributes
    ----------
    views : sequence of (b, f_p) arrays
    own : sequence of (b,) arrays or None
        Kernel values of each sample with itself; None for a view whose kernel computes them.
    present : (b, m) bool array or None
        Which samples each view holds; None for all.
    """

    views: Sequence[np.ndarray]
    own: Sequence[np.ndarray | None]
    present: np.ndarray | None = None

    def held(self) -> np.ndarray:
        """Return which samples each view holds, (b, m)."""
        if self.present is None:
            return np.ones((self.views[0].shape[0], len(self.views)), dtype=bool)
        return self.present


Embedder = Callable[[NewRows], np.ndarray]
"""A function from new samples to their rows of the embedding, (b, k)."""


@dataclass(frozen=True)
class Extension(ABC):
    """What a fitted model keeps to place new samples in its embedding.

    Attributes
    ----------
    names : tuple of str
        Names of the fitted views.
    given : tuple of str
        Names of the views that were given as kernels.
    """

    names: tuple[str, ...]
    given: tuple[str, ...]

    @property
    def kernels(self) -> bool:
        """Whether all views were given as kernels."""
        return self.given == self.names

    @property
    @abstractmethod
    def height(self) -> int:
        """Number of new rows at a time."""

    @abstractmethod
    def embedder(self) -> Embedder:
        """Return the function of new rows; what depends on fitted rows alone is computed once."""

    def needs_own(self) -> list[str]:
        """Return the given kernels whose new rows need their similarity to themselves."""
        return []


def embedding_blocks(
    extension: Extension, views: MultiView | LargeViews, own: Sequence[np.ndarray | None]
) -> Iterator[np.ndarray]:
    """Yield the embedding of new samples, block by block; memory is a few blocks of similarities.

    `own` holds the self-similarities (n,) of every view, where they are known.
    """
    embed, step, names = extension.embedder(), extension.height, views.names

    def embed_block(start: int, present: Any, *arrays: Any) -> np.ndarray:
        rows, alone = [], arrays[len(names) :]
        for name, view in zip(names, arrays, strict=False):
            stays_sparse = sp.issparse(view) and name not in extension.given
            rows.append(view.tocsr() if stays_sparse else dense(view))
        if present is None:
            refuse_not_finite(names, start, rows)
        parts = []
        for first in range(0, rows[0].shape[0], step):
            some = slice(first, first + step)
            held = None if present is None else present[some]
            itself = [None if values is None else values[some] for values in alone]
            parts.append(embed(NewRows([view[some] for view in rows], itself, held)))
        return np.concatenate(parts)

    sizes = [16 * v.nnz // v.shape[0] if sp.issparse(v) else 8 * v.shape[1] for v in views.views]
    height = block_height(len(views), sum(sizes))
    return map_blocks("new samples", embed_block, [views.present, *views.views, *own], height)


SHIFTED = (
    "its kernel was indefinite and shifted, which is undefined for new samples; fit with a "
    'semi-definite kernel, or with indefinite="ignore"'
)


class Membership:
    """Mixin with `membership_`, from the embedding and the cluster centers.

    It says how clearly a sample lies in a cluster, and is not calibrated. It is computed when it
    is read, in O(n k r), and not stored. An estimator without cluster centers has none.
    """

    labels_: np.ndarray
    embedding_: Any
    cluster_centers_: np.ndarray
    inertia_: float
    _spectra: ViewSpectra | None = None

    @property
    def membership_(self) -> np.ndarray:
        """How clearly every sample lies in every cluster, (n, k); rows sum to 1."""
        if not self._has_membership:
            raise AttributeError(
                f"{type(self).__name__} has no membership_: it needs a fit with cluster centers in "
                "an embedding"
            )
        starts = range(0, len(self.embedding_), EMBEDDED_AT_ONCE)  # some rows at a time
        blocks = (self.embedding_[start : start + EMBEDDED_AT_ONCE] for start in starts)
        return np.concatenate([self._membership_of(H) for H in blocks])

    @property
    def _has_membership(self) -> bool:
        """Whether there is a membership, without computing it."""
        return {"embedding_", "inertia_"} <= vars(self).keys()

    def _membership_of(self, H: np.ndarray) -> np.ndarray:
        """Return the membership (b, k) of rows of the embedding (b, r)."""
        k = len(self.cluster_centers_)
        scale = temperature(self.inertia_, len(self.labels_), k, self._sharpness(k))
        return membership(H, self.cluster_centers_, scale)

    def _sharpness(self, k: int) -> float:
        return ORTHONORMAL * sqrt(k)


class OutOfSample(  # type: ignore[call-arg]
    Membership,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    TakesViews,
    auto_wrap_output_keys=None,
):
    """Mixin with `predict` and `transform` through the extension `_extension` of a fit.

    Sample names come from all views and not from one table, so that the frames that `set_output`
    asks for are made here and not by scikit-learn.
    """

    _extension: Extension
    _output: str | None = None

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
        blocks = self._embed(self._new_samples(X), X, self_similarity)
        return np.concatenate([nearest_centers(H, self.cluster_centers_) for H in blocks])

    def predict_proba(self, X: Any, *, self_similarity: Any = None) -> np.ndarray:
        """Return the probability of every cluster, (n_new, k); parameters as in `predict`.

        The most probable cluster is that of `predict`, and a fitted sample has its row of
        `membership_`.
        """
        blocks = self._embed(self._new_samples(X), X, self_similarity)
        return np.concatenate([self._membership_of(H) for H in blocks])

    def transform(self, X: Any, *, self_similarity: Any = None) -> Any:
        """Return the embedding of new samples, (n_new, D); parameters as in `predict`.

        ``set_output(transform="pandas")`` gives a frame whose index has the sample names;
        ``"polars"`` one with a leading column ``sample``, as polars has no index. Without sample
        names there is neither.
        """
        views = self._new_samples(X)
        H = np.concatenate(list(self._embed(views, X, self_similarity)))
        return self._as_output(H, views.index)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Cluster the samples of X and return their embedding, (n, D), as `transform` does."""
        self.fit(X, y)
        if "embedding_" not in vars(self):  # of many samples, it is not kept
            return self.transform(X)
        return self._as_output(np.array(self.embedding_), vars(self).get("sample_names_in_"))

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` returns: "default" (array), "pandas" or "polars"."""
        if transform is not None and transform not in OUTPUTS:
            raise InputError(f"transform must be one of {', '.join(OUTPUTS)}, got {transform!r}")
        self._output = self._output if transform is None else transform
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[1])

    def _new_samples(self, X: Any) -> Any:
        """Return new samples as MultiView or LargeViews, with the views and columns of the fit."""
        check_is_fitted(self)
        views = self._new_kernel_rows(X) if self._extension.kernels else self._new_views(X)
        if self._log and not views.log:
            raise InputError(
                "the model was fitted to logarithms of counts (--log): give new samples as "
                "prepare_views(views, log=True), with prepare_views of mkclust.data.preparation"
            )
        return views

    def _embed(self, views: Any, X: Any, self_similarity: Any) -> Iterator[np.ndarray]:
        """Yield rows of the embedding of new samples, block by block."""
        found = self._extension
        if not found.given and self_similarity is not None:
            raise InputError("self_similarity is for given kernels; this model was fitted on views")
        return embedding_blocks(found, views, _self_similarities(self_similarity, X, views, found))

    def _as_output(self, H: np.ndarray, names: Any) -> Any:
        """Return rows of the embedding as `set_output` asks, with the sample names if any."""
        kind = get_config()["transform_output"] if self._output is None else self._output
        if kind == "default":
            return H
        columns = [str(column) for column in self.get_feature_names_out()]
        if kind == "pandas":
            index = None if names is None else pd.Index(list(names), tupleize_cols=False)
            return pd.DataFrame(H, index=index, columns=columns)
        import polars as pl

        frame = pl.DataFrame(H, schema=columns)
        return frame if names is None else frame.insert_column(0, pl.Series("sample", list(names)))


def _self_similarities(
    given: Any, X: Any, views: MultiView | LargeViews, found: Extension
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


def _by_name(given: Any, found: Extension) -> dict[str, np.ndarray]:
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
