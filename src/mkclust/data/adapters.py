"""MuData and AnnData: modalities in as views, clusters and embedding written back.

Both are told by what they have, not by their class, so that neither package is imported here;
``pip install 'mkclust[omics]'`` brings them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..exceptions import InputError
from .alignment import placed
from .views import MultiView


def is_omics(data: Any) -> bool:
    """Whether it is a MuData or an AnnData."""
    return all(hasattr(data, name) for name in ("obs_names", "obs", "obsm", "uns"))


def as_views(data: Any) -> Any:
    """The views of a MuData or AnnData; anything else as it is."""
    return views_of(data) if is_omics(data) else data


def views_of(data: Any, use: Mapping[str, str] | Sequence[str] | None = None) -> MultiView:
    """A view for each modality of a MuData, or for chosen matrices of either kind.

    `use` lists matrices, or maps the names of views to them: ``"X"``, ``"layers/counts"`` or
    ``"obsm/X_pca"`` of an AnnData, and the same behind a modality of a MuData: ``"rna"`` (its X),
    ``"rna/layers/counts"``, ``"rna/obsm/X_pca"``. By default every modality's X, or an AnnData's
    own. Samples follow their names; a modality may lack some (docs/missing.md).

    Columns are taken as they are: choose and normalise them before.
    """
    if not is_omics(data):
        raise InputError(f"neither MuData nor AnnData but {type(data).__name__}")
    if use is None:
        use = list(data.mod) if hasattr(data, "mod") else ["X"]
    places = dict(use) if isinstance(use, Mapping) else {place: place for place in use}
    found = {name: _matrix(data, place) for name, place in places.items()}
    return joined(found, [str(name) for name in data.obs_names])


def write_back(data: Any, labels: np.ndarray, embedding: np.ndarray, key: str = "mkclust") -> None:
    """Clusters (n,) as a categorical column of ``obs``, the embedding (n, k) into ``obsm``."""
    import pandas as pd

    if len(labels) != len(data.obs_names):
        raise InputError(f"{len(labels)} labels for {len(data.obs_names)} samples")
    names = [str(label) for label in range(int(np.max(labels)) + 1)]
    clusters = pd.Categorical.from_codes(np.asarray(labels), categories=names)
    data.obs[key] = pd.Series(clusters, index=data.obs_names)
    data.obsm[f"X_{key}"] = np.asarray(embedding)


def joined(views: Mapping[str, tuple[Any, Sequence[str]]], samples: Sequence[str]) -> MultiView:
    """Views (n_p, f_p) with the names of their rows, in line with all `samples` (n,).

    >>> views = {"rna": (np.eye(2), ["a", "b"]), "atac": (np.ones((3, 1)), ["c", "b", "a"])}
    >>> joined(views, ["a", "b", "c"])
    MultiView(3 samples, 1 of them incomplete: rna 2, atac 1)
    """
    matrices, held = [], []
    for name, (matrix, names) in views.items():
        where = {sample: row for row, sample in enumerate(names)}
        if len(where) < len(names) or not where.keys() <= set(samples):
            raise InputError(
                f"view {name!r}: its samples are not named apart, or not as the others"
            )
        rows = np.array([where.get(sample, -1) for sample in samples])
        in_order = np.array_equal(rows, np.arange(len(names)))
        matrices.append(matrix if in_order else placed(matrix, rows, kernels=False))
        held.append(rows >= 0)
    present = np.column_stack(held)
    return MultiView(
        dict(zip(views, matrices, strict=True)),
        index=np.array(samples),
        present=None if present.all() else present,
    )


def _matrix(data: Any, place: str) -> tuple[Any, list[str]]:
    """One matrix of a MuData or AnnData, with the names of its rows."""
    if hasattr(data, "mod"):
        modality, _, inside = place.partition("/")
        if modality not in data.mod:
            raise InputError(f"no modality {modality!r}; there are {', '.join(data.mod)}")
        return _matrix(data.mod[modality], inside or "X")
    slot, _, name = place.partition("/")
    if slot == "X" and not name:
        matrix = data.X
    elif slot in ("layers", "obsm") and name in getattr(data, slot):
        matrix = getattr(data, slot)[name]
    else:
        known = [f"{slot}/{n}" for slot in ("layers", "obsm") for n in getattr(data, slot)]
        raise InputError(f"no matrix {place!r}; there are {', '.join(['X', *known])}")
    if matrix is None:
        raise InputError(f"the matrix {place!r} is empty: choose another with use=...")
    return _plain(matrix), [str(sample) for sample in data.obs_names]


def _plain(matrix: Any) -> Any:
    """A numpy array or csr array: frames in obsm, views and files on disk are read."""
    if hasattr(matrix, "to_memory"):
        matrix = matrix.to_memory()
    return sp.csr_array(matrix) if sp.issparse(matrix) else np.asarray(matrix)


def is_several(X: Any) -> bool:
    """Tell whether X holds views rather than being one table."""
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
