"""Figures 2, 4 and 5 of the paper, and how any figure is drawn by its name.

Figure 2 shows one kernel with and without either noise, measured against the classes.
$A = UU^T$ with U the k leading eigenvectors of the kernel, $P = H^*H^{*T}$ with $H^*$ the
normalized indicator of the classes, $Q = I - P$. Then $A = P + E^N + E^C + X$ with N-noise
$E^N = QAQ$, C-noise $E^C = PAP - P$ and the cross part $X = PAQ + QAP$.

Figure 4 compares HMKC over its grid with MKC-DNM. Figure 5 shows the scores of MKC-DNM after every
iteration of its search.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg

from ..agreement.subspaces import KernelSubspaces
from ..data.views import MultiView
from ..dual_noise.consensus import consensus
from ..dual_noise.estimator import MKCDNM
from ..exceptions import InputError
from ..kernels.bank import KernelBank, KernelRecipe
from ..linalg.kmeans import kmeans_labels
from ..linalg.spectrum import top_eigenpairs
from ..metrics import accuracy, evaluate
from ..report.layout import block_edges
from .figures import DOUBLE, INKS, LINES, MARKS, POINTS, SINGLE, for_print, rank_figure, saved
from .registry import dataset as registered
from .scores import METRIC_TITLES, METRICS, Results
from .store import Record, Store
from .tables import leaderboard_scores

FIGURES = ("figure2", "figure4", "figure5", "ranks")
PAPER, BUNDLED = "BBCSport", "Mfeat"
CELLS = 600  # of a picture, in each direction
RESTARTS = 50  # of k-means in Figure 2
REPEATS = 20  # runs of k-means in Figure 5, each the best of ten starts, as published
SHOWN = ("acc", "nmi")  # in Figure 4
TITLES = ("original", "without N-noise", "without C-noise", "without dual noise")


def draw(
    name: str,
    store_path: str | Path | None = None,
    data_folder: str | Path | None = None,
    out_folder: str | Path = ".",
    dataset: str | None = None,
    suite: str = "multiview",
) -> list[Path]:
    """Draw a figure and write it as PNG and SVG; return the paths.

    Parameters
    ----------
    name : {"figure2", "figure4", "figure5", "ranks"}
        Figures 2 and 5 are computed from the data; Figure 4 and the ranks show results in the
        store, of the suites ``paper-fig4`` (or ``paper-table2``) and `suite`.
    store_path : path, optional
        The store that `mkclust bench run` wrote.
    data_folder : path, optional
        The folder of data sets; by default the environment variable MKCLUST_DATA.
    out_folder : path
        Where the pictures are written.
    dataset : str, optional
        By default BBCSport if it is present, otherwise the bundled Mfeat.
    suite : str
        The family of data sets whose ranks are drawn.
    """
    name = name.replace("paper-fig", "figure")  # the name of the suite
    if name not in FIGURES:
        raise InputError(f"figures are {', '.join(FIGURES)}, not {name!r}")
    if name == "ranks":
        figure = rank_figure(*leaderboard_scores(Results(_records(store_path, suite))))
        return saved(figure, out_folder, f"ranks-{suite}")
    given = data_folder or os.environ.get("MKCLUST_DATA")
    folder = Path(given) if given else None
    known = registered(dataset or PAPER, folder)
    if dataset is None and not known.present(folder):
        known = registered(BUNDLED)
    if name == "figure4":
        records = _records(store_path, "paper-fig4", "paper-table2")
        figure = grid_figure(grid_of(records, known.name, known.k), known.name)
    else:
        views, recipe = known.kernels(known.load(folder))
        figure = (
            noise_figure(views, recipe)
            if name == "figure2"
            else rounds_figure(scores_by_round(views, recipe, known.k), known.name)
        )
    return saved(figure, out_folder, f"{name}-{known.name}")


def _records(store_path: str | Path | None, *suites: str) -> Sequence[Record]:
    """Return the results of the first of these suites that has any."""
    if store_path is not None and Path(store_path).is_file():
        with closing(Store(store_path)) as store:
            for suite in suites:
                if records := store.records(suite):
                    return records
    raise InputError(f"no results at {store_path}; first: mkclust bench run {suites[0]}")


@dataclass(frozen=True)
class Parts:
    r"""$F M F^T$ with $F = [H^*\;U]$ (n, 2k) for every part: no n x n matrix.

    `basis` is F; `kernel`, `partition`, `null`, `column` and `cross` are the M (2k, 2k) of A, P,
    $E^N$, $E^C$ and X.
    """

    basis: np.ndarray
    kernel: np.ndarray
    partition: np.ndarray
    null: np.ndarray
    column: np.ndarray
    cross: np.ndarray

    def panels(self) -> tuple[np.ndarray, ...]:
        """Return M of A, A - E^N, A - E^C, and of P, which has no cross part either."""
        return self.kernel, self.kernel - self.null, self.kernel - self.column, self.partition

    def leading(self, M: np.ndarray) -> np.ndarray:
        """Return the k leading eigenvectors of $F M F^T$ (n, k), by a 2k x 2k problem."""
        basis, R = scipy.linalg.qr(self.basis, mode="economic")
        return np.asarray(basis @ np.linalg.eigh(R @ M @ R.T)[1][:, -(len(M) // 2) :])

    def accuracy(self, M: np.ndarray, classes: np.ndarray) -> float:
        """Return the ACC of kernel k-means on $F M F^T$."""
        labels = kmeans_labels(self.leading(M), len(M) // 2, n_init=RESTARTS, random_state=0)
        return accuracy(classes, labels)

    def picture(self, M: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Return entries times n/k, rows sorted by class, averaged over cells where n is large."""
        n = len(classes)
        edges = np.linspace(0, n, min(n, CELLS) + 1).round().astype(int)
        rows = self.basis[np.argsort(classes, kind="stable")]
        F = np.add.reduceat(rows, edges[:-1]) / np.diff(edges)[:, None]
        return np.asarray(F @ M @ F.T * (n / (len(M) / 2)))


def parts(kernel: np.ndarray, classes: np.ndarray) -> Parts:
    """Decompose the leading subspace of a kernel by the classes (n,), numbered from 0 to k - 1.

    >>> found = parts(np.diag([3.0, 2.0, 0.0, 0.0]), np.array([0, 0, 1, 1]))
    >>> [round(found.accuracy(M, np.array([0, 0, 1, 1])), 2) for M in found.panels()][-1]
    1.0
    """
    k = int(classes.max()) + 1
    U = top_eigenpairs(kernel, k)[1]
    H = np.eye(k)[classes] / np.sqrt(np.bincount(classes))
    T = H.T @ U
    zero, one = np.zeros((k, k)), np.eye(k)
    A = np.block([[zero, zero], [zero, one]])
    P = np.block([[one, zero], [zero, zero]])
    PAP = np.block([[T @ T.T, zero], [zero, zero]])
    PA_and_AP = np.block([[zero, T], [T.T, zero]])
    return Parts(
        np.hstack([H, U]), A, P,
        null=A - PA_and_AP + PAP, column=PAP - P, cross=PA_and_AP - 2 * PAP,
    )  # fmt: skip


def noise_figure(views: MultiView, recipe: KernelRecipe, view: int = 0) -> Any:
    """Draw Figure 2: four pictures of one view's kernel, each with the ACC of kernel k-means."""
    classes = np.unique(np.asarray(views.labels), return_inverse=True)[1]
    found = parts(KernelBank(views, recipe)[view], classes)
    edges = block_edges(classes)
    with for_print(SINGLE, SINGLE * 1.1, nrows=2, ncols=2) as (figure, axes):
        for place, (ax, M) in enumerate(zip(axes.flat, found.panels(), strict=True)):
            image = ax.imshow(
                found.picture(M, classes), cmap="Greys", vmin=0, vmax=1.5, extent=(0, 1, 1, 0),
            )  # fmt: skip
            ax.set_xticks(edges, [""] * len(edges))
            ax.set_yticks(edges, [""] * len(edges))
            ax.spines[:].set_visible(True)
            score = 100 * found.accuracy(M, classes)
            ax.set_xlabel(f"({'abcd'[place]}) {TITLES[place]}\nACC {score:.1f} %", labelpad=3)
        bar = figure.colorbar(image, ax=axes, shrink=0.5, aspect=25, extend="both", pad=0.02,
                              ticks=(0, 0.5, 1, 1.5))  # fmt: skip
        bar.set_label("entry × n / k", fontsize=POINTS)
    return figure


@dataclass(frozen=True)
class Grid:
    """Scores of HMKC for widths `c1` (rows) and `c2` (columns), in multiples of k; NaN: no result.

    `scores` and `level`, the score of MKC-DNM, are by metric and in percent.
    """

    c1: tuple[int, ...]
    c2: tuple[int, ...]
    scores: dict[str, np.ndarray]
    level: dict[str, float]


def grid_of(records: Sequence[Record], dataset: str, k: int) -> Grid:
    """Return the grid of HMKC and the score of MKC-DNM on one data set, from records."""
    points = [r for r in records if r.dataset == dataset and r.method == "hmkc" and r.tuned]
    level = [r for r in records if r.dataset == dataset and r.method == "mkc-dnm" and r.ok]
    if not any(point.ok for point in points) or not level:
        raise InputError(
            f"the store has no grid of HMKC or no MKC-DNM on {dataset}; first: "
            f"mkclust bench run paper-fig4"
        )
    widths = {(p.parameters["c1"] // k, p.parameters["c2"] // k): p for p in points}
    c1, c2 = (tuple(sorted({pair[i] for pair in widths})) for i in (0, 1))
    scores = {
        metric: np.array([[_percent(widths.get((a, b)), metric) for b in c2] for a in c1])
        for metric in SHOWN
    }
    return Grid(c1, c2, scores, {metric: _percent(level[0], metric) for metric in SHOWN})


def grid_figure(grid: Grid, name: str) -> Any:
    """Draw Figure 4: a group of bars per c1, one bar per c2, and MKC-DNM as a line."""
    with for_print(DOUBLE, 3.2, nrows=len(SHOWN), sharex=True) as (figure, axes):
        for ax, metric in zip(axes, SHOWN, strict=True):
            _bars(ax, grid, metric)
        axes[-1].set_xticks(np.arange(len(grid.c1)), [f"{c}k" for c in grid.c1])
        axes[-1].set_xlabel(f"HMKC: width c₁ of the first layer ({name})")
        handles, names = axes[0].get_legend_handles_labels()  # the line of MKC-DNM is first
        figure.legend([*handles[1:], handles[0]], [*names[1:], names[0]],
                      loc="outside right center", handlelength=1.2)  # fmt: skip
    return figure


def _bars(ax: Any, grid: Grid, metric: str) -> None:
    width = 0.86 / len(grid.c2)
    grays = np.linspace(0.95, 0.2, len(grid.c2))  # from light to dark
    for j in range(len(grid.c2)):
        places = np.arange(len(grid.c1)) - 0.43 + (j + 0.5) * width
        ax.bar(places, grid.scores[metric][:, j], width, color=f"{grays[j]:.3f}",
               edgecolor="black", linewidth=0.3, label=f"c₂ = {grid.c2[j]}k")  # fmt: skip
    ax.axhline(grid.level[metric], color="#b3261e", linewidth=1.4, linestyle=(0, (6, 2)),
               label="MKC-DNM")  # fmt: skip
    top = max(np.nanmax(grid.scores[metric]), grid.level[metric])
    ax.set_ylim(0, 1.06 * top)
    ax.set_xlim(-0.6, len(grid.c1) - 0.4)
    ax.set_ylabel(f"{METRIC_TITLES[metric]} (%)")
    ax.tick_params(axis="x", length=0)


def _percent(record: Record | None, metric: str) -> float:
    return 100 * record.metrics[metric][0] if record is not None and record.ok else np.nan


def scores_by_round(views: MultiView, recipe: KernelRecipe, k: int) -> dict[str, np.ndarray]:
    """Return the mean of each metric for the dimensions d of every iteration, (iterations,) arrays.

    Consensus and labels are computed for each d; the spectra are computed once.
    """
    bank = KernelBank(views, recipe)
    model = MKCDNM(k, random_state=0, kernel=recipe.kernel, approximation=None,
                   indefinite=recipe.indefinite).fit(views)  # fmt: skip
    rounds = [step.d for step in model.history_]
    spaces = KernelSubspaces.of(bank)
    spaces.grow(max(max(d) for d in rounds))
    shared = spaces.overlap(k)
    found = {d: _mean_scores(consensus(spaces, d, k, shared).H, views, k) for d in set(rounds)}
    return {metric: np.array([found[d][metric] for d in rounds]) for metric in METRICS}


def _mean_scores(H: np.ndarray, views: MultiView, k: int) -> dict[str, float]:
    runs = [
        evaluate(views.labels, kmeans_labels(H, k, random_state=seed, init="random"))
        for seed in range(REPEATS)
    ]
    return {metric: float(np.mean([run[metric] for run in runs])) for metric in METRICS}


def rounds_figure(scores: dict[str, np.ndarray], name: str) -> Any:
    """Draw Figure 5: one line per metric; marks differ in size where two lines coincide."""
    rounds = np.arange(1, len(scores["acc"]) + 1)
    with for_print(SINGLE, 2.3) as (figure, ax):
        for place, metric in enumerate(METRICS):
            ax.plot(
                rounds, 100 * scores[metric], color=INKS[place], linestyle=LINES[place],
                marker=MARKS[place], markerfacecolor="white" if place else INKS[0],
                markersize=6.5 if metric == "purity" else 3.5, zorder=3 - place / 10,
                label=METRIC_TITLES[metric],
            )  # fmt: skip
        ax.set_xticks(rounds if len(rounds) <= 12 else rounds[:: len(rounds) // 6])
        ax.set_xlabel(f"iteration of the search, {name}")
        ax.set_ylabel("score (%)")
        ax.margins(y=0.1)
        figure.legend(loc="outside upper center", ncols=4, handlelength=2.6, columnspacing=1.2)
    return figure
