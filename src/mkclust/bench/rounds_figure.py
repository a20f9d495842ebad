"""Figure 5: how well MKC-DNM would cluster after each round of its search."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..agreement.overlap import overlap
from ..data.views import MultiView
from ..dual_noise.consensus import consensus
from ..dual_noise.estimator import MKCDNM
from ..kernels.bank import KernelBank, KernelRecipe
from ..linalg.kmeans import kmeans_labels
from ..linalg.spectrum import Spectra
from ..metrics import evaluate
from .pictures import INKS, LINES, MARKS, SINGLE, for_print
from .scores import METRIC_TITLES, METRICS

REPEATS = 20  # runs of k-means, each the best of ten starts, as in the published protocol


def scores_by_round(views: MultiView, recipe: KernelRecipe, k: int) -> dict[str, np.ndarray]:
    """Mean of each metric with the dimensions d of every round: (rounds,) arrays.

    The consensus and the labels are computed anew for each d; the spectra are computed once.
    """
    bank = KernelBank(views, recipe)
    model = MKCDNM(k, random_state=0, kernel=recipe.kernel, approximation=None,
                   indefinite=recipe.indefinite).fit(views)  # fmt: skip
    rounds = [step.d for step in model.history_]
    spectra = Spectra(bank, views.names, at_once=bank.at_once)
    spectra.grow(max(max(d) for d in rounds))
    shared = overlap(spectra)
    found = {d: _mean_scores(consensus(spectra, d, k, shared).H, views, k) for d in set(rounds)}
    return {metric: np.array([found[d][metric] for d in rounds]) for metric in METRICS}


def _mean_scores(H: np.ndarray, views: MultiView, k: int) -> dict[str, float]:
    runs = [
        evaluate(views.labels, kmeans_labels(H, k, random_state=seed, init="random"))
        for seed in range(REPEATS)
    ]
    return {metric: float(np.mean([run[metric] for run in runs])) for metric in METRICS}


def rounds_figure(scores: dict[str, np.ndarray], name: str) -> Any:
    """A line over the rounds for each metric; where two coincide, both marks can be seen."""
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
        ax.set_xlabel(f"round of the search, {name}")
        ax.set_ylabel("score (%)")
        ax.margins(y=0.1)
        figure.legend(loc="outside upper center", ncols=4, handlelength=2.6, columnspacing=1.2)
    return figure
