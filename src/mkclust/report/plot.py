"""Plots of fitted models and of the answers to later questions.

Every function draws into the matplotlib axes `ax`, or into a new figure, and returns the axes.
They need matplotlib: ``pip install mkclust[plot]``.

>>> import matplotlib
>>> matplotlib.use("Agg")
>>> from mkclust import GraphFusion, datasets, plot
>>> views = datasets.make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)
>>> model = GraphFusion(3, random_state=0).fit(views)
>>> plot.agreement(model).get_title()
'Agreement of views'
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..agreement.chance import mean_agreement
from ..agreement.subspaces import ViewSpectra
from ..dual_noise.consensus import Noise
from ..exceptions import InputError, MkclustWarning, warn
from ..inspection import Markers, Stability
from ..inspection.fitting import views_of
from ..inspection.markers import feature_names
from .charts import TSNE_ABOVE, first_title
from .drawing import (
    HEAT_LIGHT,
    block_edges,
    block_means,
    cluster_style,
    co_clustering,
    graph_means,
    predict_layout,
    principal_plane,
    rotate_onto,
    sample_rows,
    tsne,
)
from .words import DISSOLVED, STABLE, number, ranking, unrelated
from .writing import answer_questions, named_answers

MOST_DRAWN = 2000  # samples
MOST_CLUSTERED = 600  # samples of a co-clustering heat map
CUT = 2.5  # standard deviations that have the full color
DPI = 200
FORMATS: dict[str, dict[str, Any]] = {  # with what keeps the date out of a file
    "svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {},
}  # fmt: skip
CELLS = 300  # of a block heat map, each way
ALARM = "#b3261e"
MAIN, OTHER = "#2f6f9f", "#c26a1b"
LINES = ("-", (0, (4, 2)), ":", "-.")
BESIDE: dict[str, Any] = {  # a legend to the right of the axes
    "loc": "center left", "bbox_to_anchor": (1.0, 0.5), "frameon": False, "fontsize": 9,
}  # fmt: skip
LAYOUTS = ("auto", "t-sne", "principal")


def agreement(model: Any, ax: Any = None) -> Any:
    """Draw a heat map of the chance-corrected agreement of all pairs of views."""
    found = _of(model, "agreement_")
    order = ranking(model)
    ax = _axes(ax, 0.7 * len(order) + 2.2)
    image = ax.imshow(found[np.ix_(order, order)], vmin=0, vmax=1, cmap=_ramp("heat", HEAT_LIGHT))
    for y, p in enumerate(order):
        for x, q in enumerate(order):
            if p != q and len(order) <= 14 and not np.isnan(found[p, q]):
                ink = "white" if found[p, q] > 0.55 else "black"
                ax.text(x, y, number(found[p, q], 2), ha="center", va="center", color=ink)
    _name_views(ax.set_xticks, ax.get_xticklabels, model, order, rotation=35, ha="right")
    _name_views(ax.set_yticks, ax.get_yticklabels, model, order)
    ax.figure.colorbar(image, ax=ax, shrink=0.8, label="0 = chance, 1 = equal")
    ax.set_title("Agreement of views")
    return ax


def weights(model: Any, ax: Any = None) -> Any:
    """Draw the weight of every view, with its agreement and redundancy where they are known.

    Weights are not quality scores: redundant views share their weight.
    """
    found = np.asarray(_of(model, "weights_"), dtype=float)
    order = ranking(model)
    ax = _axes(ax, 0.45 * len(order) + 1.6, 6.5)
    ax.barh(np.arange(len(order)), found[order], color=MAIN)
    for y, p in enumerate(order):
        ax.annotate(f" {number(found[p], 2)}{_reason(model, p)}", (found[p], y), va="center",
                    fontsize=9)  # fmt: skip
    _name_views(ax.set_yticks, ax.get_yticklabels, model, order)
    ax.invert_yaxis()
    room = 1.9 if hasattr(model, "redundancy_") else 1.2  # for the text after the bars
    ax.set_xlim(0, room * found.max() or 1)
    ax.axvline(found.mean(), color="black", linewidth=0.8, linestyle=":")
    ax.set(xlabel="weight (dotted line: equal weights)", title="Weights of views")
    return _plain(ax)


def noise(model: Any, ax: Any = None) -> Any:
    """Draw N-noise to the right and C-noise to the left of zero, for every view of MKC-DNM."""
    parts: Noise = _of(model, "noise_")
    order = ranking(model)
    ax = _axes(ax, 0.45 * len(order) + 1.6, 6.5)
    places = np.arange(len(order))
    ax.barh(places, parts.null[order], color=MAIN, label="N-noise: outside the consensus")
    ax.barh(places, parts.column[order], color=OTHER, label="C-noise: missing from the view")
    for y, p in enumerate(order):
        right, left = number(parts.null[p], 2), number(parts.column[p], 2)
        ax.annotate(f" {right}", (parts.null[p], y), va="center", fontsize=9)
        ax.annotate(f"{left} ", (parts.column[p], y), va="center", ha="right", fontsize=9)
    _name_views(ax.set_yticks, ax.get_yticklabels, model, order)
    ax.invert_yaxis()
    ax.margins(x=0.16)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set(xlabel="dimensions", title="Noise of views")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2, frameon=False, fontsize=9)
    return _plain(ax)


def blocks(model: Any, view: str | None = None, ax: Any = None) -> Any:
    """Draw the cosine similarity of all pairs of samples, sorted by cluster.

    By default that of the embedding; with `view` that of a view's leading eigenvectors. A method
    that learns a graph instead of an embedding shows its edge weights.
    """
    check_is_fitted(model, "labels_")
    labels = model.labels_
    if view is not None:
        head, present = _view(model, view)
        image = block_means(head, labels, CELLS, present)
    elif hasattr(model, "embedding_"):
        image = block_means(np.asarray(model.embedding_), labels, CELLS)
    else:
        image = graph_means(np.asarray(_of(model, "graph_")), labels, CELLS)
    return _draw_square(image, labels, view or first_title(model), ax)


def consensus(found: Stability, ax: Any = None) -> Any:
    """Draw how often refits to halves put two samples into one cluster, samples by cluster."""
    _require(found, Stability, "consensus", "mkclust.stability")
    rows = sample_rows(found.labels, MOST_CLUSTERED)
    image = co_clustering(found.refits, found.labels, MOST_CLUSTERED)
    return _draw_square(image, found.labels[rows], "Co-clustering in refits", ax, "share of refits")


def sizes(model: Any, found: Stability | None = None, ax: Any = None) -> Any:
    """Draw the number of samples of every cluster; with a `Stability`, its reproducibility too."""
    check_is_fitted(model, "labels_")
    counts = np.bincount(model.labels_)
    ax = _axes(ax, 0.35 * len(counts) + 1.4, 6.0)
    ax.barh(range(len(counts)), counts, color=[cluster_style(c)[0] for c in range(len(counts))])
    for c, count in enumerate(counts):
        kept = None if found is None else float(found.by_cluster(len(counts))[c])
        more = "" if kept is None else f", reproducibility {number(kept)}"
        ax.annotate(f" {count}{more}", (count, c), va="center", fontsize=9)
    ax.set_yticks(range(len(counts)), [f"cluster {c}" for c in range(len(counts))])
    ax.invert_yaxis()
    ax.set_xlim(0, counts.max() * (1.15 if found is None else 1.6))
    ax.set(xlabel="samples", title="Sizes of clusters")
    return _plain(ax)


def features(model: Any, views: Any, found: Markers, count: int = 5, ax: Any = None) -> Any:
    """Draw the first `count` markers of every cluster as a heat map of features by samples.

    Samples are sorted by cluster. Values are standardized over the samples of the view, and cut
    at 2.5 standard deviations; samples that a view lacks are gray.
    """
    _require(found, Markers, "features", "mkclust.inspection.markers")
    some = views_of(model, views)
    data, labels = some.data, np.asarray(model.labels_)[some.rows]
    order = np.argsort(labels, kind="stable")
    first = np.concatenate([found.top(c, count) for c in range(int(labels.max()) + 1)])
    chosen = dict.fromkeys(zip(found.view[first], found.feature[first], strict=True))
    image = np.array([_standardized(model, data, *each)[order] for each in chosen])
    ax = _axes(ax, 0.22 * len(chosen) + 1.6, 7.5)
    colors = _ramp("signed", (cluster_style(1)[0], "white", cluster_style(0)[0]), bad="#d5dbe1")
    drawn = ax.imshow(image, cmap=colors, vmin=-CUT, vmax=CUT, aspect="auto", extent=(0, 1, 1, 0),
                      interpolation="nearest")  # fmt: skip
    edges = block_edges(labels)
    for cluster, (start, end) in enumerate(pairwise(edges)):
        ax.bar(start, 0.025, end - start, -0.03, align="edge", color=cluster_style(cluster)[0])
        ax.axvline(end, color="white", linewidth=1)
    ax.set_xticks((edges[:-1] + edges[1:]) / 2, [f"{c}" for c in range(len(edges) - 1)])
    ax.set_yticks((np.arange(len(chosen)) + 0.5) / len(chosen), [str(name) for _, name in chosen],
                  fontsize=8)  # fmt: skip
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set(ylim=(1, -0.03), xlim=(0, 1), xlabel="samples by cluster", title="Markers of clusters")
    ax.figure.colorbar(drawn, ax=ax, shrink=0.7, label="standard deviations from the mean")
    return ax


def write_figures(
    model: Any, views: Any, folder: Any, format: str = "svg", *, answers: Sequence[Any] = ()
) -> list[Path]:
    """Write the figures of a paper: map, sizes, consensus and, of tables, features.

    Parameters
    ----------
    model : MultiViewClusterer
        Fitted to `views`.
    views : as for its `fit`
    folder : path
        Made if it does not exist; files of the same names are replaced.
    format : {"svg", "pdf", "png"}
    answers : sequence
        Results of `stability` and `markers`, which are computed otherwise.

    Returns
    -------
    paths : list of Path
        Without an embedding there is no map; a warning says which others the data do not allow.
    """
    if format not in FORMATS:
        raise InputError(f"format must be svg, pdf or png, got {format!r}")
    import matplotlib.pyplot as plt

    found, skipped = answer_questions(model, views, answers, wanted=("stability", "markers"))
    for reason in skipped:
        warn(reason, MkclustWarning)
    named = named_answers(found)
    drawn = {"sizes": sizes(model, named.get("stability"))}
    if hasattr(model, "embedding_"):
        drawn["map"] = embedding(model)
    if "stability" in named:
        drawn["consensus"] = consensus(named["stability"])
    if "markers" in named:
        drawn["features"] = features(model, views, named["markers"])
    Path(folder).mkdir(parents=True, exist_ok=True)
    paths = [Path(folder, f"{name}.{format}") for name in drawn]
    for path, ax in zip(paths, drawn.values(), strict=True):
        with plt.rc_context({"svg.hashsalt": path.stem, "pdf.fonttype": 42}):
            ax.figure.savefig(path, dpi=DPI, metadata=FORMATS[format])
        plt.close(ax.figure)
    return paths


def spectrum(model: Any, ax: Any = None) -> Any:
    """Draw the leading eigenvalues, relative to the largest, and the number of clusters.

    For graph fusion those of the fused graph and of the graph of every view; the latter begin
    at 2, because their graphs are centered. For MKC-DNM those of every view's kernel on
    logarithmic axes, with a mark at the number of eigenvectors kept.
    """
    kept = _spectra(model)
    ax = _axes(ax, 4.2, 6.5)
    dimensions = getattr(model, "dimensions_", None)
    if dimensions is None:
        values = model.eigenvalues_ / model.eigenvalues_[0]
        ax.plot(np.arange(1, len(values) + 1), values, color="black", linewidth=2.5,
                label="fused graph")  # fmt: skip
    for rank, p in enumerate(ranking(model)):
        color, marker = cluster_style(rank)
        values, name = kept.values[p] / kept.values[p][0], str(model.view_names_in_[p])
        d = None if dimensions is None else int(dimensions[p])
        first = 2 if d is None else 1
        ax.plot(np.arange(first, len(values) + first), values, color=color, linewidth=1.5,
                label=name if d is None else f"{name}, d = {d}")  # fmt: skip
        if d is not None:
            ax.plot([d], [values[d - 1]], color=color, marker=marker, markersize=8,
                    linestyle="none", markeredgecolor="white")  # fmt: skip
    ax.axvline(model.n_clusters, color="black", linewidth=1, linestyle="--",
               label=f"k = {model.n_clusters}")  # fmt: skip
    if dimensions is not None:
        ax.set(xscale="log", yscale="log")
    ax.set(xlabel="eigenvalue number", ylabel="eigenvalue / largest", title="Spectra")
    ax.legend(frameon=False, fontsize=9)
    return _plain(ax)


def embedding(model: Any, view: str | None = None, layout: str = "auto", ax: Any = None) -> Any:
    """Draw the samples in two dimensions, colored by cluster.

    ``"t-sne"`` keeps neighbors together; for a `view` it is predicted from the view's leading
    eigenvectors by linear regression, every sample left out of its own prediction.
    ``"principal"`` shows the first two principal components. ``"auto"`` is t-SNE for more than
    three clusters. No layout uses the labels. Samples that a view lacks are not drawn.
    """
    if layout not in LAYOUTS:
        raise InputError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    H, labels = np.asarray(_of(model, "embedding_")), np.asarray(model.labels_)
    rows = sample_rows(labels, MOST_DRAWN)
    points = _layout(model, view, H, rows, layout)
    ax = _axes(ax, 5.0, 5.6)
    for cluster in range(int(labels.max()) + 1):
        color, marker = cluster_style(cluster)
        own = points[labels[rows] == cluster]
        ax.scatter(
            *own.T, s=14, color=color, marker=marker, alpha=0.75, linewidths=0, label=str(cluster)
        )
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[], title=view or first_title(model))
    ax.legend(title="cluster", markerscale=1.4, **BESIDE)
    return ax


def evolution(model: Any, ax: Any = None) -> Any:
    """Draw how many eigenvectors MKC-DNM keeps of each view, round by round of its search."""
    history = _of(model, "history_")
    if not history:
        raise InputError('solver="exact" has no rounds; fit with solver="authors" or "paper"')
    ax = _axes(ax, 4.2, 6.5)
    rounds = np.arange(1, len(history) + 1)
    d = np.array([step.d for step in history])
    for rank, p in enumerate(ranking(model)):
        color, marker = cluster_style(rank)
        line = LINES[rank % len(LINES)]  # dashes, so that coinciding lines stay visible
        ax.plot(rounds, d[:, p], color=color, linestyle=line, marker=marker, markersize=5,
                label=f"{model.view_names_in_[p]}, d = {d[-1, p]}")  # fmt: skip
    ax.set_xticks(rounds if len(rounds) <= 20 else rounds[:: len(rounds) // 10])
    ax.set(xlabel="round", ylabel="eigenvectors kept", title="Search for the dimensions")
    ax.legend(**BESIDE)
    return _plain(ax)


def choice(found: Any, ax: Any = None) -> Any:
    """Draw held-out modularity against the number of clusters, and the test of structure.

    `found` is what `choose_k` returns, or a model whose number of clusters was chosen by
    ``cluster(views, "auto")``. The solid line decides the number; numbers that are
    about as good are shaded. The dotted line is the modularity of the samples tested; the band
    reaches from the mean of the null model to its upper limit.
    """
    found = getattr(found, "choice_of_k_", found)
    if not hasattr(found, "table"):
        raise InputError(f"plot.choice takes the result of choose_k, not {type(found).__name__}")
    ks = [row.k for row in found.table]
    ax = _axes(ax, 4.2, 6.5)
    ax.fill_between(ks, [row.null for row in found.table], [row.null_high for row in found.table],
                    color="#8a949e", alpha=0.35, linewidth=0, label="null model")  # fmt: skip
    ax.plot(ks, [row.held_out for row in found.table], color=MAIN, linewidth=2, marker="o",
            label="held-out samples")  # fmt: skip
    ax.plot(ks, [row.tested for row in found.table], color="#5b6570", linestyle=":",
            label="samples tested")  # fmt: skip
    if found.structure:
        ax.axvline(found.k, color="black", linewidth=1, linestyle="--", label=f"k = {found.k}")
        if found.high > found.low:
            ax.axvspan(found.low - 0.3, found.high + 0.3, color=MAIN, alpha=0.12, linewidth=0,
                       label="about as good")  # fmt: skip
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="number of clusters", ylabel="modularity")
    ax.set_title("Number of clusters" if found.structure else "No cluster structure")
    ax.legend(**BESIDE)
    return _plain(ax)


def stability(found: Stability, ax: Any = None) -> Any:
    """Draw the mean Jaccard index of every cluster and its match in refits to halves."""
    _require(found, Stability, "stability", "mkclust.stability")
    k = len(found.clusters)
    ax = _axes(ax, 0.35 * k + 1.4, 6.0)
    ax.barh(range(k), found.clusters, color=[cluster_style(c)[0] for c in range(k)])
    for cluster, value in enumerate(found.clusters):
        ax.annotate(f" {number(value, 3)}", (value, cluster), va="center", fontsize=9)
    ax.set_yticks(range(k), [f"cluster {cluster}" for cluster in range(k)])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.15)
    for limit in (DISSOLVED, STABLE):
        ax.axvline(limit, color="black", linewidth=0.8, linestyle=":")
    ax.set_xlabel(f"mean Jaccard index (below {DISSOLVED} dissolved, from {STABLE} on stable)")
    ax.set_title("Stability of clusters")
    return _plain(ax)


def _draw_square(
    image: np.ndarray, labels: np.ndarray, title: str, ax: Any, legend: str | None = None
) -> Any:
    """Draw a matrix of samples by samples, sorted by cluster, with the clusters along its edges."""
    ax = _axes(ax, 5.0)
    drawn = ax.imshow(image, vmin=0, vmax=1, cmap=_ramp("heat", HEAT_LIGHT), extent=(0, 1, 1, 0),
                      interpolation="nearest")  # fmt: skip
    edges = block_edges(labels)
    for cluster, (start, end) in enumerate(pairwise(edges)):
        color, _ = cluster_style(cluster)
        bands = ((start, 0.03, end - start, -0.035), (-0.035, end - start, 0.03, start))
        for x, height, width, bottom in bands:
            ax.bar(x, height, width, bottom, align="edge", color=color, linewidth=0)
    middles = (edges[:-1] + edges[1:]) / 2
    ax.set_yticks(middles, [str(cluster) for cluster in range(len(middles))])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set(xlim=(-0.04, 1), ylim=(1, -0.04), xticks=[], ylabel="cluster", title=title)
    if legend is not None:
        ax.figure.colorbar(drawn, ax=ax, shrink=0.8, label=legend)
    return ax


def _standardized(model: Any, data: Any, view: str, feature: Any) -> np.ndarray:
    """Return the values (n,) of a feature, standardized and cut; NaN where the view lacks them."""
    p = list(data.names).index(view)
    column = data.views[p][:, int(np.flatnonzero(feature_names(model, data, p) == feature)[0])]
    values = np.asarray(column.todense() if sp.issparse(column) else column, dtype=float).ravel()
    if data.present is not None:
        values = np.where(data.present[:, p], values, np.nan)
    spread = np.nanstd(values)
    return np.clip((values - np.nanmean(values)) / (spread if spread > 0 else 1.0), -CUT, CUT)


def _require(found: Any, kind: type, plot: str, function: str) -> None:
    if not isinstance(found, kind):
        raise InputError(f"plot.{plot} takes the result of {function}, not {type(found).__name__}")


def _of(model: Any, attribute: str) -> Any:
    """Return what the plot shows, or raise an error that names the attribute."""
    check_is_fitted(model, "labels_")
    if not hasattr(model, attribute):
        raise InputError(f"{model.title} has no {attribute}, which this plot shows")
    return getattr(model, attribute)


def _reason(model: Any, p: int) -> str:
    if not hasattr(model, "redundancy_"):
        return ""
    extra = float(model.redundancy_[p].sum() - 1)
    trust = float(mean_agreement(model.agreement_)[p])
    return f" (agreement {number(trust, 2)}, redundancy {number(extra, 2)})"


def _spectra(model: Any) -> ViewSpectra:
    check_is_fitted(model, "labels_")
    kept = model._spectra
    if kept is None:
        raise InputError(
            f"{model.title} kept no eigenvectors of single views; graph fusion does, and MKC-DNM "
            "fitted to all samples"
        )
    return kept


def _view(model: Any, view: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the leading eigenvectors (n, k) of a view, and which samples it holds (n,)."""
    names = [str(name) for name in model.view_names_in_]
    if view not in names:
        raise InputError(f"no view {view!r}; the views are {', '.join(names)}")
    p, presence = names.index(view), getattr(model, "presence_", None)
    return _spectra(model).heads[p], None if presence is None else presence[:, p]


def _layout(model: Any, view: str | None, H: np.ndarray, rows: np.ndarray, asked: str) -> Any:
    near = None
    if asked == "t-sne" or (asked == "auto" and model.labels_.max() >= TSNE_ABOVE):
        near = tsne(H[rows])
    if near is None:
        points = principal_plane(H)
        if view is not None:
            points = rotate_onto(principal_plane(*_view(model, view)), points)
        return points[rows]
    if view is None:
        return near
    head, present = _view(model, view)
    return predict_layout(near, head[rows], None if present is None else present[rows])


def _axes(ax: Any, height: float, width: float | None = None) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width or height * 1.15, height), layout="constrained")[1]


def _ramp(name: str, colors: Sequence[str], bad: str = "white") -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(name, colors).with_extremes(bad=bad)


def _name_views(ticks: Any, texts: Any, model: Any, order: np.ndarray, **style: Any) -> None:
    """Write names of the views along an axis, unrelated ones in red."""
    ticks(np.arange(len(order)), [str(model.view_names_in_[p]) for p in order], **style)
    alone = unrelated(model)
    for text, p in zip(texts(), order, strict=True):
        if int(p) in alone:
            text.set(color=ALARM, fontweight="bold")


def _plain(ax: Any) -> Any:
    ax.spines[["top", "right"]].set_visible(False)
    return ax
