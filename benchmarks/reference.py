"""Reference implementations without optimization, for comparison in speed.py."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import eigsh
from sklearn.cluster import SpectralClustering
from sklearn.preprocessing import StandardScaler

from mkclust.agreement.overlap import overlap
from mkclust.dual_noise.constraints import overlap_constraints
from mkclust.dual_noise.dimensions import authors
from mkclust.linalg.spectrum import Spectrum


def lanczos(kernels, size):
    """Return the `size` leading eigenvectors of every kernel, by ARPACK with default settings."""
    bases, random = [], np.random.default_rng(0)
    for K in kernels:
        _, vectors = eigsh(K, k=size, which="LA", v0=random.standard_normal(len(K)))
        bases.append(np.asfortranarray(vectors[:, ::-1]))
    return bases


def subset(kernels, size):
    """Return the same by the LAPACK solver for a part of the spectrum."""
    window = [len(kernels[0]) - size, len(kernels[0]) - 1]
    found = [scipy.linalg.eigh(K, subset_by_index=window)[1] for K in kernels]
    return [np.asfortranarray(vectors[:, ::-1]) for vectors in found]


def literal(kernels, k):
    """Run the published procedure: min(n, 25k) eigenvectors, one matrix product per constraint.

    Eigenvectors by Lanczos and the search of the authors, without tables of overlaps.
    """
    n = len(kernels[0])
    bases = lanczos(kernels, min(n - 1, 25 * k))
    d = literal_search(bases, k)
    U, _, _ = np.linalg.svd(np.hstack([V[:, :a] for V, a in zip(bases, d, strict=True)]), False)
    return d, U[:, :k]


def literal_search(bases, k):
    """Run the alternating search, computing every constraint by its matrix product."""
    m, size = len(bases), bases[0].shape[1]

    def overlap_of(p, a, q, b):
        return np.sum((bases[p][:, :a].T @ bases[q][:, :b]) ** 2)

    def feasible(p, a, others):
        return all(overlap_of(p, a, q, others[q]) >= k * (1 - 1e-9) for q in range(m))

    def common(a):
        pairs = combinations(range(m), 2)
        return all(overlap_of(p, a, q, a) >= k * (1 - 1e-9) for p, q in pairs)

    c = 1
    while c * k <= size and not common(c * k):
        c += 1
    d = d_hat = np.full(m, min(c * k, size))

    def update(d, d_hat, penalty):
        new = d.copy()
        for p in range(m):
            t = penalty / (penalty + 0.5) * d_hat[p]
            left, right = int(t), d[p]
            if feasible(p, left, d_hat):
                new[p] = left + (t - left > 0.5)
                continue
            while right - left > 1:
                middle = (left + right) // 2
                if feasible(p, middle, d_hat):
                    right = middle
                else:
                    left = middle
            new[p] = right
        return new

    penalty = 1.0
    while True:
        d = update(d, d_hat, penalty)
        if np.array_equal(d, d_hat):
            return d
        d_hat = update(d_hat, d, penalty)
        if np.array_equal(d, d_hat):
            return d
        penalty *= 2


def naive(kernels, k, eigenvectors=lanczos):
    """Use tables of overlaps in place of products, but min(n, 25k) eigenvectors and a full SVD."""
    bases = eigenvectors(kernels, min(len(kernels[0]) - 1, 25 * k))
    spectra = [Spectrum(V, np.ones(V.shape[1]), False) for V in bases]
    d, _ = authors(overlap_constraints(overlap(spectra), k, k), k)
    U, _, _ = np.linalg.svd(np.hstack([V[:, :a] for V, a in zip(bases, d, strict=True)]), False)
    return d, U[:, :k]


def concatenated(views, k):
    """Standardize and concatenate the views, then cluster them by spectral clustering."""
    X = np.hstack([StandardScaler().fit_transform(np.asarray(v, dtype=float)) for v in views])
    model = SpectralClustering(k, affinity="nearest_neighbors", random_state=0)
    return model.fit_predict(X)
