"""Figures 2, 4 and 5 of the paper, and average ranks with their critical difference.

Figure 2: one kernel with and without either noise, measured against the classes. $A = UU^T$ with U
the k leading eigenvectors of the kernel, $P = H^*H^{*T}$ with $H^*$ the normalized indicator of the
classes, $Q = I - P$. N-noise is $QAQ$, C-noise $PAP - P$; a cross part $PAQ + QAP$ remains.
Figure 4: HMKC over its grid beside MKC-DNM. Figure 5: scores after every round of MKC-DNM's search.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from mkclust import MKCDNM
from mkclust.agreement.subspaces import Subspaces
from mkclust.dual_noise.consensus import consensus
from mkclust.kernels.bank import KernelBank, KernelRecipe
from mkclust.linalg.kmeans import kmeans_labels
from mkclust.metrics import accuracy, evaluate

from .data import dataset
from .runner import read_table
from .tables import NAMES, average_ranks, critical_difference, ranked, title

SINGLE, DOUBLE = 3.35, 7.0  # inches: one column, two columns
CELLS = 600  # of a picture, in each direction
TITLES = ("original", "without N-noise", "without C-noise", "without dual noise")
STYLE: Any = {
    "font.size": 8, "axes.titlesize": 8, "legend.fontsize": 8, "axes.spines.top": False,
    "axes.spines.right": False, "legend.frameon": False, "lines.linewidth": 1.0,
    "lines.markersize": 3.5,
}  # fmt: skip


def save(figure: Figure, folder: Path, name: str) -> Path:
    """Write NAME.png; the same figure gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})
    return folder / f"{name}.png"


def new_figure(width: float, height: float, **layout: Any) -> tuple[Figure, Any]:
    """Return a figure of a size in inches, and its axes."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        return figure, figure.subplots(**layout)


def rank_figure(table: pd.DataFrame) -> Figure:
    """Draw methods by average rank; a bar joins those within the critical difference.

    Parameters
    ----------
    table : data sets x methods
        Larger is better; NaN, where there is no result, ranks last.
    """
    ranks = average_ranks(table).sort_values(kind="stable")
    difference = critical_difference(table.shape[1], table.shape[0])
    figure, ax = new_figure(DOUBLE, 0.6 + 0.17 * len(ranks))
    places = np.arange(len(ranks))
    ax.hlines(places, ranks, ranks + difference, color="0.8", linewidth=4)
    ax.plot(ranks, places, "o", color="black")
    ax.set_yticks(places, [f"{title(m)}  {rank:.2f}" for m, rank in ranks.items()])
    ax.axvline(ranks.iloc[0] + difference, color="#b3261e", linestyle="--")
    ax.set(ylim=(len(ranks) - 0.4, -0.6))
    ax.set_xlabel(
        f"average rank over {len(table)} data sets; a gray bar is the critical difference "
        f"({difference:.2f}); right of the red line: behind the first at 5 %"
    )
    return figure


def noise_figure(name: str) -> Figure:
    """Draw Figure 2: four pictures of the first kernel, each with the ACC of kernel k-means."""
    views, score = dataset(name).load()
    classes, k = score.values, dataset(name).k
    order = np.argsort(classes, kind="stable")
    kernel = KernelBank(views, KernelRecipe(dataset(name).kernel))[0]
    U = np.linalg.eigh(kernel)[1][:, -k:]
    A = U @ U.T
    H = np.eye(k)[classes] / np.sqrt(np.bincount(classes))
    P = H @ H.T
    Q = np.eye(len(P)) - P
    pictures = (A, A - Q @ A @ Q, A - (P @ A @ P - P), P)
    figure, axes = new_figure(SINGLE, SINGLE * 1.1, nrows=2, ncols=2)
    step = max(1, len(P) // CELLS)
    for place, (ax, M) in enumerate(zip(axes.flat, pictures, strict=True)):
        shown = M[order][:, order][::step, ::step] * (len(M) / k)
        ax.imshow(shown, cmap="Greys", vmin=0, vmax=1.5)
        ax.set(xticks=[], yticks=[])
        labels = kmeans_labels(np.linalg.eigh(M)[1][:, -k:], k, n_init=50, random_state=0)
        found = 100 * accuracy(classes, labels)
        ax.set_xlabel(f"({'abcd'[place]}) {TITLES[place]}\nACC {found:.1f} %")
    return figure


def grid_figure(name: str, results: pd.DataFrame) -> Figure:
    """Draw Figure 4: bars of HMKC over its grid, and the line of MKC-DNM."""
    k = dataset(name).k
    found = results[(results.dataset == name) & (results.status == "done")]
    hmkc = found[(found.method == "hmkc") & (found.tuned == 1)]
    widths = pd.DataFrame([pd.read_json(p, typ="series") for p in hmkc.parameters]) // k
    level = found[found.method == "mkc-dnm"].iloc[0]
    figure, axes = new_figure(DOUBLE, 3.2, nrows=2, sharex=True)
    for ax, metric in zip(axes, ("acc", "nmi"), strict=True):
        table = 100 * hmkc[f"{metric}_mean"].set_axis(
            pd.MultiIndex.from_frame(widths[["c1", "c2"]])
        )
        table.unstack().plot.bar(
            ax=ax, colormap="Greys", edgecolor="black", legend=metric == "acc", width=0.86
        )
        ax.axhline(100 * level[f"{metric}_mean"], color="#b3261e", linestyle="--")
        ax.set_ylabel(f"{NAMES[metric]} (%)")
    axes[-1].set_xlabel(f"HMKC: width of the first layer / k ({name}); dashed: MKC-DNM")
    return figure


def rounds_figure(name: str) -> Figure:
    """Draw Figure 5: four metrics of the consensus after every round of MKC-DNM's search."""
    entry = dataset(name)
    views, score = entry.load()
    model = MKCDNM(entry.k, kernel=entry.kernel, random_state=0).fit(views)
    rounds = [tuple(step.d) for step in model.history_]
    found = {}
    spaces = Subspaces.of(KernelBank(views, KernelRecipe(entry.kernel)))
    spaces.grow(max(max(d) for d in rounds))
    overlap = spaces.overlap(entry.k)
    for d in set(rounds):
        H = consensus(spaces, d, entry.k, overlap).H
        runs = [
            evaluate(score.values, kmeans_labels(H, entry.k, random_state=s, init="random"))
            for s in range(20)
        ]
        found[d] = pd.DataFrame(runs).mean()
    figure, ax = new_figure(SINGLE, 2.3)
    table = 100 * pd.DataFrame([found[d] for d in rounds])
    table.index = table.index + 1
    table.rename(columns=NAMES).plot(ax=ax, marker="o")
    ax.set(xlabel=f"round of the search, {name}", ylabel="score (%)")
    return figure


def draw(name: str, folder: Path, data: str = "BBCSport") -> Path:
    """Draw ``figure2``, ``figure4``, ``figure5`` or ``ranks-FAMILY`` and write it."""
    results = read_table()
    if name.startswith("ranks-"):
        suite = results[results.suite == name.removeprefix("ranks-")]
        return save(rank_figure(ranked(suite)), folder, name)
    if name == "figure4":
        return save(grid_figure(data, results[results.suite == "paper-table2"]), folder, name)
    drawn = noise_figure(data) if name == "figure2" else rounds_figure(data)
    return save(drawn, folder, name)
