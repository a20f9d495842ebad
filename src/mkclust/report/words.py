"""A fitted model in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..agreement.chance import ranking, unrelated
from ..inspection.influence import change
from ..metrics import accuracy
from .subject import Subject

FUSED = (
    "In every view each sample is linked to its neighbours, in several senses of near. Views that "
    "the others confirm count more, views with the same neighbours share a vote, and the clusters "
    "are those of the weighted graph."
)
STRONG, FAIR = 0.5, 0.25  # mean agreement that good views of one thing show, and half of it


def summary(subject: Subject) -> str:
    """The whole report in one sentence."""
    n, m, sizes = len(subject.labels), len(subject.views), np.bincount(subject.labels)
    spread = f"{sizes.min()} to {sizes.max()}" if sizes.min() < sizes.max() else f"{sizes[0]}"
    what = "kernel" if subject.kernels else "view"
    parts = [
        f"{subject.model.title} sorted {n} samples, described by {counted(m, what)}, into "
        f"{counted(subject.k, 'cluster')} of {spread} samples",
        *_trust(subject),
    ]
    if subject.classes is not None:
        share = 100 * accuracy(subject.classes, subject.labels)
        parts.append(f"{share:.1f} % of the samples are in the cluster matched to their class")
    return "; ".join(parts) + "."


def alarm(subject: Subject) -> str:
    """The sentence before all others, where views are noise: which; empty where none are."""
    lone = [subject.views[p] for p in unrelated(subject.model)]
    return f"{unrelated_words(lone)}." if 0 < len(lone) < len(subject.views) else ""


def _trust(subject: Subject) -> Iterator[str]:
    order, lone = ranking(subject.model), unrelated(subject.model)
    related = [subject.views[p] for p in order if p not in lone]
    if not hasattr(subject.model, "agreement_") or len(order) < 2:
        return
    if not related:
        yield "no two views agree beyond chance, so do not trust these clusters"
        return
    if len(related) > 2:
        yield f"{related[0]} agrees most with the other views, {related[-1]} least"
    if not lone:
        yield "every view agrees with another beyond chance"


def unrelated_words(names: list[str]) -> str:
    """Which views stand alone.

    >>> unrelated_words(["noise1", "noise2"])
    'noise1 and noise2 agree with no other view beyond chance'
    """
    verb = "agrees" if len(names) == 1 else "agree"
    return f"{listed(names)} {verb} with no other view beyond chance"


def advice(subject: Subject, names: list[str]) -> str:
    """What to do about views that stand alone, with what leaving them out changes if known."""
    found = subject.influence
    if found is not None and found.without_unrelated is not None:
        left = found.without_unrelated
        return (
            f"{listed(names)}: leave out and compare. Without, {left.cost()}the answer is "
            f"{change(left.ari)} (ARI {left.ari:.2f} to this one)."
        )
    cost = "" if hasattr(subject.model, "fusion_") else " and drives up the dimensions kept of all"
    return (
        f"{unrelated_words(names)}. A view unrelated to the others adds noise{cost}: leave it out "
        "and compare."
    )


def steadiness(jaccard: float) -> str:
    """One word for a cluster's mean Jaccard index, after C. Hennig (2007).

    >>> steadiness(0.9), steadiness(0.65), steadiness(0.3)
    ('stable', 'uncertain', 'dissolved')
    """
    return "stable" if jaccard >= 0.75 else "uncertain" if jaccard >= 0.5 else "dissolved"


def verdict(agreement: float, alone: bool) -> str:
    """One word for a view's mean agreement with the others."""
    if alone:
        return "unrelated"
    if np.isnan(agreement):
        return "–"
    shown = round(agreement, 2)
    return "strong" if shown >= STRONG else "fair" if shown >= FAIR else "weak"


def warnings(subject: Subject) -> list[str]:
    """What the fit warned of; read off the fitted model where the warnings were not kept."""
    kept = dict.fromkeys([*subject.notes, *getattr(subject.model, "notes_", ())])
    return list(kept) or list(_from_model(subject))


def _from_model(subject: Subject) -> Iterator[str]:
    model = subject.model
    if hasattr(model, "threshold_") and not hasattr(model, "fusion_"):
        asked = {"k": model.n_clusters, "k-1": model.n_clusters - 1}.get(
            str(model.threshold), model.threshold
        )
        if model.threshold_ < float(asked):
            yield (
                f"The overlap of {float(asked):g} asked of every pair of views could not be "
                f"reached; pairs that agree beyond chance were held to {model.threshold_:.3g}, "
                "the others to nothing."
            )
    if not getattr(model, "converged_", True):
        yield f"{model.title} stopped at its cap of {model.n_iter_} iterations before it settled."
    if subject.k < model.n_clusters:
        yield f"Only {subject.k} clusters were found where {model.n_clusters} were asked for."
    singular = getattr(model, "singular_values_", None)
    if singular is not None and np.count_nonzero(singular) < model.n_clusters - 1:
        yield (
            f"The views span only {np.count_nonzero(singular)} common directions for "
            f"{model.n_clusters} clusters."
        )


def proof(subject: Subject) -> list[str]:
    """The certificate, or how the objective settled."""
    model = subject.model
    if hasattr(model, "certificate_"):
        found = model.certificate_
        text = str(found)
        fused = (
            ["The clusters rest on the fused graph. What follows describes the views' own graphs."]
            if hasattr(model, "fusion_")
            else []
        )
        lines = [
            *fused,
            "MKC-DNM keeps as few directions of the views as it can while every pair of views "
            f"still overlaps: {found.objective} in all, over "
            f"{counted(len(subject.views), 'view')}.",
            text[0].upper() + text[1:] + ".",
        ]
        if not found.whole_spectrum:
            lines.append(
                f"Choices that use a view's directions beyond the first {found.directions} are not "
                "covered by this proof."
            )
        if not found.optimal and model.solver != "exact":
            lines.append('solver="exact" searches for the optimum itself and proves it.')
        return lines
    settled = "settled" if getattr(model, "converged_", True) else "did not settle"
    times = counted(int(getattr(model, "n_iter_", 1)), "iteration")
    what = "objective" if hasattr(model, "objective_history_") else "search"
    return [f"The {what} {settled} after {times}. This method gives no proof of optimality."]


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "view"), counted(2, "view")
    ('1 view', '2 views')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")


def listed(names: list[str]) -> str:
    """Names in a row: a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
