import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkclust.overlap import overlap
from mkclust.spectrum import Spectrum
from planted import orthonormal, planted_spectra, random_spectra


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 6), min_size=1, max_size=3))
def test_tables_are_the_squared_norms_they_stand_for(seed, sizes):
    spectra = random_spectra(np.random.default_rng(seed), 9, sizes)
    found = overlap(spectra)
    for p, V in enumerate(spectra):
        for q, W in enumerate(spectra):
            table = found.table(p, q)
            assert table.shape == (sizes[p] + 1, sizes[q] + 1)
            for a in range(sizes[p] + 1):
                for b in range(sizes[q] + 1):
                    direct = np.linalg.norm(V.vectors[:, :a].T @ W.vectors[:, :b]) ** 2
                    assert table[a, b] == pytest.approx(direct, abs=1e-13)


def test_tables_rise_along_both_arguments_and_transpose():
    found = overlap(random_spectra(np.random.default_rng(0), 30, [7, 12]))
    table = found.table(0, 1)
    assert (np.diff(table, axis=0) >= 0).all()
    assert (np.diff(table, axis=1) >= 0).all()
    np.testing.assert_allclose(found.table(1, 0).T, table, atol=1e-14)


def test_at_looks_up_every_pair_at_once():
    found = overlap(random_spectra(np.random.default_rng(1), 20, [5, 3, 8]))
    d = [4, 3, 6]
    expected = [[found.table(p, q)[d[p], d[q]] for q in range(3)] for p in range(3)]
    np.testing.assert_allclose(found.at(d), expected, atol=1e-14)


def test_a_view_that_keeps_nothing_overlaps_in_nothing():
    found = overlap(random_spectra(np.random.default_rng(1), 20, [5, 3, 8]))
    np.testing.assert_allclose(found.at([4, 0, 6])[1], 0)
    np.testing.assert_allclose(found.at([4, 3, 0])[2], 0)
    assert found.at([4, 3, 0])[0, 1] == pytest.approx(found.table(0, 1)[4, 3])


def test_pairs_are_each_pair_once():
    found = overlap(random_spectra(np.random.default_rng(1), 20, [2, 2, 2]))
    assert found.pairs() == [(0, 1), (0, 2), (1, 2)]


def test_agreement_is_one_for_equal_and_zero_for_unrelated_subspaces():
    rng = np.random.default_rng(2)
    n, k = 400, 5
    V = orthonormal(rng, n, 8)
    turned = V.copy()
    turned[:, :k] = V[:, :k] @ orthonormal(rng, k, k)
    spectra = [Spectrum(U, np.ones(8), False) for U in (V, turned, orthonormal(rng, n, 8))]
    agreement = overlap(spectra).agreement(k)
    assert agreement[0, 1] == pytest.approx(1)
    np.testing.assert_allclose(np.diagonal(agreement), 1)
    np.testing.assert_allclose(agreement, agreement.T)
    # Chance overlap has a standard deviation near sqrt(2) k / n, here 0.018 of k overlaps.
    assert abs(agreement[0, 2]) < 5 * np.sqrt(2) / n * k / (k - k * k / n)


def test_agreement_is_the_formula():
    n, k = 50, 3
    spectra = planted_spectra(np.random.default_rng(3), n, [6, 6], shared=3, noise=0.8)
    shared = np.linalg.norm(spectra[0].vectors[:, :k].T @ spectra[1].vectors[:, :k]) ** 2
    expected = (shared - k * k / n) / (k - k * k / n)
    assert overlap(spectra).agreement(k)[0, 1] == pytest.approx(expected)


def test_agreement_of_a_view_with_fewer_directions_stays_within_one():
    rng = np.random.default_rng(4)
    V = orthonormal(rng, 30, 6)
    spectra = [Spectrum(V[:, :2], np.ones(2), True), Spectrum(V, np.ones(6), False)]
    assert overlap(spectra).agreement(4)[0, 1] == pytest.approx(1)
