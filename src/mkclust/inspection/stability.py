"""How far an answer depends on which samples were there: halves of the data, clustered apart."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.linalg
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ..agreement.cache import opened_fit, sharing
from ..chunked.run import FeatureSpectra
from ..dual_noise.consensus import coefficients
from ..dual_noise.selection import select
from ..exceptions import InputError, MkclustWarning
from ..graph_fusion.diffusion_map import POWER
from ..linalg.kmeans import unit_rows
from ..linalg.spectrum import RANK_TOLERANCE, Spectra
from ..metrics import ari
from ..progress import step

SPLITS = 10  # into halves; each gives two answers
STARTS = 3  # of k-means in each half
FLIPS = 0.5  # of the halves' answers: a sample kept in its cluster by fewer is said to flip


class Flip(NamedTuple):
    """A sample that halves put elsewhere more often than into its cluster."""

    sample: Any
    cluster: int
    rival: int
    kept: float


@dataclass(frozen=True)
class Stability:
    """What halves of the samples, clustered apart, say about every sample and cluster.

    `agreement` is the mean ARI between the answers of two disjoint halves, each carried on to all
    samples, and `splits` (B,) has it split by split. `samples` (n,) is the share of the 2B
    answers that keep a sample in its cluster, `rivals` (n,) the cluster it is put into most often
    otherwise. `clusters` (k,) is the mean Jaccard index of a cluster and its nearest in an
    answer. `labels` (n,) are the clusters meant, `index` (n,) the samples' names.
    """

    title: ClassVar[str] = "Stability"

    agreement: float
    splits: np.ndarray
    samples: np.ndarray
    clusters: np.ndarray
    rivals: np.ndarray
    labels: np.ndarray
    index: np.ndarray

    @property
    def flips(self) -> list[Flip]:
        """Samples kept in their cluster by fewer than half of the answers, the worst first."""
        rows = np.flatnonzero(self.samples < FLIPS)
        rows = rows[np.argsort(self.samples[rows], kind="stable")]
        columns = (self.index, self.labels, self.rivals, self.samples)
        return [Flip(*(column[i].item() for column in columns)) for i in rows]

    def __str__(self) -> str:
        worst = int(np.argmin(self.clusters))
        return (
            f"halves of the samples, clustered apart, agree to {self.agreement:.2f} (ARI, mean of "
            f"{len(self.splits)} splits); the least stable cluster is {worst} "
            f"({self.clusters[worst]:.2f}); {len(self.flips)} of {len(self.samples)} samples flip"
        )


def stability(
    views: Any,
    n_clusters: int,
    *,
    n_splits: int = SPLITS,
    random_state: int = 0,
    recipe: str = "auto",
    **settings: Any,
) -> Stability:
    """Cluster views and halves of them: which samples and clusters would stay.

    `recipe` is as for `cluster`, `settings` are those of MKCDNM; ``model.stability(views)`` asks
    the same of a fitted model. Every view must have every sample.

    >>> from mkclust import datasets, stability
    >>> views = datasets.make_views(90, n_clusters=3, n_views=2, noise=0.5, random_state=0)
    >>> found = stability(views, 3, n_splits=2)
    >>> found.agreement, found.flips
    (1.0, [])
    """
    from ..dual_noise.estimator import MKCDNM, with_recipe

    model = MKCDNM(n_clusters, random_state=random_state, **with_recipe(recipe, settings))
    with sharing():
        model.fit(views)
        return stability_of(model, views, n_splits=n_splits, random_state=random_state)


def stability_of(
    model: Any, views: Any, *, n_splits: int = SPLITS, random_state: int = 0
) -> Stability:
    """The stability of a fitted model's labels; `views` are what it was fitted to.

    Of more samples than kernels can be made of, 5000 are drawn and looked at.
    """
    found = opened_fit(model, views, random_state)
    k = int(model.n_clusters)
    with quiet():
        select(found.spectra, model._goal(k, len(found.views)))  # has it as many directions as fit
    halves = Halves(found.spectra, n_splits, random_state)
    weights = getattr(model, "weights_", None)
    answers = [answer for pair in halves.answers(model, k, weights) for answer in pair]
    return compared(np.asarray(model.labels_)[found.rows], answers, found.index)


class Halves:
    r"""Splits of the samples into halves, and the answer of each half carried on to all samples.

    A half's kernel is taken in the leading directions of the whole: with $Z_p = V_p\Lambda_p^{1/2}$
    its eigenvectors are those of $Z_p[R]^TZ_p[R]$, centred anew, a problem of D_p dimensions
    instead of n/2; the search for its dimensions is its own. The samples of the other half follow
    by projection, and take the label of the nearest centre. O(n (sum D)^2) and a k-means each.
    Of neighbour graphs the fused one is taken, without the graph over all views at once.
    """

    def __init__(self, spectra: Spectra, n_splits: int, random_state: int) -> None:
        if not isinstance(n_splits, Integral) or n_splits < 1:
            raise InputError(f"n_splits must be a whole number from 1 on, got {n_splits!r}")
        if not isinstance(random_state, Integral) or random_state < 0:
            raise InputError(
                f"random_state must be a whole number from 0 on here, as the splits rest on it, "
                f"got {random_state!r}"
            )
        self.names: tuple[str, ...] = spectra.names
        self.seed: int = random_state
        # A graph's kernel is I + S once centred and normalised: here S itself is meant.
        shift = 1.0 if getattr(spectra.kernels, "pooled", False) else 0.0
        lengths = [np.sqrt(np.maximum(spectrum.values - shift, 0.0)) for spectrum in spectra]
        Z = [spectrum.vectors * root for spectrum, root in zip(spectra, lengths, strict=True)]
        self.starts: np.ndarray = np.concatenate([[0], np.cumsum([part.shape[1] for part in Z])])
        self.features: np.ndarray = np.hstack(Z)
        n = len(self.features)
        draws = [np.random.default_rng([random_state, b]).permutation(n) for b in range(n_splits)]
        self.splits: list[tuple[np.ndarray, np.ndarray]] = [
            (np.sort(draw[: n // 2]), np.sort(draw[n // 2 :])) for draw in draws
        ]

    def answers(
        self, model: Any, k: int, weights: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Labels (n,) of all samples by either half of every split.

        `weights` (m,) are those of the views in a fused graph, None where kernels are none.
        """
        for number, (one, two) in enumerate(self.splits, start=1):
            step(f"{k} clusters in halves of the samples, split {number} of {len(self.splits)}")
            both = ((self._embedded(model, k, rows, weights), rows) for rows in (one, two))
            first, second = (self._labelled(H, k, rows) for H, rows in both)
            yield first, second

    def _embedded(
        self, model: Any, k: int, rows: np.ndarray, weights: np.ndarray | None
    ) -> np.ndarray:
        Z = self.features - self.features[rows].mean(axis=0)
        if weights is not None:
            Z *= np.repeat(np.sqrt(weights), np.diff(self.starts))
            return _rolled_off(Z, rows, 2 * k)
        own = Z[rows]
        spectra = FeatureSpectra(own.T @ own, self.starts, self.names, len(rows), RANK_TOLERANCE)
        goal = replace(model._goal(k, len(rows)), relax=True)
        with quiet(), threadpool_limits(1):
            found = select(spectra, goal)
            result = coefficients(found.d, k, found.overlap)
        return Z @ spectra.weights(found.d, result.W)

    def _labelled(self, H: np.ndarray, k: int, rows: np.ndarray) -> np.ndarray:
        H = unit_rows(H)
        clusters = min(k, len(np.unique(H[rows], axis=0)))
        with quiet(), threadpool_limits(1):
            means = KMeans(clusters, n_init=STARTS, random_state=self.seed).fit(H[rows])
            return np.asarray(means.predict(H))


def _rolled_off(Z: np.ndarray, rows: np.ndarray, size: int) -> np.ndarray:
    r"""The embedding of $S = ZZ^T$ on some rows, carried on to all: (n, `size` + 1)."""
    share = len(rows) / len(Z)
    own = Z[rows]
    values, Q = scipy.linalg.eigh(own.T @ own / share)
    values, Q = values[::-1][:size], Q[:, ::-1][:, :size]
    kept = values > RANK_TOLERANCE * max(values[0], np.finfo(float).tiny)
    H = Z @ (Q[:, kept] / np.sqrt(share * values[kept])) * np.minimum(values[kept], 1.0) ** POWER
    return np.hstack([np.full((len(Z), 1), len(rows) ** -0.5), H])


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings that the fit itself has given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MkclustWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def compared(labels: np.ndarray, answers: Sequence[np.ndarray], index: np.ndarray) -> Stability:
    """Answers, two for each split, against the labels meant, clusters matched one to one."""
    k = int(max(labels.max(), max(answer.max() for answer in answers))) + 1
    votes = np.zeros((len(labels), k))
    jaccard = []
    for answer in answers:
        table = np.zeros((k, k))
        np.add.at(table, (labels, answer), 1)
        own, other = linear_sum_assignment(table, maximize=True)
        name = np.empty(k, dtype=int)
        name[other] = own
        votes[np.arange(len(labels)), name[answer]] += 1
        shared = table[own, other]
        union = table.sum(axis=1)[own] + table.sum(axis=0)[other] - shared
        jaccard.append(np.divide(shared, union, out=np.zeros(k), where=union > 0))
    kept = votes[np.arange(len(labels)), labels] / len(answers)
    votes[np.arange(len(labels)), labels] = -1
    pairs = zip(answers[::2], answers[1::2], strict=True)
    splits = np.array([ari(one, two) for one, two in pairs])
    return Stability(
        agreement=float(splits.mean()),
        splits=splits,
        samples=kept,
        clusters=np.mean(jaccard, axis=0)[: labels.max() + 1],
        rivals=np.where(kept < 1, votes.argmax(axis=1), labels),
        labels=labels,
        index=index,
    )
