"""The numbers that the page's script draws, as plain data.

Numbers are rounded here to the digits that are shown, so that a chart and a table never show the
same value differently.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from ..agreement.cache import reused
from ..agreement.chance import ranking, unrelated
from ..agreement.spectra import view_spectra_of
from ..dual_noise import MKCDNM
from . import palette
from .answers import profile_data, recolored
from .groups import Silhouettes, class_table
from .layout import (
    aligned,
    block_edges,
    block_means,
    graph_means,
    predicted,
    principal_plane,
    sample_rows,
    tsne,
)
from .subject import Subject
from .words import number

MOST_POINTS = 60_000  # marks in all scatter plots of a page
MOST_DRAWN = 2000  # samples drawn, so that t-SNE takes seconds
CELLS = 160  # of a block heat map, each way
MOST_VIEWS = 24  # views with charts of their own
MOST_VALUES = 300  # eigenvalues of a spectrum
MOST_CLASSES = 40
UNIT = 1000  # coordinates are whole numbers from -UNIT to UNIT
TSNE_ABOVE = 3  # clusters; up to three a plane shows without distortion


def chart_data(subject: Subject, silhouettes: Silhouettes | None) -> dict[str, Any]:
    """Return everything the script draws; None for a chart without data."""
    order = ranking(subject.model)
    shown = order[:MOST_VIEWS]
    alone = unrelated(subject.model)
    return {
        "colors": {"light": palette.LIGHT, "dark": palette.DARK},
        "heat": {"light": palette.HEAT_LIGHT, "dark": palette.HEAT_DARK},
        "shapes": palette.SHAPES,
        "unit": UNIT,
        "sizes": np.bincount(subject.labels).tolist(),
        "views": [{"name": subject.views[p], "unrelated": int(p) in alone} for p in order],
        "agreement": _pairs(subject, "agreement_", order),
        "redundancy": _pairs(subject, "redundancy_", order),
        "noise": _noise(subject, order),
        "spectra": _spectra(subject, shown),
        "samples": _samples(subject, shown),
        "blocks": _blocks(subject, shown),
        "silhouettes": _silhouettes(silhouettes),
        "classes": _classes(subject),
        "choice": _choice(subject),
        "profile": profile_data(subject, order),
    }


def first_title(model: Any) -> str:
    """Return what the chart before those of the views shows."""
    if isinstance(model, MKCDNM):
        return "Consensus"
    return "Embedding" if hasattr(model, "embedding_") else "Graph"


def _silhouettes(found: Silhouettes | None) -> Any:
    """Return quantiles by cluster; None for an empty cluster."""
    if found is None:
        return None
    return [None if np.isnan(row).any() else _rounded(row, 2) for row in found.quantiles]


def _pairs(subject: Subject, attribute: str, order: np.ndarray) -> Any:
    found = getattr(subject.model, attribute, None)
    if found is None or len(found) < 2:
        return None
    ordered = np.asarray(found)[np.ix_(order, order)]
    return [[None if np.isnan(v) else _rounded(v, 2) for v in row] for row in ordered]


def _noise(subject: Subject, order: np.ndarray) -> Any:
    noise = getattr(subject.model, "noise_", None)
    if noise is None:
        return None
    return {"null": _rounded(noise.null[order], 2), "column": _rounded(noise.column[order], 2)}


def _spectra(subject: Subject, shown: np.ndarray) -> Any:
    """Return relative eigenvalues; kernels on logarithmic axes, graphs on plain ones."""
    model, kept = subject.model, view_spectra_of(subject.model)
    if kept is None:
        return None
    k = int(model.n_clusters)
    if isinstance(model, MKCDNM):
        views = [{"title": subject.views[p], "points": _curve(kept.values[p]), "k": k,
                  "kept": int(model.dimensions_[p])} for p in shown]  # fmt: skip
        return {"log": True, "least": None, "panels": views}
    fused = {"title": "Fused graph", "points": _curve(model.eigenvalues_), "k": k}
    views = [{"title": subject.views[p], "points": _curve(kept.values[p]), "k": k - 1}
             for p in shown]  # fmt: skip
    return {"log": False, "panels": [fused, *views]}


def _curve(values: np.ndarray) -> list[list[float]]:
    relative = np.asarray(values) / values[0]
    places = np.unique(np.geomspace(1, len(relative), MOST_VALUES).round().astype(int))
    return [[int(i), float(f"{relative[i - 1]:.4g}")] for i in places]


def drawn_rows(model: Any) -> np.ndarray:
    """Return which samples the scatter plots show: fewer where there are many views."""
    kept = view_spectra_of(model)
    panels = 1 + (0 if kept is None else len(ranking(model)[:MOST_VIEWS]))
    limit = int(np.clip(MOST_POINTS // panels, 500, MOST_DRAWN))
    return sample_rows(np.asarray(model.labels_), limit)


def drawn_layout(model: Any) -> np.ndarray | None:
    """Return a t-SNE layout of the samples that are drawn, once in a block of `shared_views`."""
    H = getattr(model, "embedding_", None)
    if H is None:
        return None
    return reused(("t-SNE", id(H)), model, lambda: tsne(np.asarray(H)[drawn_rows(model)]))


def _samples(subject: Subject, shown: np.ndarray) -> Any:
    """Return the drawn samples and their coordinates, for the embedding and each view."""
    H = getattr(subject.model, "embedding_", None)
    if H is None:
        return None
    labels, kept = subject.labels, view_spectra_of(subject.model)
    parts = [] if kept is None else [(kept.heads[p], subject.present(int(p))) for p in shown]
    rows = drawn_rows(subject.model)
    held = [(head[rows], None if there is None else there[rows]) for head, there in parts]
    plane = principal_plane(H)
    planes = [plane, *(aligned(principal_plane(*part), plane) for part in parts)]
    layouts = {"principal": [_whole(points[rows], points) for points in planes]}
    near = drawn_layout(subject.model)
    if near is not None:
        both = [near, *(predicted(near, *part) for part in held)]
        layouts["tsne"] = [_whole(points, near) for points in both]
    first = "tsne" if near is not None and subject.k > TSNE_ABOVE else "principal"
    return {
        "names": [subject.samples[i] for i in rows],
        "clusters": labels[rows].tolist(),
        "alternatives": recolored(subject, rows),
        "classes": None if subject.classes is None else subject.classes[rows].tolist(),
        "total": len(labels),
        "first": first,
        "layouts": layouts,
    }


def _blocks(subject: Subject, shown: np.ndarray) -> Any:
    model, labels = subject.model, subject.labels
    kept = view_spectra_of(model)
    if hasattr(model, "embedding_"):
        first = block_means(model.embedding_, labels, CELLS)
    elif hasattr(model, "graph_"):
        first = graph_means(np.asarray(model.graph_), labels, CELLS)
    else:
        return None
    views = [] if kept is None else [
        block_means(kept.heads[p], labels, CELLS, subject.present(int(p))) for p in shown
    ]  # fmt: skip
    return {
        "first": first_title(model),
        "cells": len(first),
        "edges": _rounded(block_edges(labels), 4),
        "images": [_bytes(image) for image in (first, *views)],
    }


def _classes(subject: Subject) -> Any:
    if subject.classes is None:
        return None
    names, table = class_table(subject.classes, subject.labels)
    return {"names": names, "counts": table.tolist()} if len(names) <= MOST_CLASSES else None


def _choice(subject: Subject) -> Any:
    found: Any = subject.choice
    if found is None:
        return None
    columns = {name: [getattr(row, name) for row in found.table]
               for name in ("held_out", "tested", "null", "null_high")}  # fmt: skip
    return {
        "ks": [row.k for row in found.table],
        "chosen": found.k if found.structure else None,
        "range": [found.low, found.high] if found.structure and found.high > found.low else None,
        **{name: _rounded(np.array(values), 3) for name, values in columns.items()},
    }


def _whole(points: np.ndarray, reference: np.ndarray) -> list[int | None]:
    """Return x and y in turn, scaled by the largest of the reference; None for absent samples."""
    most = np.nanmax(np.abs(reference), initial=0.0)
    scaled = np.clip(UNIT * (points / most if most > 0 else points), -1.1 * UNIT, 1.1 * UNIT)
    return [None if np.isnan(value) else int(value) for value in np.rint(scaled).ravel()]


def _rounded(values: Any, digits: int) -> Any:
    """Return floats with the digits that `number` shows."""
    if np.ndim(values):
        return [_rounded(value, digits) for value in values]
    return float(number(values, digits))


def _bytes(image: np.ndarray) -> str:
    levels = np.rint(255 * np.clip(image, 0, 1)).astype(np.uint8)
    return base64.b64encode(levels.tobytes()).decode("ascii")
