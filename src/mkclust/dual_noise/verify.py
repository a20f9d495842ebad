"""A fitted model checked against its data: what holds, how closely, and what hangs by a thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import eigsh

from ..agreement.cache import Opened, opened_fit
from ..agreement.overlap import Overlap, overlap
from ..agreement.weights import view_weights
from ..exceptions import InputError
from ..graph_fusion.diffusion_map import LEAST, POWER, RollOff
from ..graph_fusion.fusion import core, fused_graph, redundancy_of
from ..linalg.eigen import eigenpairs, eigenvalues
from ..linalg.kmeans import nearest_centers
from ..linalg.spectrum import RANK_TOLERANCE, Spectrum
from .constraints import Staircases, relaxed_staircases, shortfall, staircases
from .dimensions import choose_dimensions
from .noise import dual_noise

DIRECT_UP_TO = 3000  # samples up to which LAPACK takes the kernel whole; beyond that Lanczos
TIE = 1e-6  # relative; what is decided by less than this, another machine may decide otherwise


@dataclass(frozen=True)
class Check:
    """One claim of a fit: the `error` found, and the `limit` up to which the claim holds."""

    claim: str
    error: float
    limit: float

    @property
    def holds(self) -> bool:
        return bool(self.error <= self.limit)

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "FAILS"
        return f"{verdict}: {self.claim} (error {self.error:.1e}, limit {self.limit:.0e})"


@dataclass(frozen=True)
class Verification:
    """All claims checked, and in words what was decided by less than 1e-6."""

    checks: tuple[Check, ...]
    near_ties: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return all(check.holds for check in self.checks)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.checks), *(f"near tie: {tie}" for tie in self.near_ties)])


def verify_fit(model: Any, views: Any) -> Verification:
    r"""Every claim of a fitted MKC-DNM, from eigenvectors another solver computed.

    Kernels are built anew and decomposed by LAPACK (n^3; beyond 3000 samples by Lanczos), not
    by the solver of the fit. Checked are: $H^{*T}H^* = I$; every constraint; that no partition
    captures more of $\sum_p\|H^TU_p\|_F^2$ than H*; dimensions, bound and noise; the labels.
    """
    if model.approximation_ is not None:
        raise InputError("kernels were approximated: there are no exact eigenvectors to verify by")
    data = opened_fit(model, views)
    if len(data.rows) < len(model.labels_):
        raise InputError(f"{len(model.labels_)} samples are too many for exact kernels")
    proof = model.certificate_
    size = max(int(model.dimensions_.max()) + 1, proof.directions)
    spectra = [_decomposed(data.spectra.kernel(p), size) for p in range(len(data.spectra))]
    heads = [spectrum.head(proof.directions) for spectrum in spectra]
    found = overlap(heads)
    stairs = _constraints(model, found)
    H, checks, ties = (
        _of_fusion(model, data, found)
        if hasattr(model, "fusion_")
        else _of_directions(model, spectra)
    )
    checks += [
        Check("every constraint is met", _violation(stairs, model.dimensions_), 0.0),
        Check("the dimensions are those the solver finds", _moved(model, stairs, found), 0.0),
        Check("the bound is below the sum of dimensions", _bound_error(model), 0.0),
        Check("the noise is as reported", _noise_error(model, H, spectra), 1e-6),
        Check("every label is that of the nearest centre", _label_error(model), 0.0),
    ]
    ties = [*_cut_ties(model, spectra), *_constraint_ties(model, found, stairs), *ties]
    return Verification(tuple(checks), tuple(ties))


def _of_directions(
    model: Any, spectra: Sequence[Spectrum]
) -> tuple[np.ndarray, list[Check], list[str]]:
    """H*, what is claimed of it, and its ties, where it is that of the kept directions."""
    kept = [s.vectors[:, :d] for s, d in zip(spectra, model.dimensions_, strict=True)]
    sigma = scipy.linalg.svdvals(np.hstack(kept))
    checks = [
        Check("H* has orthonormal columns", _gram_error(model.embedding_), 1e-8),
        Check("no partition is closer to the kept subspaces", _loss(model, kept, sigma), 1e-8),
    ]
    return model.embedding_, checks, list(_consensus_ties(sigma, int(model.n_clusters)))


def _of_fusion(
    model: Any, data: Opened, found: Overlap
) -> tuple[np.ndarray, list[Check], list[str]]:
    """The same where it is that of the fused graph: eigenvectors of largest eigenvalues."""
    how, bank = model.fusion_, data.spectra.kernels
    positions, lengths = range(len(how.names)), how.lengths
    graph = fused_graph(bank, positions, how.chosen.weights)[0]
    H = model.embedding_ / lengths
    values = leading_of_dense(graph, len(lengths) + 1)
    residual = np.abs(graph @ H - H * values[:-1]).max()
    again = view_weights(found, len(lengths) - 1, redundancy_of(bank, positions)).weights
    support = np.maximum(values[:-1] / values[0], LEAST)
    checks = [
        Check("H has orthonormal columns", _gram_error(H), 1e-8),
        Check("its columns are the leading eigenvectors of the fused graph", residual, 1e-6),
        Check("their lengths are their support", np.abs(support**POWER - lengths).max(), 1e-6),
        Check("the weights of the views follow from overlap", np.abs(again - model.weights_).max(),
              1e-5),
    ]  # fmt: skip
    gap = values[-2] - values[-1]
    ties = (
        [f"eigenvalues {len(lengths)} and {len(lengths) + 1} of the fused graph are equal"]
        if gap < TIE * values[0] and lengths[-1] > TIE
        else []
    )
    return core(RollOff(H, lengths), int(model.n_clusters))[0], checks, ties


def leading_of_dense(graph: Any, size: int) -> np.ndarray:
    """Largest eigenvalues (size,), descending: by LAPACK where n allows, else by Lanczos."""
    n = graph.shape[0]
    if n <= DIRECT_UP_TO or size >= n - 1:
        low = max(0, n - size)
        values = eigenvalues(graph.toarray(), low, n - 1)
    else:
        start = np.random.default_rng(1).standard_normal(n)
        values = eigsh(graph, k=size, which="LA", v0=start, tol=1e-12, return_eigenvectors=False)
    return np.pad(np.sort(values)[::-1], (0, max(0, size - n)))


def _decomposed(K: np.ndarray, size: int) -> Spectrum:
    n = len(K)
    if n <= DIRECT_UP_TO or size >= n - 1:
        values, vectors = eigenpairs(K, max(0, n - size), n - 1)
    else:
        start = np.random.default_rng(1).standard_normal(n)
        values, vectors = eigsh(K, k=size, which="LA", v0=start, tol=1e-12)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    above = int(np.count_nonzero(values > RANK_TOLERANCE * values[0]))
    return Spectrum(vectors[:, :above], values[:above], complete=above < size or size >= n)


def _constraints(model: Any, found: Overlap) -> Staircases:
    k = int(model.n_clusters)
    asked = {"k": k, "k-1": k - 1}.get(str(model.threshold), model.threshold)
    make = relaxed_staircases if shortfall(found, asked) else staircases
    return make(found, k, float(asked))


def _gram_error(H: np.ndarray) -> float:
    used = H[:, np.any(H != 0, axis=0)]
    return float(np.abs(used.T @ used - np.eye(used.shape[1])).max())


def _violation(stairs: Staircases, d: np.ndarray) -> float:
    """By how many directions the worst view falls short of what the others need of it."""
    return float(np.maximum(stairs.least(d) - d, 0).max())


def _loss(model: Any, kept: Sequence[np.ndarray], sigma: np.ndarray) -> float:
    """Share of the best possible overlap with the kept subspaces that H* misses."""
    best = float(np.sum(sigma[: int(model.n_clusters)] ** 2))
    reached = sum(float(np.sum((model.embedding_.T @ U) ** 2)) for U in kept)
    return max(0.0, best - reached) / best


def _moved(model: Any, stairs: Staircases, found: Overlap) -> float:
    k = int(model.n_clusters)
    preference = found.reproduced(k) if model.solver == "exact" else None
    again = choose_dimensions(stairs, k, model.solver, preference=preference)
    return float(np.abs(again.d - model.dimensions_).max())


def _bound_error(model: Any) -> float:
    proof = model.certificate_
    stored = (model.objective_, model.lower_bound_) == (proof.objective, proof.lower_bound)
    summed = proof.objective == model.dimensions_.sum()
    return float(max(proof.lower_bound - proof.objective, 0) + (not stored) + (not summed))


def _noise_error(model: Any, H: np.ndarray, spectra: Sequence[Spectrum]) -> float:
    again = dual_noise(H, spectra, model.dimensions_)
    parts = ("null", "column", "cross")
    return float(
        max(np.abs(getattr(again, p) - getattr(model.noise_, p)).max() for p in parts)
        / model.dimensions_.max()
    )


def _label_error(model: Any) -> float:
    """Share of samples with another label than their nearest centre's."""
    again = nearest_centers(model.embedding_, model.cluster_centers_)
    return float(np.mean(again != model.labels_))


def _cut_ties(model: Any, spectra: Sequence[Spectrum]) -> Iterator[str]:
    for name, spectrum, d in zip(model.view_names_in_, spectra, model.dimensions_, strict=True):
        if d < spectrum.size:
            gap = (spectrum.values[d - 1] - spectrum.values[d]) / spectrum.values[0]
            if gap < TIE:
                yield (
                    f"eigenvalues {d} and {d + 1} of {name} differ by {gap:.0e} of the largest: "
                    "which direction is kept is arbitrary"
                )


def _constraint_ties(model: Any, found: Overlap, stairs: Staircases) -> Iterator[str]:
    if stairs.relaxed:
        return
    reached, names = found.at(model.dimensions_), model.view_names_in_
    for p, q in found.pairs():
        for less in ((0, 0), (1, 0), (0, 1)):
            d = model.dimensions_[[p, q]] - less
            value = reached[p, q] if less == (0, 0) else found.table(p, q)[tuple(d)]
            slack = abs(value - stairs.threshold) / max(stairs.threshold, 1.0)
            if slack < TIE:
                yield (
                    f"{names[p]} and {names[q]} meet the threshold at {d[0]} and {d[1]} "
                    f"directions within {slack:.0e}"
                )


def _consensus_ties(sigma: np.ndarray, k: int) -> Iterator[str]:
    if k < len(sigma) and (sigma[k - 1] - sigma[k]) / sigma[0] < TIE:
        yield f"singular values {k} and {k + 1} of the kept directions are equal: H* is not unique"
