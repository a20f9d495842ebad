"""What several test files need: instances with known answers, and the answers by enumeration."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mkclust.agreement.subspace_overlap import Overlap, overlap
from mkclust.agreement.subspaces import Subspaces
from mkclust.dual_noise.consensus import consensus, dual_noise
from mkclust.dual_noise.overlap_constraints import shortfall
from mkclust.linalg.eigenpairs import Spectrum

N = 1000  # samples that hand-made overlaps pretend to have


def orthonormal(rng, n, size):
    return np.linalg.qr(rng.standard_normal((n, size)))[0]


def given(spectra, present=None):
    """Spectra at hand as subspaces; of views that lack samples, over those they hold."""
    if isinstance(spectra, Subspaces):
        return spectra
    names = [f"view{p}" for p in range(len(spectra))]
    found = Subspaces(list(spectra), names, present, solve=Spectrum.head)
    found.grow(max(spectrum.size for spectrum in spectra))
    return found


def consensus_of(spectra, d, k, found):
    return consensus(given(spectra), d, k, found)


def noise_of(H, spectra, d):
    """The noise of views with respect to H, whose zero columns do not count."""
    H = H[:, H.any(axis=0)]
    return dual_noise(given(spectra).coordinates(H, d))


def random_spectra(rng, n, sizes, complete=False):
    """Unrelated bases: two of D directions share about D^2/n."""
    return [Spectrum(orthonormal(rng, n, D), np.linspace(2, 1, D), complete) for D in sizes]


def planted_spectra(rng, n, sizes, shared, noise, unrelated=()):
    """Bases whose first `shared` directions are common but for `noise`, except in `unrelated`."""
    Z = orthonormal(rng, n, shared)
    spectra = []
    for p, D in enumerate(sizes):
        E = rng.standard_normal((n, D)) / np.sqrt(n)
        if p not in unrelated:
            E[:, :shared] = Z + noise * E[:, :shared]
        spectra.append(Spectrum(np.linalg.qr(E)[0], np.linspace(2, 1, D), complete=False))
    return spectra


def overlap_of_blocks(blocks, n):
    """An Overlap from (m, m, D, D) cross-products; only the upper blocks are used."""
    m, _, D, _ = blocks.shape
    cross = np.zeros((m * D, m * D))
    for p in range(m):
        for q in range(p + 1, m):
            cross[p * D : (p + 1) * D, q * D : (q + 1) * D] = blocks[p, q]
    return Overlap(cross + cross.T + np.eye(m * D), np.arange(m + 1) * D, n)


def head(found, size):
    """The same overlaps as if only the first `size` directions of each view were known."""
    sizes = np.minimum(found.sizes, size)
    kept = found.columns(sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Overlap(found.cross[np.ix_(kept, kept)], starts, found.n_samples)


def is_feasible(found, d, k, threshold):
    """The model's constraints from their definition, without any table."""
    s = found.starts
    if any(d[p] < min(k, found.sizes[p]) for p in range(found.n_views)):
        return False
    return all(
        np.sum(found.cross[s[p] : s[p] + d[p], s[q] : s[q] + d[q]] ** 2) >= threshold * (1 - 1e-9)
        for p, q in found.pairs()
    )


def brute_force(found, k, threshold):
    """Every d of smallest sum and, among those, smallest sum of squares, by trying all."""
    levels = [np.arange(min(k, D), D + 1) for D in found.sizes]
    d = np.stack(np.meshgrid(*levels, indexing="ij"), axis=-1).reshape(-1, found.n_views)
    feasible = np.ones(len(d), dtype=bool)
    for p, q in found.pairs():
        prefix = np.pad((found.block(p, q) ** 2).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
        feasible &= prefix[d[:, p], d[:, q]] >= threshold * (1 - 1e-9)
    d = d[feasible]
    d = d[d.sum(1) == d.sum(1).min()]
    d = d[(d**2).sum(1) == (d**2).sum(1).min()]
    return (d[0].sum(), (d[0] ** 2).sum()), [tuple(row) for row in d]


def projector(H):
    return H @ H.T


def trace_of(history, start):
    """The authors' rows (M, 1 for d or 2 for d-hat, state) from the rounds we keep."""
    rows, d_hat = [], tuple(start)
    for turn in history:
        rows.append((turn.penalty, 1, *turn.d))
        if turn.d != d_hat:
            rows.append((turn.penalty, 2, *turn.d_hat))
        d_hat = turn.d_hat
    return rows


def partial_spectra(rng, present, ranks, size):
    """Spectra of random kernels of the given ranks over the samples present."""
    kernels = []
    for held, rank in zip(present.T, ranks, strict=True):
        X = rng.standard_normal((np.count_nonzero(held), rank))
        kernels.append(X @ X.T)
    spectra = Subspaces(kernels, [f"view{p}" for p in range(len(ranks))], present)
    spectra.grow(size)
    return spectra


@st.composite
def tied_overlaps(draw):
    """Few different values, so that many d reach the same sum and the same sum of squares."""
    m, D = draw(st.integers(2, 4)), draw(st.integers(2, 5))
    values = st.sampled_from([0.0, 0.0, 0.5, 1.0])
    blocks = draw(arrays(float, (m, m, D, D), elements=values, fill=st.nothing()))
    k = draw(st.integers(1, min(3, D)))
    found = overlap_of_blocks(blocks, N)
    assume(not shortfall(found, k))
    return found, k


@st.composite
def generic_overlaps(draw):
    """Random bases in a small space: every table entry different."""
    rng = np.random.default_rng(draw(st.integers(0, 10**9)))
    n = draw(st.integers(8, 14))
    sizes = draw(st.lists(st.integers(5, 7), min_size=1, max_size=4))
    k = draw(st.integers(1, 3))
    shared = draw(st.integers(0, k))
    found = overlap(planted_spectra(rng, n, sizes, shared, noise=0.5))
    assume(not shortfall(found, k))
    return found, k


either = st.one_of(tied_overlaps(), generic_overlaps())
