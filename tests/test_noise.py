"""The identities of the dual noise on real data, with the n x n matrices only in this file."""

import tracemalloc

import numpy as np
import pytest
import scipy.io

from mkclust.consensus import consensus
from mkclust.datasets import load_mfeat
from mkclust.kernels import KernelBank, KernelRecipe
from mkclust.noise import dual_noise
from mkclust.overlap import overlap
from mkclust.spectrum import Spectra, Spectrum
from mkclust.views import MultiView
from planted import orthonormal, random_spectra


def partition(views, k, d):
    """Spectra of real kernels, some dimensions, and the consensus they give."""
    spectra = Spectra(KernelBank(views, KernelRecipe()), views.names)
    spectra.grow(max(d))
    return list(spectra), consensus(spectra, d, k, overlap(spectra)).H


def digits():
    return (*partition(load_mfeat()[::8], 10, [12, 10, 17, 14, 25, 11]), [12, 10, 17, 14, 25, 11])


def check_identities(spectra, H, d):
    n, k = H.shape
    P = H @ H.T
    Q = np.eye(n) - P
    noise = dual_noise(H, spectra, d)
    for p, spectrum in enumerate(spectra):
        U = spectrum.vectors[:, : d[p]]
        E = U @ U.T - P
        E_N, E_C = Q @ E @ Q, P @ E @ P
        cross = E - E_N - E_C
        assert noise.null[p] == pytest.approx(np.trace(E_N), abs=1e-10)
        assert noise.column[p] == pytest.approx(np.trace(E_C), abs=1e-10)
        assert noise.cross[p] == pytest.approx(np.linalg.norm(cross) ** 2, abs=1e-10)
        assert np.linalg.norm(cross) > 0.1  # the paper's two parts do not add up to E
        assert np.trace(cross) == pytest.approx(0, abs=1e-10)
        assert noise.null[p] + noise.column[p] == pytest.approx(d[p] - k, abs=1e-10)
        np.testing.assert_allclose(cross, P @ U @ U.T @ Q + Q @ U @ U.T @ P, atol=1e-10)
        assert np.trace(E_N @ P) == pytest.approx(0, abs=1e-10)  # Lemma 1
        assert np.trace(E_C @ P) == pytest.approx(np.trace(E_C), abs=1e-10)  # Lemma 2
        assert np.linalg.eigvalsh(E_N)[0] > -1e-10  # Lemma 3
        assert np.linalg.eigvalsh(E_C)[-1] < 1e-10


def test_identities_on_handwritten_digits():
    check_identities(*digits())


def test_identities_on_bbcsport(data_dir):
    stored = scipy.io.loadmat(data_dir / "bbcsport_2view.mat")["data"].ravel()
    views = MultiView([view[::2] for view in map(lambda v: v.tocsr(), stored)])
    d = [11, 9]
    spectra, H = partition(views, 5, d)
    check_identities(spectra, H, d)


def test_a_view_equal_to_the_consensus_has_no_noise():
    V = random_spectra(np.random.default_rng(0), 30, [4])[0]
    noise = dual_noise(V.vectors @ orthonormal(np.random.default_rng(1), 4, 4), [V], [4])
    for part in (noise.null, noise.column, noise.cross):
        np.testing.assert_allclose(part, 0, atol=1e-13)


def test_noise_of_a_view_outside_the_consensus_is_all_null_and_all_column():
    V = orthonormal(np.random.default_rng(2), 30, 8)
    noise = dual_noise(V[:, :3], [Spectrum(V[:, 3:], np.ones(5), True)], [5])
    np.testing.assert_allclose(noise.null, 5)
    np.testing.assert_allclose(noise.column, -3)
    np.testing.assert_allclose(noise.cross, 0, atol=1e-13)


def test_a_consensus_of_lower_rank_lacks_nothing_it_does_not_have():
    """H* padded with zero columns: P has rank 2, so Tr(PEP) is |T|^2 - 2."""
    V = random_spectra(np.random.default_rng(3), 20, [2])[0]
    H = np.pad(V.vectors, ((0, 0), (0, 2)))
    noise = dual_noise(H, [V], [2])
    np.testing.assert_allclose(noise.column, 0, atol=1e-13)
    np.testing.assert_allclose(noise.null, 0, atol=1e-13)


def test_no_n_by_n_matrix_is_formed():
    n, k, d = 20_000, 3, 4
    rng = np.random.default_rng(4)
    spectra = random_spectra(rng, n, [d, d])
    H = orthonormal(rng, n, k)
    found = overlap(spectra)
    tracemalloc.start()
    try:
        dual_noise(H, spectra, [d, d])
        consensus(spectra, [d, d], k, found)
        overlap(spectra)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * n * (k + d)  # bytes; an n x n matrix of doubles has 3.2e9
