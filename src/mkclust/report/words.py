"""Sentences about a fitted model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._version import __version__
from ..agreement.chance import mean_agreement, ranking, unrelated
from ..agreement.weights import REDUNDANT, discounted_agreement
from ..inspection.view_influence import describe_ari
from ..metrics import accuracy
from .subject import Subject

METRICS = {"acc": "ACC", "nmi": "NMI (max)", "purity": "purity", "ari": "ARI"}
STRONG, FAIR = 0.5, 0.25  # mean agreement that is called strong, and fair
STABLE, DISSOLVED = 0.75, 0.5  # limits of the Jaccard index by Hennig (2007)
SHARED_WEIGHT = (
    "Weights are not quality scores: redundant views share their weight, so several good but "
    "similar views may each weigh less than one weaker, distinctive view."
)
INGREDIENTS = {
    "graph-fusion": (
        "Self-tuning affinities: L. Zelnik-Manor, P. Perona. Self-tuning spectral clustering. "
        "Advances in Neural Information Processing Systems 17, 2004",
        "Diffusion maps: R. R. Coifman, S. Lafon. Diffusion maps. Applied and Computational "
        "Harmonic Analysis 21, 2006",
    )
}


def summary(subject: Subject) -> str:
    """Return the result in one sentence."""
    n, m, sizes = len(subject.labels), len(subject.views), np.bincount(subject.labels)
    spread = f"{sizes.min()} to {sizes.max()}" if sizes.min() < sizes.max() else f"{sizes[0]}"
    what = "kernel" if subject.kernels else "view"
    return (
        f"{subject.model.title} divided {n} samples, described by {counted(m, what)}, into "
        f"{counted(subject.k, 'cluster')} of {spread} samples."
    )


def findings(subject: Subject) -> list[str]:
    """Return what else the first screen says: which views agree, and the known classes."""
    lines = list(_agreement(subject))
    if subject.explanation is not None:
        lines.append(sentence(str(subject.explanation)))
    if subject.classes is not None:
        share = 100 * accuracy(subject.classes, subject.labels)
        lines.append(f"{share:.1f} % of the samples are in the cluster matched to their class.")
    return lines


def alarm(subject: Subject) -> str:
    """Return which views are unrelated to the others; empty where none or all are."""
    names = subject.unrelated
    return f"{unrelated_words(names)}." if 0 < len(names) < len(subject.views) else ""


def _agreement(subject: Subject) -> Iterator[str]:
    order, alone = ranking(subject.model), unrelated(subject.model)
    related = [subject.views[p] for p in order if p not in alone]
    if not hasattr(subject.model, "agreement_") or len(order) < 2:
        return
    if not related:
        yield "No two views agree beyond chance: the clusters may be arbitrary."
        return
    if len(related) > 2:
        yield f"{related[0]} agrees most with the other views, {related[-1]} least."
    if not alone:
        yield "Every view agrees with at least one other beyond chance."


def unrelated_words(names: Sequence[str]) -> str:
    """Return which views agree with no other.

    >>> unrelated_words(["noise1", "noise2"])
    'noise1 and noise2 agree with no other view beyond chance'
    """
    verb = "agrees" if len(names) == 1 else "agree"
    return f"{listed(names)} {verb} with no other view beyond chance"


def advice(subject: Subject) -> str:
    """Return what to do about unrelated views, and what leaving them out changes if known."""
    names, found = subject.unrelated, subject.influence
    if found is not None and found.without_unrelated is not None:
        left = found.without_unrelated
        return (
            f"Without {listed(names)} the labels are {describe_ari(left.ari)} (ARI "
            f"{number(left.ari, 3)} to those on this page)."
        )
    return (
        f"Leave out {listed(names)} and compare: views that are unrelated to the others mostly add "
        "noise."
    )


def low_weights(subject: Subject) -> str:
    """Return why views can weigh little, with the clearest example among these views."""
    model = subject.model
    trust, m = mean_agreement(model.agreement_), len(subject.views)
    shown = discounted_agreement(model.agreement_, model.redundancy_)[0]
    for p in ranking(model):
        shared = [subject.views[q] for q in redundant_with(model.redundancy_, p)]
        if shared and trust[p] >= FAIR and model.weights_[p] < 1 / m:
            return (
                f"{SHARED_WEIGHT} Here {subject.views[p]} has agreement {number(shown[p], 2)} and "
                f"weight {number(model.weights_[p], 2)}, because it is redundant with "
                f"{listed(shared)}."
            )
    return SHARED_WEIGHT


def redundant_with(redundancy: np.ndarray, p: int) -> list[int]:
    """Return the views whose redundancy with view p is above one half, largest first.

    >>> redundant_with(np.array([[1.0, 0.6, 0.9], [0.6, 1.0, 0.2], [0.9, 0.2, 1.0]]), 0)
    [2, 1]
    """
    order = np.argsort(-redundancy[p], kind="stable")
    return [int(q) for q in order if q != p and redundancy[p, q] > REDUNDANT]


def steadiness(jaccard: float) -> str:
    """Return one word for the mean Jaccard index of a cluster, after C. Hennig (2007).

    >>> steadiness(0.9), steadiness(0.65), steadiness(0.3)
    ('stable', 'uncertain', 'dissolved')
    """
    return "stable" if jaccard >= STABLE else "uncertain" if jaccard >= DISSOLVED else "dissolved"


def level(agreement: float, alone: bool) -> str:
    """Return one word for the mean agreement of a view with the others."""
    if alone:
        return "unrelated"
    if np.isnan(agreement):
        return "–"
    shown = round(agreement, 2)
    return "strong" if shown >= STRONG else "fair" if shown >= FAIR else "weak"


def warnings(subject: Subject) -> list[str]:
    """Return the warnings of the fit, each once."""
    found = list(dict.fromkeys(subject.notes))
    own = [*getattr(subject.model, "notes_", ()), *_from_model(subject)]
    return [*found, *(note for note in own if not any(note in given for given in found))]


def _from_model(subject: Subject) -> Iterator[str]:
    model = subject.model
    if not getattr(model, "converged_", True):
        yield f"{model.title} stopped after {model.n_iter_} iterations without converging."
    if subject.k < model.n_clusters:
        yield f"{subject.k} clusters were found where {model.n_clusters} were asked for."


def certificate(subject: Subject) -> list[str]:
    """Return what is proven about the dimensions that MKC-DNM chose."""
    model, found = subject.model, subject.model.certificate_
    proven = str(found)
    lines = [
        "MKC-DNM keeps as few leading eigenvectors of the views as possible while every pair of "
        f"views still overlaps: {found.objective} in all, over "
        f"{counted(len(subject.views), 'view')}.",
        proven[0].upper() + proven[1:] + ".",
    ]
    if not found.whole_spectrum:
        lines.append(
            f"The proof covers the first {found.eigenvectors} eigenvectors of each view; choices "
            "that use more are not covered."
        )
    if not found.optimal and model.solver != "exact":
        lines.append('solver="exact" finds the optimum and proves it.')
    return lines


def convergence(subject: Subject) -> str:
    """Return how the iterations of a compared method ended."""
    model = subject.model
    times = counted(int(getattr(model, "n_iter_", 1)), "iteration")
    if not hasattr(model, "converged_"):
        return f"{model.title} makes a fixed number of iterations: {times}."
    ended = "converged" if model.converged_ else "did not converge"
    what = "objective" if hasattr(model, "objective_history_") else "method"
    return f"The {what} {ended} after {times}. A global optimum is not guaranteed."


def citations(subject: Subject) -> list[str]:
    """Return what to cite for the labels: the method that produced them, and its ingredients."""
    model = subject.model
    own = f"{model.title}: {model.reference}"
    if model.name in INGREDIENTS:
        own = f"{model.title}: mkclust {__version__}, method “{model.name}”"
    return [f"{line}." for line in (own, *INGREDIENTS.get(model.name, ()))]


def number(value: float, digits: int) -> str:
    """Return a rounded number, without a negative zero; a dash for NaN.

    >>> number(-0.001, 2), number(0.9952, 2), number(float("nan"), 2)
    ('0.00', '1.00', '–')
    """
    return "–" if np.isnan(value) else f"{round(float(value), digits) + 0.0:.{digits}f}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "view"), counted(2, "view")
    ('1 view', '2 views')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")


def description(model: Any) -> list[str]:
    """Return what a method did, one sentence each; nothing for methods without `describe`."""
    names = tuple(f"{name}:" for name in model.view_names_in_)
    lines = [line.removesuffix(".") for line in getattr(model, "describe", list)()]
    return [f"{line}." if line.startswith(names) else sentence(line) for line in lines]


def sentence(line: str) -> str:
    """Return a line with a capital first letter and a full stop.

    >>> sentence("every cluster is stable")
    'Every cluster is stable.'
    """
    return line[:1].upper() + line[1:] + ("" if line.endswith(".") else ".")


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return names in a row: a, b and c."""
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
