import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _support.planted import orthonormal, planted_spectra, random_spectra
from mkclust.agreement.subspace_overlap import FEW, Overlap, overlap
from mkclust.linalg.eigenpairs import Spectrum


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


def test_agreement_of_a_view_with_fewer_directions_stays_within_one():
    rng = np.random.default_rng(4)
    V = orthonormal(rng, 30, 6)
    spectra = [Spectrum(V[:, :2], np.ones(2), True), Spectrum(V, np.ones(6), False)]
    assert overlap(spectra).agreement(4)[0, 1] == pytest.approx(1)


@pytest.mark.filterwarnings("error")
def test_agreement_is_one_where_no_room_is_left_for_chance():
    """All n directions of both views: the subspaces are equal because there is no other."""
    rng = np.random.default_rng(5)
    n = 6
    spectra = [Spectrum(orthonormal(rng, n, n), np.ones(n), True) for _ in range(2)]
    np.testing.assert_array_equal(overlap(spectra).agreement(n), 1)


def test_pairs_count_the_samples_in_common_and_those_without_are_left_out():
    plain = overlap(random_spectra(np.random.default_rng(8), 40, [5, 4, 6]))
    common = np.array([[30, 20, 10], [20, 25, 0], [10, 0, 12]])
    partial = Overlap(plain.cross, plain.starts, 40, common)
    assert plain.pairs() == [(0, 1), (0, 2), (1, 2)]
    assert partial.pairs() == [(0, 1), (0, 2)]
    np.testing.assert_array_equal(plain.pair_samples, np.full((3, 3), 40.0))
    expected = [[30, 20, 10], [20, 25, np.nan], [10, np.nan, 12]]
    np.testing.assert_array_equal(partial.pair_samples, expected)
    agreement, k = partial.agreement(3), 3
    for p, q in partial.pairs():
        chance = k * k / common[p, q]
        expected = (plain.table(p, q)[k, k] - chance) / (k - chance)
        assert agreement[p, q] == agreement[q, p] == pytest.approx(expected)
    assert np.isnan(agreement[[1, 2], [2, 1]]).all()


@pytest.mark.parametrize("k", [1, 3, 5])
def test_reproduced_is_what_the_others_hold_of_the_first_directions(k):
    spectra = planted_spectra(np.random.default_rng(9), 30, [6, 4, 7], shared=2, noise=0.5)
    expected = [
        sum(
            np.linalg.norm(V.vectors[:, :k].T @ W.vectors) ** 2
            for q, W in enumerate(spectra)
            if q != p
        )
        for p, V in enumerate(spectra)
    ]
    np.testing.assert_allclose(overlap(spectra).reproduced(k), expected, atol=1e-12)


@pytest.mark.parametrize("m", [FEW, FEW + 1])
def test_few_views_by_pairs_and_many_at_once_are_the_same_product(m):
    sizes = [2 + p % 3 for p in range(m)]
    spectra = random_spectra(np.random.default_rng(10), 15, sizes)
    B = np.hstack([spectrum.vectors for spectrum in spectra])
    found = overlap(spectra)
    np.testing.assert_allclose(found.cross, B.T @ B, atol=1e-14)
    np.testing.assert_array_equal(found.sizes, sizes)
    assert found.n_samples == 15
    assert found.n_views == m
