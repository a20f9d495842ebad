"""The numbers that the page's script draws, as plain data, rounded to the digits shown."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from ..data.memory import make_once
from ..dual_noise import MKCDNM
from ..inspection.annotations import Survival
from . import drawing
from .drawing import block_edges, block_means, graph_means, principal_plane, sample_rows, tsne
from .words import number, ranking, unrelated

MOST_POINTS = 60_000  # marks in all scatter plots of a page
MOST_DRAWN = 2000  # samples drawn, so that t-SNE takes seconds
CELLS = 160  # of a block heat map, each way
MOST_VIEWS = 24  # views with charts of their own
MOST_VALUES = 300  # eigenvalues of a spectrum
RECOLORED = 100_000  # samples up to which the labels of other answers color the map
UNIT = 1000  # coordinates are whole numbers from -UNIT to UNIT
TSNE_ABOVE = 3  # clusters; up to three a plane shows without distortion


def chart_data(page: Any) -> dict[str, Any]:
    """Return everything the script draws; None for a chart without data."""
    order = ranking(page.model)
    shown, alone = order[:MOST_VIEWS], unrelated(page.model)
    return {
        "colors": {"light": drawing.LIGHT, "dark": drawing.DARK},
        "heat": {"light": drawing.HEAT_LIGHT, "dark": drawing.HEAT_DARK},
        "shapes": drawing.SHAPES,
        "unit": UNIT,
        "sizes": np.bincount(page.labels).tolist(),
        "views": [{"name": page.views[p], "unrelated": int(p) in alone} for p in order],
        "spectra": _spectra(page, shown),
        "samples": _samples(page, shown),
        "blocks": _blocks(page, shown),
        "choice": _choice(page.choice),
        "survival": _survival(None if page.annotations is None else page.annotations.survival),
    }


def first_title(model: Any) -> str:
    """Return what the chart before those of the views shows."""
    if isinstance(model, MKCDNM):
        return "Consensus"
    return "Embedding" if hasattr(model, "embedding_") else "Graph"


def drawn_rows(model: Any) -> np.ndarray:
    """Return which samples the scatter plots show: fewer where there are many views."""
    kept = model._spectra
    panels = 1 + (0 if kept is None else len(ranking(model)[:MOST_VIEWS]))
    limit = int(np.clip(MOST_POINTS // panels, 500, MOST_DRAWN))
    return sample_rows(np.asarray(model.labels_), limit)


def drawn_layout(model: Any) -> np.ndarray | None:
    """Return a t-SNE layout of the samples that are drawn, once in a block of `shared_views`."""
    H = getattr(model, "embedding_", None)
    if H is None:
        return None
    return make_once(("t-SNE", id(H)), model, lambda: tsne(np.asarray(H)[drawn_rows(model)]))


def round_steps(last: float) -> list[float]:
    """Return about five round numbers from 0 on.

    >>> round_steps(4500.0)
    [0.0, 1000.0, 2000.0, 3000.0, 4000.0]
    """
    step = 10.0 ** np.floor(np.log10(last))
    step *= next(part for part in (0.1, 0.2, 0.5, 1.0) if last / (part * step) <= 6 or part == 1.0)
    return [float(t) for t in np.arange(0, last + step / 100, step)]


def _spectra(page: Any, shown: np.ndarray) -> Any:
    """Return relative eigenvalues; kernels on logarithmic axes, graphs on plain ones."""
    model, kept = page.model, page.model._spectra
    if kept is None:
        return None
    k = int(model.n_clusters)
    if isinstance(model, MKCDNM):
        views = [{"title": page.views[p], "points": _curve(kept.values[p]), "k": k,
                  "kept": int(model.dimensions_[p])} for p in shown]  # fmt: skip
        return {"log": True, "panels": views}
    fused = {"title": "Fused graph", "points": _curve(model.eigenvalues_), "k": k}
    views = [{"title": page.views[p], "points": _curve(kept.values[p]), "k": k - 1}
             for p in shown]  # fmt: skip
    return {"log": False, "panels": [fused, *views]}


def _curve(values: np.ndarray) -> list[list[float]]:
    relative = np.asarray(values) / values[0]
    places = np.unique(np.geomspace(1, len(relative), MOST_VALUES).round().astype(int))
    return [[int(i), float(f"{relative[i - 1]:.4g}")] for i in places]


def _samples(page: Any, shown: np.ndarray) -> Any:
    """Return the drawn samples and their coordinates, for the embedding and each view."""
    H = getattr(page.model, "embedding_", None)
    if H is None:
        return None
    kept, rows = page.model._spectra, drawn_rows(page.model)
    parts = [] if kept is None else [(kept.heads[p], page.present(int(p))) for p in shown]
    held = [(head[rows], None if there is None else there[rows]) for head, there in parts]
    plane = principal_plane(H)
    planes = [plane, *(drawing.rotate_onto(principal_plane(*part), plane) for part in parts)]
    layouts = {"principal": [_whole(points[rows], points) for points in planes]}
    near = drawn_layout(page.model)
    if near is not None:
        both = [near, *(drawing.predict_layout(near, *part) for part in held)]
        layouts["tsne"] = [_whole(points, near) for points in both]
    return {
        "names": [page.samples[i] for i in rows],
        "clusters": page.labels[rows].tolist(),
        "alternatives": [labels[rows].tolist() for labels in other_labels(page)],
        "classes": None if page.classes is None else page.classes[rows].tolist(),
        "total": len(page.labels),
        "first": "tsne" if near is not None and page.k > TSNE_ABOVE else "principal",
        "layouts": layouts,
    }


def other_labels(page: Any) -> list[np.ndarray]:
    """Return the labels (n,) of every other answer, where they are of all samples and not many."""
    found, n = page.explanation, len(page.labels)
    if found is None or len(found.index) != n or n > RECOLORED:
        return []
    return [other.labels for other in found.alternatives]


def _blocks(page: Any, shown: np.ndarray) -> Any:
    model, labels = page.model, page.labels
    kept = model._spectra
    if hasattr(model, "embedding_"):
        first = block_means(model.embedding_, labels, CELLS)
    elif hasattr(model, "graph_"):
        first = graph_means(np.asarray(model.graph_), labels, CELLS)
    else:
        return None
    views = [] if kept is None else [
        block_means(kept.heads[p], labels, CELLS, page.present(int(p))) for p in shown
    ]  # fmt: skip
    return {
        "first": first_title(model),
        "cells": len(first),
        "edges": _rounded(block_edges(labels), 4),
        "images": [_bytes(image) for image in (first, *views)],
    }


def _choice(found: Any) -> Any:
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


def _survival(found: Survival | None) -> Any:
    """Return the steps of the Kaplan-Meier curves, and the times of the numbers at risk."""
    if found is None:
        return None
    curves = [
        {"cluster": each.cluster,
         "points": [[float(f"{t:.6g}"), _rounded(s, 4)]
                    for t, s in zip(each.times, each.survival, strict=True)]}
        for each in found.curves
    ]  # fmt: skip
    return {"curves": curves, "ticks": survival_ticks(found)}


def survival_ticks(found: Survival) -> list[float]:
    """Return the times for which a page gives the numbers at risk."""
    return round_steps(max(float(each.times[-1]) for each in found.curves) or 1.0)


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
