"""Plots of a fitted model for notebooks; each draws into `ax`, or a new figure, and returns it.

They need matplotlib: ``pip install mkclust[plot]``.

>>> import matplotlib
>>> matplotlib.use("Agg")
>>> from mkclust import MKCDNM, datasets, plot
>>> views = datasets.make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)
>>> model = MKCDNM(3, random_state=0).fit(views)
>>> plot.agreement(model).get_title()
'Agreement of views'
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..agreement.chance import ranking, unrelated
from ..agreement.spectra import Evidence, evidence_of
from ..exceptions import InputError
from ..inspection.choose_k import ChoiceOfK
from ..inspection.stability import Stability
from . import palette
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

DRAWN = 5000  # samples, at most
CELLS = 300  # of a block heat map, each way
ALARM = "#b3261e"
LINES = ("-", (0, (4, 2)), ":", "-.")


def agreement(model: Any, ax: Any = None) -> Any:
    """Heat map of the chance-corrected agreement of all pairs of views, most trusted first."""
    found = _of(model, "agreement_")
    order = ranking(model)
    ax = _axes(ax, 0.7 * len(order) + 2.2)
    image = ax.imshow(found[np.ix_(order, order)], vmin=0, vmax=1, cmap=_heat())
    for y, p in enumerate(order):
        for x, q in enumerate(order):
            if p != q and len(order) <= 14 and not np.isnan(found[p, q]):
                ink = "white" if found[p, q] > 0.55 else "black"
                ax.text(
                    x, y, f"{found[p, q].round(2) + 0.0:.2f}", ha="center", va="center", color=ink
                )
    _name_views(ax.set_xticks, ax.get_xticklabels, model, order, rotation=35, ha="right")
    _name_views(ax.set_yticks, ax.get_yticklabels, model, order)
    ax.figure.colorbar(image, ax=ax, shrink=0.8, label="0 = chance, 1 = equal")
    ax.set_title("Agreement of views")
    return ax


def noise(model: Any, ax: Any = None) -> Any:
    """N-noise to the right and C-noise to the left of zero, for every view, most trusted first."""
    found = _of(model, "noise_")
    order = ranking(model)
    ax = _axes(ax, 0.45 * len(order) + 1.6, 6.5)
    places = np.arange(len(order))
    ax.barh(places, found.null[order], color="#2f6f9f", label="N-noise: not in the consensus")
    ax.barh(places, found.column[order], color="#c26a1b", label="C-noise: lacking of it")
    for y, p in enumerate(order):
        ax.annotate(f" {found.null[p]:.1f}", (found.null[p], y), va="center", fontsize=9)
        ax.annotate(
            f"{found.column[p]:.1f} ", (found.column[p], y), va="center", ha="right", fontsize=9
        )
    _name_views(ax.set_yticks, ax.get_yticklabels, model, order)
    ax.invert_yaxis()
    ax.margins(x=0.14)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_xlabel("directions")
    ax.set_title("Dual noise of views")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2, frameon=False, fontsize=9)
    _plain(ax)
    return ax


def blocks(model: Any, view: str | None = None, ax: Any = None) -> Any:
    """Cosines of all pairs of samples, sorted by cluster: in the consensus, or in one view.

    A method that learns a graph instead of an embedding shows its weights.
    """
    check_is_fitted(model, "labels_")
    labels = model.labels_
    if view is None and not hasattr(model, "embedding_"):
        image = graph_means(np.asarray(_of(model, "graph_")), labels, CELLS)
    else:
        image = block_means(_embedded(model, view), labels, CELLS)
    ax = _axes(ax, 5.0)
    ax.imshow(image, vmin=0, vmax=1, cmap=_heat(), extent=(0, 1, 1, 0), interpolation="nearest")
    edges = block_edges(labels)
    for cluster, (start, end) in enumerate(pairwise(edges)):
        colour, _ = palette.style(cluster)
        for band in ((start, -0.035, end - start, 0.03), (-0.035, start, 0.03, end - start)):
            ax.add_patch(_rectangle(band, colour))
    ax.set_xlim(-0.04, 1)
    ax.set_ylim(1, -0.04)
    ax.set_xticks([])
    middles = (edges[:-1] + edges[1:]) / 2
    ax.set_yticks(middles, [str(cluster) for cluster in range(len(middles))])
    ax.tick_params(length=0)
    ax.set_ylabel("cluster")
    ax.spines[:].set_visible(False)
    ax.set_title(view or "Consensus")
    return ax


def spectrum(model: Any, ax: Any = None) -> Any:
    """Every view's eigenvalues, the largest set to 1, with a mark where d_p directions end."""
    kept = _kept(model)
    ax = _axes(ax, 4.2, 6.5)
    for rank, p in enumerate(ranking(model)):
        colour, marker = palette.style(rank)
        values = kept.values[p] / kept.values[p][0]
        d = int(model.dimensions_[p])
        ax.plot(np.arange(1, len(values) + 1), values, color=colour, linewidth=1.5,
                label=f"{model.view_names_in_[p]}, d = {d}")  # fmt: skip
        ax.plot([d], [values[d - 1]], color=colour, marker=marker, markersize=8, linestyle="none",
                markeredgecolor="white")  # fmt: skip
    ax.axvline(model.n_clusters, color="black", linewidth=1, linestyle="--",
               label=f"k = {model.n_clusters}")  # fmt: skip
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("direction")
    ax.set_ylabel("eigenvalue, largest = 1")
    ax.set_title("Directions kept of each spectrum")
    ax.legend(frameon=False, fontsize=9)
    _plain(ax)
    return ax


def embedding(model: Any, view: str | None = None, layout: str = "auto", ax: Any = None) -> Any:
    """The samples in two dimensions, coloured by cluster: in the consensus, or in one view.

    ``"principal"`` shows the two directions of most variance, a view's turned to match the
    consensus; ``"corners"`` gives every cluster a corner and puts a sample between those it
    resembles. ``"auto"`` takes corners for more than three clusters, which no plane can hold apart.
    """
    H = _embedded(model, view)
    if layout == "auto":
        layout = "corners" if model.labels_.max() > 2 else "principal"
    if layout == "principal":
        points = principal_plane(H)
        if view is not None:
            points = turned(points, principal_plane(model.embedding_))
    elif layout == "corners":
        points = between_corners(H, model.labels_, corners(model.labels_, model.embedding_))
    else:
        raise InputError(f'layout must be "auto", "principal" or "corners", got {layout!r}')
    ax = _axes(ax, 5.0, 5.6)
    rows = sample_rows(model.labels_, DRAWN)
    for cluster in range(int(model.labels_.max()) + 1):
        colour, marker = palette.style(cluster)
        own = points[rows[model.labels_[rows] == cluster]]
        ax.scatter(
            *own.T, s=14, color=colour, marker=marker, alpha=0.75, linewidths=0, label=str(cluster)
        )
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_title(view or "Consensus")
    ax.legend(title="cluster", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False,
              fontsize=9, markerscale=1.4)  # fmt: skip
    return ax


def evolution(model: Any, ax: Any = None) -> Any:
    """Directions kept of each view, round by round of the search."""
    history = _of(model, "history_")
    if not history:
        raise InputError('solver="exact" goes through no rounds; fit with "authors" or "paper"')
    ax = _axes(ax, 4.2, 6.5)
    rounds = np.arange(1, len(history) + 1)
    d = np.array([step.d for step in history])
    for rank, p in enumerate(ranking(model)):
        colour, marker = palette.style(rank)
        line = LINES[rank % len(LINES)]  # one under another shows through the gaps
        ax.plot(rounds, d[:, p], color=colour, linestyle=line, marker=marker, markersize=5,
                label=f"{model.view_names_in_[p]}, d = {d[-1, p]}")  # fmt: skip
    ax.set_xticks(rounds if len(rounds) <= 20 else rounds[:: len(rounds) // 10])
    ax.set_xlabel("round")
    ax.set_ylabel("directions kept")
    ax.set_title("Search for the dimensions")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    _plain(ax)
    return ax


def choice(found: ChoiceOfK, ax: Any = None) -> Any:
    """The evidence for every number of clusters tried, the score set to 1 at its best."""
    ks = [row.k for row in found.table]
    best = max(row.score for row in found.table) or 1.0
    ax = _axes(ax, 4.2, 6.5)
    ax.plot(ks, [row.score / best for row in found.table], color="black", linewidth=2.5,
            marker="o", label="score")  # fmt: skip
    for rank, name in enumerate(("stability", "separation", "gap", "noise")):
        colour, marker = palette.style(rank)
        ax.plot(ks, [getattr(row, name) for row in found.table], color=colour, marker=marker,
                markersize=4, linewidth=1.2, linestyle=LINES[rank], label=name)  # fmt: skip
    ax.axvline(found.k, color=ALARM, linewidth=1, label=f"k = {found.k}")
    ax.set_xlabel("clusters")
    ax.set_title("How many clusters")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    _plain(ax)
    return ax


def stability(found: Stability, ax: Any = None) -> Any:
    """How much of every cluster halves of the samples keep: mean Jaccard index."""
    k = len(found.clusters)
    ax = _axes(ax, 0.35 * k + 1.4, 6.0)
    ax.barh(range(k), found.clusters, color=[palette.style(c)[0] for c in range(k)])
    for cluster, value in enumerate(found.clusters):
        ax.annotate(f" {value:.2f}", (value, cluster), va="center", fontsize=9)
    ax.set_yticks(range(k), [f"cluster {cluster}" for cluster in range(k)])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.1)
    ax.axvline(0.5, color="black", linewidth=0.8, linestyle=":")
    ax.set_xlabel("Jaccard index, mean over halves")
    ax.set_title("Stability of clusters")
    _plain(ax)
    return ax


def _of(model: Any, attribute: str) -> Any:
    """What the plot shows, or an error that says which models have it."""
    check_is_fitted(model, "labels_")
    if not hasattr(model, attribute):
        raise InputError(f"{model.title} has nothing to show here; this plot is for MKC-DNM")
    return getattr(model, attribute)


def _kept(model: Any) -> Evidence:
    check_is_fitted(model, "labels_")
    kept = evidence_of(model)
    if kept is None:
        raise InputError("spectra are kept by MKC-DNM with approximation=None, and not otherwise")
    return kept


def _embedded(model: Any, view: str | None) -> np.ndarray:
    if view is None:
        return np.asarray(_of(model, "embedding_"))
    names = [str(name) for name in model.view_names_in_]
    if view not in names:
        raise InputError(f"no view {view!r}; there are {', '.join(names)}")
    return np.asarray(_kept(model).heads[names.index(view)])


def _axes(ax: Any, height: float, width: float | None = None) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width or height * 1.15, height), layout="constrained")[1]


def _heat() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("mkclust", palette.HEAT_LIGHT)


def _rectangle(band: tuple[float, float, float, float], colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(band[:2], *band[2:], color=colour, linewidth=0)


def _name_views(ticks: Any, texts: Any, model: Any, order: np.ndarray, **style: Any) -> None:
    """Names of the views along an axis, unrelated ones in red."""
    ticks(np.arange(len(order)), [str(model.view_names_in_[p]) for p in order], **style)
    lone = unrelated(model)
    for text, p in zip(texts(), order, strict=True):
        if int(p) in lone:
            text.set(color=ALARM, fontweight="bold")


def _plain(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)
