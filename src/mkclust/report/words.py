"""Sentences about a fitted model, and how numbers and names are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._version import __version__
from ..agreement.chance import mean_agreement
from ..agreement.weights import REDUNDANT

METRICS = {"acc": "ACC", "nmi": "NMI (max)", "purity": "purity", "ari": "ARI"}
FAIR = 0.25  # mean agreement from which a small weight calls for an explanation
STABLE, DISSOLVED = 0.75, 0.5  # limits of the Jaccard index by Hennig (2007)
LONGEST = 120  # characters of a name that a page shows
INGREDIENTS = {
    "graph-fusion": (
        "Self-tuning affinities: L. Zelnik-Manor, P. Perona. Self-tuning spectral clustering. "
        "Advances in Neural Information Processing Systems 17, 2004",
        "Diffusion maps: R. R. Coifman, S. Lafon. Diffusion maps. Applied and Computational "
        "Harmonic Analysis 21, 2006",
    )
}


def unrelated(model: Any) -> list[int]:
    """Return the positions of the unrelated views of a fitted model."""
    named = set(getattr(model, "unrelated_views_", ()))
    return [p for p, name in enumerate(model.view_names_in_) if name in named]


def ranking(model: Any) -> np.ndarray:
    """Order the views by descending agreement, else by weight, else as given."""
    m = len(model.view_names_in_)
    if m > 1 and hasattr(model, "agreement_"):
        score = mean_agreement(model.agreement_)
    else:
        score = np.asarray(getattr(model, "weights_", np.zeros(m)), dtype=float)
    return np.argsort(-score, kind="stable")


def summary(model: Any, n_views: int, kernels: bool) -> str:
    """Return the result in one sentence."""
    sizes = np.bincount(model.labels_)
    n, views = sizes.sum(), counted(n_views, "kernel" if kernels else "view")
    if len(sizes) == 1:
        return f"All {n} samples, described by {views}, are in one cluster by {model.title}."
    spread = f"{sizes.min()} to {sizes.max()}" if sizes.min() < sizes.max() else f"{sizes[0]}"
    return (
        f"{model.title} divided {n} samples, described by {views}, into "
        f"{counted(len(sizes), 'cluster')} of {spread} samples."
    )


def unrelated_words(names: Sequence[str]) -> str:
    """Return which views agree with no other.

    >>> unrelated_words(["noise1", "noise2"])
    'noise1 and noise2 agree with no other view beyond chance'
    """
    verb = "agrees" if len(names) == 1 else "agree"
    return f"{listed(names)} {verb} with no other view beyond chance"


def explain_low_weight(model: Any, names: Sequence[str]) -> str:
    """Return the clearest example of a view that agrees well and weighs little, if there is one."""
    trust = mean_agreement(model.agreement_)
    for p in ranking(model):
        shared = [names[q] for q in redundant_with(model.redundancy_, p)]
        if shared and trust[p] >= FAIR and model.weights_[p] < 1 / len(names):
            return (
                f"Here {names[p]} has agreement {number(trust[p], 2)} but weight "
                f"{number(model.weights_[p], 2)}, because it is redundant with {listed(shared)}."
            )
    return ""


def redundant_with(redundancy: np.ndarray, p: int) -> list[int]:
    """Return the views whose redundancy with view p is above one half, largest first.

    >>> redundant_with(np.array([[1.0, 0.6, 0.9], [0.6, 1.0, 0.2], [0.9, 0.2, 1.0]]), 0)
    [2, 1]
    """
    order = np.argsort(-redundancy[p], kind="stable")
    return [int(q) for q in order if q != p and redundancy[p, q] > REDUNDANT]


def stability_word(jaccard: float) -> str:
    """Return one word for the mean Jaccard index of a cluster, after C. Hennig (2007).

    >>> stability_word(0.9), stability_word(0.65), stability_word(0.3)
    ('stable', 'uncertain', 'dissolved')
    """
    return "stable" if jaccard >= STABLE else "uncertain" if jaccard >= DISSOLVED else "dissolved"


def model_warnings(model: Any, given: Sequence[str]) -> list[str]:
    """Return the warnings of a fit, those that were given first, each once."""
    own = list(getattr(model, "notes_", ()))
    if not getattr(model, "converged_", True):
        own.append(f"{model.title} stopped after {model.n_iter_} iterations without converging.")
    found = len(np.bincount(model.labels_))
    if found < model.n_clusters:
        verb = "was" if found == 1 else "were"
        own.append(f"{counted(found, 'cluster')} {verb} found, {model.n_clusters} were asked for.")
    shown = list(dict.fromkeys(given))
    return [*shown, *(note for note in own if not any(note in each for each in shown))]


def convergence(model: Any) -> str:
    """Return how the iterations of a compared method ended."""
    times = counted(int(getattr(model, "n_iter_", 1)), "iteration")
    if not hasattr(model, "converged_"):
        return f"{model.title} makes a fixed number of iterations: {times}."
    ended = "converged" if model.converged_ else "did not converge"
    what = "objective" if hasattr(model, "objective_history_") else "method"
    return f"The {what} {ended} after {times}. A global optimum is not guaranteed."


def citations(model: Any) -> list[str]:
    """Return what to cite for the labels: the method that produced them, and its ingredients."""
    own = f"{model.title}: {model.reference}"
    if model.name in INGREDIENTS:
        own = f"{model.title}: mkclust {__version__}, method “{model.name}”"
    return [f"{line}." for line in (own, *INGREDIENTS.get(model.name, ()))]


def description(model: Any) -> list[str]:
    """Return what a method did, one sentence each; the verdict is elsewhere."""
    return [sentence(line, model.view_names_in_) for line in model.describe_method()]


def number(value: float, digits: int = 2) -> str:
    """Return a rounded number, without a negative zero; a dash for NaN.

    >>> number(-0.001, 2), number(0.9952, 2), number(float("nan"), 2)
    ('0.00', '1.00', '–')
    """
    return "–" if np.isnan(value) else f"{round(float(value), digits) + 0.0:.{digits}f}"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "view"), counted(2, "view")
    ('1 view', '2 views')
    """
    return f"{count} {noun}" + ("" if count == 1 else "s")


def sentence(line: object, names: Sequence[str] = ()) -> str:
    """Return a line with a full stop and a capital first letter, unless a name comes first.

    >>> sentence("every cluster is stable"), sentence("fac: not scaled", ["fac"])
    ('Every cluster is stable.', 'fac: not scaled.')
    """
    text = str(line)
    named = any(re.match(rf"{re.escape(name)}(?!\w)", text) for name in names)
    return (text if named else text[:1].upper() + text[1:]) + ("" if text.endswith(".") else ".")


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return names in a row: a, b and c."""
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def shortened(name: object) -> str:
    """Cut a name to the length that a page shows.

    >>> len(shortened("x" * 1000))
    120
    """
    text = str(name)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
