"""Views from MuData and AnnData, and clusters and embedding written back to them.

Both are recognized by their attributes, not by their class, so that neither package is imported
here. ``pip install 'mkclust[omics]'`` installs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..exceptions import InputError
from .alignment import placed, rows_of
from .frames import column_names
from .views import MultiView


def is_omics(data: Any) -> bool:
    """Return whether `data` is a MuData or an AnnData."""
    return all(hasattr(data, name) for name in ("obs_names", "obs", "obsm", "uns"))


def as_views(data: Any) -> Any:
    """Return the views of a MuData or AnnData, and anything else unchanged."""
    return views_of(data) if is_omics(data) else data


def views_of(data: Any, use: Mapping[str, str] | Sequence[str] | None = None) -> MultiView:
    """Return a view per modality of a MuData, or per chosen matrix of a MuData or AnnData.

    Samples are aligned by name; a modality may lack some (docs/missing.md). Columns are used
    unchanged: select and normalize them before. Their names are ``var_names`` for X and layers,
    and those of the frame for a frame in obsm.

    Parameters
    ----------
    data : MuData or AnnData
    use : sequence of str, dict or None
        Matrices, or a map from view names to matrices: ``"X"``, ``"layers/counts"`` or
        ``"obsm/X_pca"`` of an AnnData; of a MuData ``"rna"`` (its X), ``"rna/layers/counts"`` or
        ``"rna/obsm/X_pca"``. By default X of every modality, or X of an AnnData.

    Returns
    -------
    MultiView
    """
    if not is_omics(data):
        raise InputError(f"neither MuData nor AnnData but {type(data).__name__}")
    if use is None:
        use = list(data.mod) if hasattr(data, "mod") else ["X"]
    places = dict(use) if isinstance(use, Mapping) else {place: place for place in use}
    found = {name: _matrix(data, place) for name, place in places.items()}
    samples = [str(name) for name in data.obs_names]
    views = {name: (matrix, names) for name, (matrix, names, _) in found.items()}
    return joined(views, samples, [columns for _, _, columns in found.values()])


def write_back(data: Any, labels: np.ndarray, embedding: np.ndarray, key: str = "mkclust") -> None:
    """Write clusters (n,) to a categorical column of ``obs``, the embedding (n, k) to ``obsm``."""
    import pandas as pd

    if len(labels) != len(data.obs_names):
        raise InputError(f"{len(labels)} labels for {len(data.obs_names)} samples")
    names = [str(label) for label in range(int(np.max(labels)) + 1)]
    clusters = pd.Categorical.from_codes(np.asarray(labels), categories=names)
    data.obs[key] = pd.Series(clusters, index=data.obs_names)
    data.obsm[f"X_{key}"] = np.asarray(embedding)


def joined(
    views: Mapping[str, tuple[Any, Sequence[str]]],
    samples: Sequence[str],
    feature_names: Sequence[Any] | None = None,
) -> MultiView:
    """Align views (n_p, f_p), given with the names of their rows, to all `samples` (n,).

    `feature_names` has the column names of every view, or None.

    >>> views = {"rna": (np.eye(2), ["a", "b"]), "atac": (np.ones((3, 1)), ["c", "b", "a"])}
    >>> joined(views, ["a", "b", "c"])
    MultiView(3 samples, 1 of them incomplete: rna 2, atac 1)
    """
    matrices, held = [], []
    for name, (matrix, names) in views.items():
        rows = rows_of(samples, names)
        if np.count_nonzero(rows >= 0) < len(names):
            raise InputError(
                f"view {name!r}: its sample names are not unique, or differ from the others"
            )
        in_order = np.array_equal(rows, np.arange(len(names)))
        matrices.append(matrix if in_order else placed(matrix, rows, kernels=False))
        held.append(rows >= 0)
    present = np.column_stack(held)
    return MultiView(
        dict(zip(views, matrices, strict=True)),
        index=np.array(samples),
        present=None if present.all() else present,
        feature_names=feature_names,
    )


def _matrix(data: Any, place: str) -> tuple[Any, list[str], np.ndarray | None]:
    """Return one matrix of a MuData or AnnData, with the names of its rows and columns."""
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
    named = slot != "obsm" and hasattr(data, "var_names")
    columns = np.array(data.var_names, dtype=object) if named else column_names(matrix)
    return _plain(matrix), [str(sample) for sample in data.obs_names], columns


def _plain(matrix: Any) -> Any:
    """Return a numpy or csr array; frames in obsm, views and files on disk are read."""
    if hasattr(matrix, "to_memory"):
        matrix = matrix.to_memory()
    return sp.csr_array(matrix) if sp.issparse(matrix) else np.asarray(matrix)


def is_several(X: Any) -> bool:
    """Return whether X holds several views rather than one table."""
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
