"""The identities of the dual noise on real data, with the n x n matrices only in this file."""

import numpy as np
import pytest

from _support.optimality import assert_orthonormal
from _support.planted import consensus_of, noise_of, orthonormal, partial_spectra, projector
from mkclust.agreement.subspace_overlap import overlap
from mkclust.agreement.subspaces import Subspaces
from mkclust.data.datasets import load_mfeat
from mkclust.kernels.bank import KernelBank, KernelRecipe


def test_identities_on_handwritten_digits():
    spectra = Subspaces.of(KernelBank(load_mfeat()[::8], KernelRecipe()))
    d, k = [12, 10, 17, 14, 25, 11], 10
    spectra.grow(max(d))
    H = consensus_of(spectra, d, k, overlap(spectra)).H
    P = H @ H.T
    Q = np.eye(len(P)) - P
    noise = noise_of(H, spectra, d)
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


def test_of_a_view_that_lacks_samples_over_those_it_has():
    """The definition on the rows a view holds, with H* orthonormalised there."""
    rng = np.random.default_rng(5)
    present = rng.random((30, 3)) > 0.3
    present[:8] = True
    spectra = partial_spectra(rng, present, [6, 5, 7], size=6)
    d, k = [4, 3, 6], 3
    H = orthonormal(rng, 30, k)
    noise = noise_of(H, spectra, d)
    for p, held in enumerate(present.T):
        U = spectra[p].vectors[held, : d[p]]
        assert_orthonormal(U)
        P = projector(np.linalg.qr(H[held])[0])
        Q = np.eye(len(P)) - P
        E = projector(U) - P
        assert noise.null[p] == pytest.approx(np.trace(Q @ E @ Q), abs=1e-10)
        assert noise.column[p] == pytest.approx(np.trace(P @ E @ P), abs=1e-10)
        cross = P @ E @ Q + Q @ E @ P
        assert noise.cross[p] == pytest.approx(np.linalg.norm(cross) ** 2, abs=1e-10)


def test_a_consensus_of_lower_rank_over_the_samples_a_view_has():
    """Over the six samples of the second view, one of the two columns of H* is zero."""
    present = np.ones((20, 2), dtype=bool)
    present[6:, 1] = False
    spectra = partial_spectra(np.random.default_rng(6), present, [4, 4], size=4)
    H = np.zeros((20, 2))
    H[:6, 0], H[6:, 1] = 1 / np.sqrt(6), 1 / np.sqrt(14)
    noise = noise_of(H, spectra, [4, 4])
    inside = np.sum((H[:, 0] @ spectra[1].vectors) ** 2)
    assert noise.column[1] == pytest.approx(inside - 1, abs=1e-12)
    np.testing.assert_allclose(noise.null + noise.column, [4 - 2, 4 - 1])
