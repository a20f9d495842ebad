"""Check a fitted MKC-DNM against its data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.linalg

from ..agreement.overlap import Overlap
from ..agreement.subspaces import KernelSubspaces
from ..data.input import fitted_views
from ..exceptions import InputError
from ..kernels.bank import KernelBank
from ..linalg.checks import TIE, Check, Verification
from ..linalg.eigenpairs import RANK_TOLERANCE, Spectrum, eigenpairs, lanczos
from ..linalg.kmeans import nearest_centers
from .consensus import completed_partition, dual_noise
from .constraints import Constraints, overlap_constraints, relaxed_constraints, shortfall
from .dimensions import choose_dimensions

LEAST_SQUARES = 1e-4  # share of H* that may differ: its rounds end at a change of 1e-6
DIRECT_UP_TO = 3000  # samples up to which LAPACK decomposes the whole kernel; Lanczos beyond


def verify_fit(model: Any, views: Any) -> Verification:
    r"""Check a fitted model against eigenvectors that were computed by another solver.

    Kernels are built again and decomposed by LAPACK (n^3), or by Lanczos beyond 3000 samples.
    The checks are: $H^{*T}H^* = I$; that no partition captures more of
    $\sum_p\|H^TU_p\|_F^2$ than H*; every constraint; dimensions, bound and noise; the labels.
    Where views lack samples, H* is compared with the answer of the same least squares problem.
    """
    model, data = model._distinct_only(fitted_views(model, views))
    if model.n_samples_fit_ < len(data):
        raise InputError("a drawn sample was fitted: verify a fit to all samples of fewer")
    kernels = KernelBank(data, model._recipe(data))
    spaces = _DirectSubspaces(kernels, kernels.names, kernels.present)
    k, d, proof = int(model.n_clusters), model.dimensions_, model.certificate_
    spaces.grow(max(int(d.max()), proof.eigenvectors))
    found = spaces.overlap(k)
    spaces.grow(int(d.max()) + 1)  # for ties at the last eigenvalue that is kept
    constraints = _constraints(model, found)
    if data.present is None:
        sigma = scipy.linalg.svdvals(np.hstack(spaces.heads(d)))
        reached = sum(np.sum((model.embedding_.T @ U) ** 2) for U in spaces.heads(d))
        missed = 1 - reached / np.sum(sigma[:k] ** 2)
        optimum = Check("no partition is closer to the kept subspaces", max(0.0, missed), 1e-8)
    else:
        H, sigma = completed_partition(spaces, d, k)
        missed = 1 - np.sum((H.T @ model.embedding_) ** 2) / H.shape[1]
        claim = "H* solves the least squares problem of incomplete views"
        optimum = Check(claim, max(0.0, missed), LEAST_SQUARES)
    preference = found.reproduced(k) if model.solver == "exact" else None
    again = choose_dimensions(constraints, k, model.solver, preference=preference).d
    labels = model._united_labels(nearest_centers(model.embedding_, model.cluster_centers_))
    wrong = float(np.mean(labels != model.labels_))
    lacking = np.maximum(constraints.least(d) - d, 0).max()
    checks = (
        Check("H* has orthonormal columns", _gram_error(model.embedding_), 1e-8),
        optimum,
        Check("every constraint is met", float(lacking), 0.0),
        Check("the dimensions are those the solver finds", float(np.abs(again - d).max()), 0.0),
        Check("the bound is below the sum of dimensions", _bound_error(model), 0.0),
        Check("the noise is as reported", _noise_error(model, spaces), 1e-6),
        Check("every label is that of the nearest center", wrong, 0.0),
    )
    return Verification(checks, tuple(_near_ties(model, spaces, found, constraints, sigma)))


class _DirectSubspaces(KernelSubspaces):
    """Eigenvectors by LAPACK or Lanczos, whatever solver the fit used."""

    def find(self, p: int, size: int) -> None:
        K = self.kernels[p]
        n = len(K)
        if n <= DIRECT_UP_TO or size >= n - 1:
            values, vectors = eigenpairs(K, max(0, n - size), n - 1)
        else:
            values, vectors = lanczos(K, size, 1e-12, seed=1)
        order = np.argsort(values)[::-1]
        above = int(np.count_nonzero(values > RANK_TOLERANCE * values.max()))
        values, vectors = values[order][:above], vectors[:, order][:, :above]
        self._states[p].found = Spectrum(vectors, values, above < size or size >= n)


def _constraints(model: Any, found: Overlap) -> Constraints:
    k = int(model.n_clusters)
    given = {"k": k, "k-1": k - 1}.get(str(model.threshold), model.threshold)
    make = relaxed_constraints if shortfall(found, given) else overlap_constraints
    return make(found, k, float(given))


def _gram_error(H: np.ndarray) -> float:
    used = H[:, np.any(H != 0, axis=0)]
    return float(np.abs(used.T @ used - np.eye(used.shape[1])).max())


def _bound_error(model: Any) -> float:
    proof = model.certificate_
    stored = (model.objective_, model.lower_bound_) == (proof.objective, proof.lower_bound)
    summed = proof.objective == model.dimensions_.sum()
    return float(max(proof.lower_bound - proof.objective, 0) + (not stored) + (not summed))


def _noise_error(model: Any, spaces: _DirectSubspaces) -> float:
    d, noise = model.dimensions_, model.noise_
    again = dual_noise(spaces.coordinates(model.embedding_, d))
    pairs = ((again.null, noise.null), (again.column, noise.column), (again.cross, noise.cross))
    return float(max(np.abs(a - b).max() for a, b in pairs) / d.max())


def _near_ties(
    model: Any,
    spaces: _DirectSubspaces,
    found: Overlap,
    constraints: Constraints,
    sigma: np.ndarray,
) -> Iterator[str]:
    """Yield a sentence for every decision by less than `TIE`."""
    k, d, names = int(model.n_clusters), model.dimensions_, model.view_names_in_
    for name, spectrum, size in zip(names, spaces, d, strict=True):
        values = spectrum.values
        if size < len(values) and (gap := (values[size - 1] - values[size]) / values[0]) < TIE:
            yield (
                f"eigenvalues {size} and {size + 1} of {name} differ by {gap:.0e} of the largest: "
                "which eigenvector is kept is arbitrary"
            )
    threshold = constraints.threshold
    for p, q in () if constraints.relaxed else found.pairs():
        table = found.table(p, q)
        for a, b in ((d[p], d[q]), (d[p] - 1, d[q]), (d[p], d[q] - 1)):
            if (slack := abs(table[a, b] - threshold) / max(threshold, 1.0)) < TIE:
                yield (
                    f"{names[p]} and {names[q]} meet the threshold at {a} and {b} eigenvectors "
                    f"within {slack:.0e}"
                )
    if k < len(sigma) and (sigma[k - 1] - sigma[k]) / sigma[0] < TIE:
        yield (
            f"singular values {k} and {k + 1} of the kept eigenvectors are equal: H* is not unique"
        )
