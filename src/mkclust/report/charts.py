"""The numbers behind the page's charts, as plain data for its script."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from ..agreement.chance import ranking, unrelated
from ..agreement.spectra import evidence_of
from ..inspection.stability import FLIPS
from . import palette
from .groups import Silhouettes, class_table
from .layout import (
    between_corners,
    block_edges,
    block_means,
    corners,
    graph_means,
    principal_plane,
    sample_rows,
    turned,
)
from .subject import Subject

POINTS = 60_000  # marks over all scatter plots of a page
MOST_DRAWN = 5000  # samples drawn
CELLS = 160  # of a block heat map, each way
MOST_VIEWS = 24  # with pictures of their own
MOST_VALUES = 300  # of a spectrum
MOST_CLASSES = 40
UNIT = 1000  # coordinates are whole numbers from -UNIT to UNIT


def chart_data(subject: Subject, silhouettes: Silhouettes | None) -> dict[str, Any]:
    """Everything the script draws; a chart without data is absent."""
    order = ranking(subject.model)
    shown = order[:MOST_VIEWS]
    lone = unrelated(subject.model)
    return {
        "colours": {"light": palette.LIGHT, "dark": palette.DARK},
        "heat": {"light": palette.HEAT_LIGHT, "dark": palette.HEAT_DARK},
        "shapes": palette.SHAPES,
        "unit": UNIT,
        "sizes": np.bincount(subject.labels).tolist(),
        "views": [{"name": subject.views[p], "unrelated": int(p) in lone} for p in order],
        "agreement": _agreement(subject, order),
        "noise": _noise(subject, order),
        "weights": _weights(subject, order),
        "spectra": _spectra(subject, shown),
        "samples": _samples(subject, shown),
        "blocks": _blocks(subject, shown),
        "silhouettes": _silhouettes(silhouettes),
        "classes": _classes(subject),
        "choice": _choice(subject),
        "stability": _stability(subject),
    }


def _silhouettes(found: Silhouettes | None) -> Any:
    """Quantiles by cluster; None for a cluster that nobody is in."""
    if found is None:
        return None
    rows = _rounded(found.quantiles, 3)
    return [None if np.isnan(row).any() else row for row in rows]


def _agreement(subject: Subject, order: np.ndarray) -> Any:
    found = getattr(subject.model, "agreement_", None)
    if found is None or len(found) < 2:
        return None
    shown = _rounded(found[np.ix_(order, order)], 3)
    return [[None if np.isnan(value) else value for value in row] for row in shown]


def _noise(subject: Subject, order: np.ndarray) -> Any:
    noise = getattr(subject.model, "noise_", None)
    if noise is None:
        return None
    return {"null": _rounded(noise.null[order], 2), "column": _rounded(-noise.column[order], 2)}


def _weights(subject: Subject, order: np.ndarray) -> Any:
    found = getattr(subject.model, "weights_", None)
    return None if found is None else _rounded(np.asarray(found)[order], 4)


def _spectra(subject: Subject, shown: np.ndarray) -> Any:
    kept = evidence_of(subject.model)
    if kept is None:
        return None
    spectra = []
    for p in shown:
        values = kept.values[p] / kept.values[p][0]
        places = np.unique(np.geomspace(1, len(values), MOST_VALUES).round().astype(int))
        points = [[int(i), float(f"{values[i - 1]:.4g}")] for i in places]
        spectra.append({"points": points, "kept": int(subject.model.dimensions_[p])})
    return {"k": int(subject.model.n_clusters), "views": spectra}


def _samples(subject: Subject, shown: np.ndarray) -> Any:
    """The drawn samples and where they lie, in both layouts, in the consensus and each view."""
    H = getattr(subject.model, "embedding_", None)
    if H is None:
        return None
    labels = subject.labels
    kept = evidence_of(subject.model)
    heads = [] if kept is None else [kept.heads[p] for p in shown]
    limit = int(np.clip(POINTS // (1 + len(heads)), 500, MOST_DRAWN))
    rows = sample_rows(labels, limit)
    plane = principal_plane(H)
    ends = corners(labels, H)
    principal = [plane, *(turned(principal_plane(head), plane) for head in heads)]
    cornered = [between_corners(part, labels, ends) for part in (H, *heads)]
    return {
        "names": [subject.samples[i] for i in rows],
        "clusters": labels[rows].tolist(),
        "classes": None if subject.classes is None else subject.classes[rows].tolist(),
        "total": len(labels),
        "principal": [_whole(points[rows], np.abs(points).max()) for points in principal],
        "corners": [_whole(points[rows], 1.0) for points in cornered],
        "ends": _whole(ends, 1.0),
    }


def _blocks(subject: Subject, shown: np.ndarray) -> Any:
    model, labels = subject.model, subject.labels
    kept = evidence_of(model)
    if hasattr(model, "embedding_"):
        first = block_means(model.embedding_, labels, CELLS)
    elif hasattr(model, "graph_"):
        first = graph_means(np.asarray(model.graph_), labels, CELLS)
    else:
        return None
    heads = [] if kept is None else [kept.heads[p] for p in shown]
    images = [first, *(block_means(head, labels, CELLS) for head in heads)]
    return {
        "first": first_title(model),
        "cells": len(first),
        "edges": _rounded(block_edges(labels), 4),
        "images": [_bytes(image) for image in images],
    }


def first_title(model: Any) -> str:
    """What the picture before those of the views shows."""
    if hasattr(model, "noise_"):
        return "Consensus"
    return "Embedding" if hasattr(model, "embedding_") else "Graph"


def _classes(subject: Subject) -> Any:
    if subject.classes is None:
        return None
    names, table = class_table(subject.classes, subject.labels)
    return {"names": names, "counts": table.tolist()} if len(names) <= MOST_CLASSES else None


def _choice(subject: Subject) -> Any:
    choice = subject.choice
    if choice is None:
        return None
    best = max(row.score for row in choice.table)
    lines = {
        "score": [row.score / best if best > 0 else 0.0 for row in choice.table],
        "stability": [row.stability for row in choice.table],
        "separation": [row.separation for row in choice.table],
        "gap": [row.gap for row in choice.table],
        "noise share": [row.noise for row in choice.table],
    }
    return {
        "ks": [row.k for row in choice.table],
        "chosen": choice.k,
        "lines": {name: _rounded(np.array(values), 4) for name, values in lines.items()},
    }


def _stability(subject: Subject) -> Any:
    found = subject.stability
    if found is None:
        return None
    flips = np.bincount(found.labels[found.samples < FLIPS], minlength=len(found.clusters))
    return {"clusters": _rounded(found.clusters, 3), "flips": flips.tolist()}


def _whole(points: np.ndarray, most: float) -> list[int]:
    scaled = points / most if most > 0 else points
    return [int(value) for value in np.rint(UNIT * scaled).ravel()]


def _rounded(values: np.ndarray, digits: int) -> Any:
    return (np.round(np.asarray(values, dtype=float), digits) + 0.0).tolist()


def _bytes(image: np.ndarray) -> str:
    levels = np.rint(255 * np.clip(image, 0, 1)).astype(np.uint8)
    return base64.b64encode(levels.tobytes()).decode("ascii")
