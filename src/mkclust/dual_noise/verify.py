"""Check a fitted MKC-DNM against its data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from ..agreement.overlap import Overlap, overlap
from ..agreement.subspaces import KernelSubspaces
from ..data.input import fitted_views
from ..exceptions import InputError
from ..kernels.bank import KernelBank
from ..linalg.checks import TIE, Check, Verification
from ..linalg.eigen import eigenpairs, lanczos
from ..linalg.kmeans import nearest_centers
from ..linalg.spectrum import RANK_TOLERANCE, Spectrum
from .constraints import Constraints, overlap_constraints, relaxed_constraints, shortfall
from .dimensions import choose_dimensions
from .incomplete import completed_partition
from .noise import dual_noise

LEAST_SQUARES = 1e-4  # share of H* that may differ: its rounds end at a change of 1e-6
DIRECT_UP_TO = 3000  # samples up to which LAPACK decomposes the whole kernel; Lanczos beyond


def verify_fit(model: Any, views: Any) -> Verification:
    r"""Check a fitted model against eigenvectors that were computed by another solver.

    Kernels are built again and decomposed by LAPACK (n^3), or by Lanczos beyond 3000 samples.
    The checks are: $H^{*T}H^* = I$; every constraint; that no partition captures more of
    $\sum_p\|H^TU_p\|_F^2$ than H*; dimensions, bound and noise; the labels. Where views lack
    samples, H* is compared with the answer of the same least squares problem.
    """
    model, data = model._distinct_only(fitted_views(model, views))
    if model.n_samples_fit_ < len(data):
        raise InputError("a drawn sample was fitted: verify a fit to all samples of fewer")
    kernels = KernelBank(data, model._recipe(data))
    if data.present is not None:
        return _verify_incomplete(model, kernels)
    proof = model.certificate_
    size = max(int(model.dimensions_.max()) + 1, proof.eigenvectors)
    spectra = [_decomposed(kernel, size) for kernel in kernels]
    found = overlap([spectrum.head(proof.eigenvectors) for spectrum in spectra])
    constraints = _constraints(model, found)
    kept = [s.vectors[:, :d] for s, d in zip(spectra, model.dimensions_, strict=True)]
    sigma = scipy.linalg.svdvals(np.hstack(kept))
    checks = (
        Check("H* has orthonormal columns", _gram_error(model.embedding_), 1e-8),
        Check("no partition is closer to the kept subspaces", _loss(model, kept, sigma), 1e-8),
        Check("every constraint is met", _violation(constraints, model.dimensions_), 0.0),
        Check("the dimensions are those the solver finds", _moved(model, constraints, found), 0.0),
        Check("the bound is below the sum of dimensions", _bound_error(model), 0.0),
        Check("the noise is as reported", _noise_error(model, kept), 1e-6),
        Check("every label is that of the nearest center", _label_error(model), 0.0),
    )
    ties = (
        *_cut_ties(model, spectra),
        *_constraint_ties(model, found, constraints),
        *_consensus_ties(sigma, int(model.n_clusters)),
    )
    return Verification(checks, ties)


class _DirectSubspaces(KernelSubspaces):
    """Eigenvectors by LAPACK or Lanczos, instead of the Krylov spaces of the fit."""

    def find(self, p: int, size: int) -> None:
        self._states[p].found = _decomposed(self.kernels[p], size)


def _verify_incomplete(model: Any, kernels: KernelBank) -> Verification:
    """Check a fit to views that lack samples: H* is then the answer of a least squares problem."""
    k = int(model.n_clusters)
    subspaces = _DirectSubspaces(kernels, kernels.names, kernels.present)
    subspaces.grow(max(int(model.dimensions_.max()), model.certificate_.eigenvectors))
    found = subspaces.overlap(k)
    constraints = _constraints(model, found)
    H, values = completed_partition(subspaces, model.dimensions_, k)
    missed = max(0.0, 1 - float(np.sum((H.T @ model.embedding_) ** 2)) / H.shape[1])
    checks = (
        Check("H* has orthonormal columns", _gram_error(model.embedding_), 1e-8),
        Check("H* solves the least squares problem of incomplete views", missed, LEAST_SQUARES),
        Check("every constraint is met", _violation(constraints, model.dimensions_), 0.0),
        Check("the dimensions are those the solver finds", _moved(model, constraints, found), 0.0),
        Check("every label is that of the nearest center", _label_error(model), 0.0),
    )
    return Verification(checks, tuple(_consensus_ties(values, k)))


def _decomposed(K: np.ndarray, size: int) -> Spectrum:
    n = len(K)
    if n <= DIRECT_UP_TO or size >= n - 1:
        values, vectors = eigenpairs(K, max(0, n - size), n - 1)
    else:
        values, vectors = lanczos(K, size, 1e-12, seed=1)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    above = int(np.count_nonzero(values > RANK_TOLERANCE * values[0]))
    return Spectrum(vectors[:, :above], values[:above], complete=above < size or size >= n)


def _constraints(model: Any, found: Overlap) -> Constraints:
    k = int(model.n_clusters)
    given = {"k": k, "k-1": k - 1}.get(str(model.threshold), model.threshold)
    make = relaxed_constraints if shortfall(found, given) else overlap_constraints
    return make(found, k, float(given))


def _gram_error(H: np.ndarray) -> float:
    used = H[:, np.any(H != 0, axis=0)]
    return float(np.abs(used.T @ used - np.eye(used.shape[1])).max())


def _violation(constraints: Constraints, d: np.ndarray) -> float:
    """Return the largest number of dimensions that a view lacks to meet its constraints."""
    return float(np.maximum(constraints.least(d) - d, 0).max())


def _loss(model: Any, kept: Sequence[np.ndarray], sigma: np.ndarray) -> float:
    """Return the share of the largest possible overlap with the kept subspaces that H* misses."""
    best = float(np.sum(sigma[: int(model.n_clusters)] ** 2))
    reached = sum(float(np.sum((model.embedding_.T @ U) ** 2)) for U in kept)
    return max(0.0, best - reached) / best


def _moved(model: Any, constraints: Constraints, found: Overlap) -> float:
    k = int(model.n_clusters)
    preference = found.reproduced(k) if model.solver == "exact" else None
    again = choose_dimensions(constraints, k, model.solver, preference=preference)
    return float(np.abs(again.d - model.dimensions_).max())


def _bound_error(model: Any) -> float:
    proof = model.certificate_
    stored = (model.objective_, model.lower_bound_) == (proof.objective, proof.lower_bound)
    summed = proof.objective == model.dimensions_.sum()
    return float(max(proof.lower_bound - proof.objective, 0) + (not stored) + (not summed))


def _noise_error(model: Any, kept: Sequence[np.ndarray]) -> float:
    H = model.embedding_[:, model.embedding_.any(axis=0)]
    again = dual_noise([H.T @ U for U in kept])
    parts = ("null", "column", "cross")
    return float(
        max(np.abs(getattr(again, p) - getattr(model.noise_, p)).max() for p in parts)
        / model.dimensions_.max()
    )


def _label_error(model: Any) -> float:
    """Return the share of samples whose label is not that of the nearest center."""
    again = nearest_centers(model.embedding_, model.cluster_centers_)
    return float(np.mean(model._united_labels(again) != model.labels_))


def _cut_ties(model: Any, spectra: Sequence[Spectrum]) -> Iterator[str]:
    for name, spectrum, d in zip(model.view_names_in_, spectra, model.dimensions_, strict=True):
        if d < spectrum.size:
            gap = (spectrum.values[d - 1] - spectrum.values[d]) / spectrum.values[0]
            if gap < TIE:
                yield (
                    f"eigenvalues {d} and {d + 1} of {name} differ by {gap:.0e} of the largest: "
                    "which eigenvector is kept is arbitrary"
                )


def _constraint_ties(model: Any, found: Overlap, constraints: Constraints) -> Iterator[str]:
    if constraints.relaxed:
        return
    reached, names = found.at(model.dimensions_), model.view_names_in_
    for p, q in found.pairs():
        for less in ((0, 0), (1, 0), (0, 1)):
            d = model.dimensions_[[p, q]] - less
            value = reached[p, q] if less == (0, 0) else found.table(p, q)[tuple(d)]
            slack = abs(value - constraints.threshold) / max(constraints.threshold, 1.0)
            if slack < TIE:
                yield (
                    f"{names[p]} and {names[q]} meet the threshold at {d[0]} and {d[1]} "
                    f"eigenvectors within {slack:.0e}"
                )


def _consensus_ties(sigma: np.ndarray, k: int) -> Iterator[str]:
    if k < len(sigma) and (sigma[k - 1] - sigma[k]) / sigma[0] < TIE:
        yield (
            f"singular values {k} and {k + 1} of the kept eigenvectors are equal: H* is not unique"
        )
