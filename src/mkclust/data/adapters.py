"""Views from MuData and AnnData, and clusters, membership and embedding written back to them.

Both are recognized by their attributes, not by their class, so that neither package is imported
here. ``pip install 'mkclust[omics]'`` installs them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ..exceptions import InputError
from .alignment import place_rows, rows_of
from .values import column_names, is_omics
from .views import MultiView


def views_of(data: Any, use: Mapping[str, str] | Sequence[str] | None = None) -> MultiView:
    """Return a view per modality of a MuData, or per chosen matrix of a MuData or AnnData.

    Samples are aligned by name; a modality may lack some (docs/missing.md). Columns are used
    unchanged: select and normalize them before. Their names are ``var_names`` for X and layers,
    and those of the frame for a frame in obsm.

    Parameters
    ----------
    data : MuData, AnnData, or dict or list of AnnData
    use : sequence of str, dict or None
        Matrices, or a map from view names to matrices: ``"X"``, ``"layers/counts"`` or
        ``"obsm/X_pca"`` of an AnnData; of several modalities ``"rna"`` (its X),
        ``"rna/layers/counts"`` or ``"rna/obsm/X_pca"``. By default X of every modality, or X of an
        AnnData.

    Returns
    -------
    MultiView
    """
    if not is_omics(data):
        raise InputError(f"neither MuData nor AnnData but {type(data).__name__}")
    parts = modalities(data)
    use = [use] if isinstance(use, str) else use
    if use is None:
        use = ["X"] if parts is None else list(parts)
    places = dict(use) if isinstance(use, Mapping) else {place: place for place in use}
    found = {name: _matrix(data, parts, place) for name, place in places.items()}
    views = {name: (matrix, names) for name, (matrix, names, _) in found.items()}
    samples = _names_of(data) if hasattr(data, "obs_names") else list(
        dict.fromkeys(name for _, names in views.values() for name in names)
    )  # fmt: skip
    return join_by_name(views, samples, [columns for _, _, columns in found.values()])


def modalities(data: Any) -> dict[str, Any] | None:
    """Return the AnnData by name of a MuData, a dict or a list; None for one AnnData."""
    if isinstance(data, Mapping):
        return {str(name): part for name, part in data.items()}
    if isinstance(data, (list, tuple)):
        return {f"view{p + 1}": part for p, part in enumerate(data)}
    return dict(data.mod) if hasattr(data, "mod") else None


def write_back(data: Any, model: Any, key: str = "mkclust", confidence: Any = None) -> None:
    """Write the answer of a fitted model to the data it was fitted to, by sample name.

    The clusters go to a categorical column `key` of ``obs``, the embedding to ``obsm["X_key"]``,
    the membership to ``obsm["key_membership"]`` where the method has one.

    Parameters
    ----------
    data : MuData, AnnData, or dict or list of AnnData
    model : fitted estimator
    key : str
    confidence : Confidence, Series or (n,) array, optional
        Written to the column ``key_confidence`` of ``obs``; without it, that column is removed.
        A Series is joined by sample name, an array has the order of ``labels_``.
    """
    if isinstance(data, (Mapping, list, tuple)):
        for part in modalities(data).values():  # type: ignore[union-attr]
            write_back(part, model, key, confidence)
        return
    labels = np.asarray(model.labels_)
    fitted = vars(model).get("sample_names_in_")
    if fitted is None and len(labels) != len(data.obs_names):
        raise InputError(f"{len(labels)} labels for {len(data.obs_names)} samples")
    names = _names_of(data)
    rows = np.arange(len(labels)) if fitted is None else rows_of(names, map(str, fitted))
    if (rows < 0).any():
        raise InputError(
            f"the model was not fitted to sample {names[int(np.argmin(rows))]!r}: write back to "
            "the samples that were clustered, or predict the others"
        )
    certain = None if confidence is None else _confidence_of(confidence, names, rows, len(labels))
    clusters = [str(label) for label in range(int(labels.max()) + 1)]
    found = pd.Categorical.from_codes(labels[rows], categories=clusters)
    data.obs[key] = pd.Series(found, index=data.obs_names)
    columns = {f"X_{key}": model.embedding_} if "embedding_" in vars(model) else {}
    columns |= {f"{key}_membership": model.membership_} if model._has_membership else {}
    for name, values in columns.items():
        data.obsm[name] = np.asarray(values)[rows]
    column = f"{key}_confidence"
    if certain is not None:
        data.obs[column] = certain
    elif column in data.obs:
        del data.obs[column]


def _confidence_of(confidence: Any, names: list[str], rows: np.ndarray, n: int) -> np.ndarray:
    """Return the confidence of named samples, of which `rows` are the rows of the fit."""
    if hasattr(confidence, "index") and hasattr(confidence, "reindex"):
        found = confidence.set_axis(confidence.index.astype(str)).reindex(names)
        if found.isna().any():
            raise InputError(f"confidence lacks sample {found.index[found.isna()][0]!r}")
        return np.asarray(found)
    values = np.asarray(getattr(confidence, "samples", confidence), dtype=float)
    if values.shape != (n,):
        raise InputError(f"confidence of shape {values.shape} for {n} samples")
    return values[rows]


def join_by_name(
    views: Mapping[str, tuple[Any, Sequence[str]]],
    samples: Sequence[str],
    feature_names: Sequence[Any] | None = None,
) -> MultiView:
    """Align views (n_p, f_p), given with the names of their rows, to all `samples` (n,).

    `feature_names` has the column names of every view, or None.

    >>> views = {"rna": (np.eye(2), ["a", "b"]), "atac": (np.ones((3, 1)), ["c", "b", "a"])}
    >>> join_by_name(views, ["a", "b", "c"])
    MultiView(3 samples, 1 of them incomplete: rna 2, atac 1)
    """
    matrices, held = [], []
    for name, (matrix, names) in views.items():
        rows = rows_of(samples, names)
        if np.count_nonzero(rows >= 0) < len(names):
            twice = [own for own, count in Counter(names).items() if count > 1]
            raise InputError(
                f"view {name!r}: several samples are named {twice[0]!r} (obs_names_make_unique() "
                "numbers them, before modalities are joined)"
                if twice
                else f"view {name!r}: its sample names differ from those of the object"
            )
        in_order = np.array_equal(rows, np.arange(len(names)))
        matrices.append(matrix if in_order else place_rows(matrix, rows, kernels=False))
        held.append(rows >= 0)
    return MultiView(
        dict(zip(views, matrices, strict=True)),
        index=np.array(samples),
        present=np.column_stack(held),
        feature_names=feature_names,
    )


def _matrix(
    data: Any, parts: Mapping[str, Any] | None, place: str
) -> tuple[Any, list[str], np.ndarray | None]:
    """Return one matrix of a MuData or AnnData, with the names of its rows and columns."""
    if parts is not None:
        modality, _, inside = place.partition("/")
        if modality not in parts:
            raise InputError(f"no modality {modality!r}; there are {', '.join(parts)}")
        return _matrix(parts[modality], None, inside or "X")
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
    return _plain(matrix), _names_of(data), columns


def _plain(matrix: Any) -> Any:
    """Return a numpy or csr array; frames in obsm, views and files on disk are read."""
    if hasattr(matrix, "to_memory"):
        matrix = matrix.to_memory()
    return sp.csr_array(matrix) if sp.issparse(matrix) else np.asarray(matrix)


def _names_of(data: Any) -> list[str]:
    return [str(name) for name in data.obs_names]
