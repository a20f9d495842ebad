import numpy as np
import pytest

from mkclust.consensus import consensus
from mkclust.overlap import overlap
from mkclust.spectrum import Spectrum
from planted import orthonormal, planted_spectra, projector, random_spectra


def stacked(spectra, d):
    return np.hstack([s.vectors[:, :a] for s, a in zip(spectra, d, strict=True)])


@pytest.mark.parametrize("d", [(4, 4, 4), (9, 5, 7), (4, 12, 6)])
def test_consensus_is_the_leading_singular_subspace(d):
    spectra = planted_spectra(np.random.default_rng(0), 50, [12] * 3, shared=4, noise=0.7)
    found = consensus(spectra, d, 4, overlap(spectra))
    U, values, _ = np.linalg.svd(stacked(spectra, d), full_matrices=False)
    np.testing.assert_allclose(projector(found.H), projector(U[:, :4]), atol=1e-12)
    np.testing.assert_allclose(found.singular_values, values[:4], atol=1e-12)
    np.testing.assert_allclose(found.H.T @ found.H, np.eye(4), atol=1e-12)
    assert found.rank == 4


def test_no_other_partition_captures_more():
    """Optimality itself: H* maximises the captured norm; its gradient is normal to the manifold."""
    rng = np.random.default_rng(1)
    spectra = planted_spectra(rng, 40, [8] * 4, shared=3, noise=0.9)
    d = (5, 8, 6, 3)
    U = stacked(spectra, d)
    H = consensus(spectra, d, 3, overlap(spectra)).H
    best = np.linalg.norm(H.T @ U) ** 2
    G = U @ (U.T @ H)
    np.testing.assert_allclose(G - H @ (H.T @ G), 0, atol=1e-12)
    for _ in range(50):
        other = np.linalg.qr(H + 0.3 * rng.standard_normal(H.shape))[0]
        assert np.linalg.norm(other.T @ U) ** 2 < best


def test_the_thin_svd_takes_over_where_squaring_costs_orthonormality():
    """Two directions that differ by 1e-5: a singular value of 1e-5, a square of 1e-10."""
    rng = np.random.default_rng(2)
    V = orthonormal(rng, 30, 3)
    near = V[:, :1] + 1e-5 * V[:, 1:2]
    spectra = [Spectrum(V[:, :1], np.ones(1), True), Spectrum(near, np.ones(1), True)]
    spectra[1].vectors[:] /= np.linalg.norm(near)
    found = consensus(spectra, (1, 1), 2, overlap(spectra))
    np.testing.assert_allclose(found.H.T @ found.H, np.eye(2), atol=1e-9)
    np.testing.assert_allclose(projector(found.H), projector(V[:, :2]), atol=1e-9)


def test_directions_that_do_not_exist_are_zero_columns():
    V = random_spectra(np.random.default_rng(3), 20, [2])[0]
    found = consensus([V, V], (2, 2), 4, overlap([V, V]))
    assert found.rank == 2
    assert found.H.shape == (20, 4)
    np.testing.assert_allclose(projector(found.H), projector(V.vectors), atol=1e-12)
    np.testing.assert_array_equal(found.singular_values[2:], 0)


def test_signs_of_eigenvectors_do_not_matter():
    rng = np.random.default_rng(4)
    spectra = planted_spectra(rng, 40, [9] * 3, shared=3, noise=0.5)
    flipped = [
        Spectrum(s.vectors * rng.choice([-1.0, 1.0], s.size), s.values, s.complete) for s in spectra
    ]
    H, G = (consensus(s, (6, 4, 9), 3, overlap(s)).H for s in (spectra, flipped))
    np.testing.assert_allclose(projector(H), projector(G), atol=1e-13)
