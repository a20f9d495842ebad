"""How many clusters: evidence for every candidate, one recommendation, and how narrow it is."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.metrics import mutual_info_score, silhouette_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

from ..agreement.cache import Opened, opened, sharing
from ..agreement.chance import chance_of_relation, lone_views
from ..agreement.overlap import Overlap
from ..dual_noise.noise import dual_noise
from ..dual_noise.selection import select
from ..exceptions import InputError
from ..graph_fusion.diffusion_map import POWER
from ..graph_fusion.fusion import partition
from ..linalg.kmeans import kmeans_labels, unit_rows
from ..metrics import ari
from ..progress import step
from .stability import STARTS, Halves, quiet

RANGE = (2, 12)
SPLITS = 5  # into halves, for every candidate
COMPARED = 2000  # rows whose distances the separation rests on
NARROW, CLEAR = 1.0, 3.0  # standard errors of the lead over the next best
SHAKY = 0.4  # ARI between halves below which no number of clusters is well supported


@dataclass(frozen=True)
class Candidate:
    """The evidence for one number of clusters, k.

    `stability` is the ARI between the answers of two halves of the samples, mean over splits;
    `information` what those answers share beyond chance, in bits. `separation` is the mean
    silhouette of the clusters in the consensus. `gap` is the drop of the consensus spectrum
    after its first k-1 directions: centred kernels have one cluster direction less than
    clusters; of a fused graph, after k. `noise` is the share of the kept directions that lies
    outside the consensus.
    """

    k: int
    stability: float
    information: float
    separation: float
    gap: float
    noise: float
    score: float


@dataclass(frozen=True)
class ChoiceOfK:
    """A recommended number of clusters, k, and the evidence for all candidates in `table`.

    `margin` is how far the next best, `second`, is behind, as a share of the best score: 0 is a
    tie. `certainty` is that lead in standard errors over the splits. `left_out` are views that
    agree with no other beyond chance: they know nothing of the number, and were not asked.
    """

    k: int
    second: int | None
    margin: float
    certainty: float
    table: tuple[Candidate, ...]
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.second is None:
            return f"{self.k} clusters, the only number tried"
        how = "narrowly " if self.certainty < NARROW or self.margin < 0.02 else ""
        how = "clearly " if self.certainty >= CLEAR and self.margin >= 0.1 else how
        text = f"{self.k} clusters, {how}before {self.second}"
        if self.k == self.table[-1].k:
            text += "; that is the most that was tried: try more"
        best = next(row for row in self.table if row.k == self.k)
        if best.stability < SHAKY:
            text += (
                f"; but halves of the samples agree little on them (ARI {best.stability:.2f}), so "
                "take this as a hint"
            )
        if self.left_out:
            text += f"; {' and '.join(self.left_out)} left out as unrelated to the other views"
        return text


def choose_k(
    views: Any,
    range: tuple[int, int] | Iterable[int] | str = "auto",
    *,
    n_splits: int = SPLITS,
    random_state: int = 0,
    recipe: str = "published",
    **settings: Any,
) -> ChoiceOfK:
    r"""The number of clusters that data support best, with the evidence for all that were tried.

    $$score(k) = I_k \sqrt{s_k} \, (1 + g_k)$$

    with $I_k$ the information that the answers of two halves of the samples share beyond chance,
    $s_k$ the mean silhouette in the consensus and $g_k$ the gap of the consensus spectrum after
    k-1 directions: as many clusters as halves agree upon, apart from each other, and complete.

    Parameters
    ----------
    views : as for MKCDNM, with every sample in every view
    range : pair, iterable of int or "auto"
        The smallest and the largest number to try, or the numbers themselves; ``"auto"`` is 2 to
        12, or to half the samples where those are fewer than 24.
    n_splits : int
        Splits into halves for every candidate.
    random_state : int
        Seed of the splits and of k-means.
    recipe : {"published", "auto"}
        As for `cluster`, but Gaussian kernels unless told otherwise: the rule above is right more
        often on them than on fused graphs (docs/how-many-clusters.md).
    **settings : those of MKCDNM

    Kernels and spectra are computed once for all candidates; each then costs one search for
    dimensions and 2 `n_splits` + 1 runs of k-means. Beyond 20 000 samples 5000 are drawn.

    Examples
    --------
    >>> from mkclust import choose_k, datasets
    >>> views = datasets.make_views(120, n_clusters=4, n_views=3, noise=0.5, random_state=0)
    >>> print(choose_k(views, (2, 6)))
    4 clusters, clearly before 5
    """
    from ..dual_noise.estimator import MKCDNM, with_recipe

    model = MKCDNM(2, random_state=random_state, **with_recipe(recipe, settings))
    return choose_for(model, views, range, n_splits=n_splits, random_state=random_state)


def choose_for(
    model: Any,
    views: Any,
    range: tuple[int, int] | Iterable[int] | str = "auto",
    *,
    n_splits: int = SPLITS,
    random_state: int = 0,
) -> ChoiceOfK:
    """The same with the settings of an estimator; of another method than MKC-DNM, its kernels."""
    from ..dual_noise.estimator import MKCDNM

    if not isinstance(model, MKCDNM):
        shared = set(MKCDNM(2).get_params()) & set(model.get_params(deep=False))
        given = {name: model.get_params(deep=False)[name] for name in shared}
        model = MKCDNM(**given)
    with sharing(), quiet():
        found = opened(model, views, random_state)
        ks = _checked_range(range, len(found.views))
        found, left_out = _without_noise(found, ks)
        # The largest first: it needs the most directions, and the others find them known.
        rows = [_evidence(model, found, k, n_splits, random_state) for k in reversed(ks)]
    return _choice(rows[::-1], left_out)


def choosing(model: Any) -> Any:
    """The estimator that the number of clusters is chosen by: on Gaussian kernels, not graphs."""
    if not getattr(model, "_is_auto", False):
        return model
    other = {"kernel": "gaussian", "kernel_params": None, "indefinite": "shift"}
    return type(model)(**model.get_params(deep=False) | other)


def asked_k(text: str) -> int | tuple[int, int] | str:
    """What -k asks for: a number, the two ends of a range, or "auto".

    >>> asked_k("7"), asked_k("2:12"), asked_k("auto")
    (7, (2, 12), 'auto')
    """
    if text == "auto":
        return text
    parts = text.split(":")
    if len(parts) <= 2 and all(part.isdigit() and int(part) > 0 for part in parts):
        numbers = [int(part) for part in parts]
        return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])
    raise InputError(f"-k takes a number from 1 on, 'auto', or a range such as 2:12, got {text!r}")


def _checked_range(asked: Any, n: int) -> list[int]:
    if isinstance(asked, str):
        if asked != "auto":
            raise InputError(f'range must be a pair, numbers or "auto", got {asked!r}')
        asked = (RANGE[0], max(RANGE[0], min(RANGE[1], n // 2)))
    ks = list(asked)
    if isinstance(asked, tuple) and len(ks) == 2 and all(isinstance(k, Integral) for k in ks):
        if ks[0] > ks[1]:
            raise InputError(f"the range of clusters {ks[0]} to {ks[1]} is empty")
        ks = list(builtins.range(ks[0], ks[1] + 1))
    if not ks or not all(isinstance(k, Integral) and int(k) >= 2 for k in ks):
        raise InputError(f"numbers of clusters to try must be whole and from 2 on, got {ks}")
    if max(ks) > n // 2:
        raise InputError(
            f"{max(ks)} clusters cannot be judged on halves of {n} samples: try up to {n // 2}"
        )
    return sorted({int(k) for k in ks})


def _without_noise(found: Opened, ks: list[int]) -> tuple[Opened, tuple[str, ...]]:
    """The views that agree with another beyond chance, for few clusters or for many."""
    found.spectra.grow(max(ks))
    names = found.spectra.names
    lone = set(names)
    for k in {ks[0], ks[len(ks) // 2], ks[-1]}:
        heads = [spectrum.vectors[:, : 2 * k] for spectrum in found.spectra]
        lone &= {names[p] for p in lone_views(chance_of_relation(heads, k))}
    rest = [p for p, name in enumerate(names) if name not in lone]
    if not lone or not rest:
        return found, ()
    return replace(found, spectra=found.spectra.chosen(rest)), tuple(
        name for name in names if name in lone
    )


def _evidence(
    model: Any, found: Opened, k: int, n_splits: int, random_state: int
) -> tuple[Candidate, np.ndarray]:
    """The evidence for k, and the score split by split."""
    step(f"evidence for {k} clusters")
    spectra = found.spectra.chosen(builtins.range(len(found.spectra)))
    selected = select(spectra, model._goal(k, len(found.views)))
    result = partition(spectra, selected, k)
    labels = kmeans_labels(result.embedding, k, n_init=STARTS, random_state=random_state)
    weights = None if result.fusion is None else result.fusion.chosen.weights
    pairs = list(Halves(spectra, n_splits, random_state).answers(model, k, weights))
    bits = np.array([shared_information(*pair) for pair in pairs])
    noise = dual_noise(result.H, spectra, selected.d).null.sum() / selected.d.sum()
    separation = _separation(result.embedding, labels, random_state)
    gap = (
        _gap(selected.overlap, selected.d, k)
        if result.fusion is None
        else _graph_gap(result.fusion.lengths, k)
    )
    scores = np.maximum(bits, 0) * np.sqrt(max(separation, 0.0)) * (1 + gap)
    row = Candidate(
        k=k,
        stability=float(np.mean([ari(*pair) for pair in pairs])),
        information=float(bits.mean()),
        separation=separation,
        gap=gap,
        noise=float(noise),
        score=float(scores.mean()),
    )
    return row, scores


def shared_information(one: np.ndarray, two: np.ndarray) -> float:
    """Mutual information of two labellings beyond what chance gives them, in bits.

    >>> print(f"{shared_information(np.array([0, 0, 1, 1] * 50), np.array([1, 1, 0, 0] * 50)):.2f}")
    1.00
    """
    table = contingency_matrix(one, two, sparse=True)
    beyond = mutual_info_score(one, two, contingency=table)
    beyond -= expected_mutual_information(table, len(one))
    return np.float64(beyond / np.log(2))


def _separation(H: np.ndarray, labels: np.ndarray, seed: int) -> float:
    """Mean silhouette of the clusters on the unit rows of H, on a sample of the rows."""
    rows = np.random.default_rng(seed).permutation(len(H))[:COMPARED]
    found = len(np.unique(labels[rows]))
    if not 1 < found < len(rows):
        return 0.0
    return float(silhouette_score(unit_rows(H[rows]), labels[rows]))


def _gap(overlap: Overlap, d: np.ndarray, k: int) -> float:
    r"""$(\sigma_{k-1}^2 - \sigma_k^2)/m$ of all kept directions side by side, from 0 to 1."""
    kept = overlap.columns(d)
    squares = scipy.linalg.eigvalsh(overlap.cross[np.ix_(kept, kept)])[::-1] / overlap.n_views
    squares = np.append(squares, [0.0, 0.0])
    return float(max(squares[k - 2] - squares[k - 1], 0.0))


def _graph_gap(lengths: np.ndarray, k: int) -> float:
    """Drop of the fused graph's spectrum after k directions, the constant one among them.

    >>> round(_graph_gap(np.array([1.0, 0.81, 0.25]), 2), 3)
    0.4
    """
    support = np.append(lengths, 0.0) ** (1 / POWER)
    return float(support[min(k, len(lengths)) - 1] - support[min(k, len(lengths))])


def _choice(rows: list[tuple[Candidate, np.ndarray]], left_out: tuple[str, ...] = ()) -> ChoiceOfK:
    table = tuple(row for row, _ in rows)
    order = np.argsort([-row.score for row in table], kind="stable")
    best = int(order[0])
    if len(order) == 1:
        return ChoiceOfK(table[best].k, None, 1.0, np.inf, table, left_out)
    second = int(order[1])
    lead = rows[best][1] - rows[second][1]
    error = lead.std(ddof=1) / np.sqrt(len(lead)) if len(lead) > 1 else np.inf
    top = table[best].score
    return ChoiceOfK(
        k=table[best].k,
        second=table[second].k,
        margin=1 - table[second].score / top if top > 0 else 0.0,
        certainty=float(lead.mean() / error) if error > 0 else (np.inf if lead.mean() > 0 else 0.0),
        table=table,
        left_out=left_out,
    )
