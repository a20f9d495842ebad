"""Eigenvectors of all views: growing, embedding, coordinates, missing samples, reuse."""

import numpy as np
import pytest
import scipy.sparse as sp

from _support.planted import given, orthonormal, random_spectra
from mkclust import MultiView
from mkclust.agreement.subspace_overlap import orthonormal_prefixes, overlap_on_common_rows
from mkclust.agreement.subspaces import (
    Subspaces,
)
from mkclust.data.memory import shared_views
from mkclust.exceptions import InputError
from mkclust.graphs.affinity import CenteredGraph
from mkclust.kernels.bank import KernelBank, KernelRecipe
from mkclust.linalg.eigenpairs import Spectrum
from mkclust.progress import listening


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def kernel(rng, n, rank):
    X = rng.standard_normal((n, rank))
    return X @ X.T


def graph(rng, n):
    A = rng.random((n, n))
    A = (A + A.T) / (2 * n)
    np.fill_diagonal(A, 0)
    return CenteredGraph(sp.csr_array(A))


def presence(n, *missing):
    found = np.ones((n, len(missing)), dtype=bool)
    for p, rows in enumerate(missing):
        found[rows, p] = False
    return found


class TestPrefixes:
    def test_every_prefix_spans_what_it_did(self, rng):
        V = rng.standard_normal((9, 4))
        Q = orthonormal_prefixes(V)
        np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-12)
        for a in range(1, 5):
            projected = Q[:, :a] @ (Q[:, :a].T @ V[:, :a])
            np.testing.assert_allclose(projected, V[:, :a], atol=1e-12)

    def test_dependent_columns_become_zero(self, rng):
        V = rng.standard_normal((9, 3))
        V = np.column_stack([V[:, 0], 2 * V[:, 0], V[:, 1] * 1e-12, V[:, 2]])
        Q = orthonormal_prefixes(V)
        assert np.linalg.norm(Q, axis=0).round(12).tolist() == [1, 0, 1, 1]

    @pytest.mark.parametrize(("small", "length"), [(0.5e-8, 0.0), (2e-8, 1.0)])
    def test_dependence_is_relative_to_the_column(self, small, length):
        V = np.array([[1.0, 1.0], [0.0, small], [0.0, 0.0]])
        assert np.linalg.norm(orthonormal_prefixes(V)[:, 1]) == pytest.approx(length)


class TestCommonRows:
    def test_overlaps_are_those_of_bases_over_common_rows(self, rng):
        n, k = 30, 2
        present = presence(n, [0, 1, 2], [5, 9], range(12, 30))
        spectra = given(
            [Spectrum(orthonormal(rng, held.sum(), 4), np.ones(4), False) for held in present.T],
            present,
        )
        found = overlap_on_common_rows(spectra, present, k)
        np.testing.assert_array_equal(found.common, present.T.astype(int) @ present)
        assert found.n_samples == n and found.sizes.tolist() == [4, 4, 4]
        for p, q in ((0, 1), (0, 2), (1, 2)):
            both = present[:, p] & present[:, q]
            A, B = (np.linalg.qr(spectra[v].vectors[both])[0] for v in (p, q))
            for a in range(1, 5):
                expected = np.linalg.norm(A[:, :a].T @ B[:, :3]) ** 2
                assert found.table(p, q)[a, 3] == pytest.approx(expected)
            np.testing.assert_array_equal(found.block(q, p), found.block(p, q).T)
            np.testing.assert_array_equal(found.block(p, p), np.eye(4))

    @pytest.mark.parametrize("k", [2, 3])
    def test_as_many_common_rows_as_clusters_are_too_few(self, rng, k):
        present = presence(9, range(6, 9), range(3))
        spectra = given(
            [Spectrum(orthonormal(rng, 6, 2), np.ones(2), False) for _ in range(2)], present
        )
        found = overlap_on_common_rows(spectra, present, k)
        assert found.common[0, 1] == (3 if k == 2 else 0)
        assert found.pairs() == ([(0, 1)] if k == 2 else [])
        assert found.block(0, 1).any() == (k == 2)


class TestInMemory:
    def test_what_was_not_computed_is_named(self, rng):
        spectra = Subspaces([kernel(rng, 8, 3)], ["pixels"])
        assert len(spectra) == 1 and spectra.names == ("pixels",)
        with pytest.raises(IndexError, match=r"^no eigenvectors of pixels were computed yet$"):
            spectra[0]

    def test_a_kernel_without_positive_eigenvalues_is_refused(self, rng):
        spectra = Subspaces([kernel(rng, 8, 3), -np.eye(8)], ["a", "b"])
        with pytest.raises(InputError, match=r"^view 'b' has no positive eigenvalue$"):
            spectra.grow(2)

    def test_it_never_shrinks(self, rng):
        spectra = Subspaces([kernel(rng, 20, 20), kernel(rng, 20, 3)], ["a", "b"])
        spectra.grow(5)
        told = []
        with listening(told.append):
            spectra.grow(5)
            spectra.grow(2)
            assert [spectrum.size for spectrum in spectra] == [5, 3]
            assert [spectrum.vectors.shape for spectrum in spectra] == [(20, 5), (20, 3)]
            assert spectra.horizon == 5
            assert [spectrum.complete for spectrum in spectra] == [False, True]
            spectra.grow(20)
        assert told == []  # nothing is computed twice
        assert [spectrum.size for spectrum in spectra] == [20, 3]
        assert spectra.horizon is None

    def test_an_embedding_is_the_sum_over_the_views(self, rng):
        bases = random_spectra(rng, 12, [3, 4, 2])
        d, W = np.array([2, 3, 1]), rng.standard_normal((6, 2))
        U = np.hstack([s.vectors[:, :size] for s, size in zip(bases, d, strict=True)])
        np.testing.assert_allclose(given(bases).embed(d, W), U @ W, atol=1e-14)

    def test_coordinates_without_zero_columns(self, rng):
        bases = random_spectra(rng, 12, [3, 4])
        H = np.column_stack([orthonormal(rng, 12, 2), np.zeros(12)])
        found = given(bases).coordinates(H, np.array([2, 4]))
        for p, size in enumerate((2, 4)):
            np.testing.assert_allclose(found[p], H[:, :2].T @ bases[p].vectors[:, :size])

    def test_coordinates_over_the_samples_of_a_view(self, rng):
        present = presence(12, [0, 4, 5], [])
        bases = [Spectrum(orthonormal(rng, n, 2), np.ones(2), False) for n in (9, 12)]
        H = orthonormal(rng, 12, 3)
        H[~present[:, 0], 2] += 5.0
        H = np.column_stack([H, H[:, 0] * present[:, 0]])  # no new direction in the first view
        spectra = given(bases, present)
        assert not spectra[0].vectors[~present[:, 0]].any()
        found = spectra.coordinates(H, np.array([2, 1]))
        Q = np.linalg.qr(H[present[:, 0], :3])[0]
        assert found[0].shape == (3, 2) and found[1].shape == (4, 1)
        np.testing.assert_allclose(
            found[0].T @ found[0], (Q.T @ bases[0].vectors).T @ (Q.T @ bases[0].vectors), atol=1e-12
        )


class TestGraphs:
    def test_eigenvectors_are_those_of_the_centered_graph(self, rng):
        graphs = [graph(rng, 14) for _ in range(2)]
        spectra = Subspaces(graphs, ["a", "b"], at_once=2)
        told = []
        with listening(told.append):
            spectra.grow(2)
            spectra.grow(3)
        assert sorted(told) == [f"{D} eigenvectors of {p}" for D in (2, 3) for p in "ab"]
        for operator, spectrum in zip(graphs, spectra, strict=True):
            V, K = spectrum.vectors, operator.toarray()
            np.testing.assert_allclose(K @ V, V * spectrum.values, atol=1e-10)
            np.testing.assert_allclose(spectrum.values, np.linalg.eigvalsh(K)[::-1][:3], atol=1e-10)

    def test_a_block_keeps_them_by_graph(self, rng):
        one, two = graph(rng, 10), graph(rng, 10)
        with shared_views():
            first = Subspaces([one], ["a"])
            first.grow(2)
            again = Subspaces([two, one], ["b", "a"])
            assert again.known(0) is None and again.known(1) is first.known(0)
        assert Subspaces([one], ["a"]).known(0) is None


class TestKernels:
    def bank(self, rng, n=20):
        views = MultiView([rng.standard_normal((n, 3)) for _ in range(2)], names=["a", "b"])
        return KernelBank(views, KernelRecipe("gaussian", center=True, normalize=True))

    def test_those_of_a_bank(self, rng):
        bank = self.bank(rng)
        spectra = Subspaces.of(bank)
        assert spectra.names == ("a", "b")
        assert spectra.matrices is bank
        told = []
        with listening(told.append):
            spectra.grow(4)
        assert {line for line in told if "eigenvectors" in line} == {
            "4 eigenvectors of a",
            "4 eigenvectors of b",
        }
        for p, spectrum in enumerate(spectra):
            expected = np.linalg.eigvalsh(bank[p])[::-1][:4]
            np.testing.assert_allclose(spectrum.values, expected, atol=1e-10)

    def test_a_block_knows_the_views_of_equal_banks_and_how_they_were_centered(self, rng):
        views = MultiView([rng.standard_normal((20, 3)) for _ in range(2)])
        recipe = KernelRecipe("gaussian", center=True, normalize=True)
        with shared_views():
            first = Subspaces.of(KernelBank(views, recipe))
            first.grow(3)
            bank = KernelBank(views, recipe)
            again = Subspaces.of(bank)
            for p in range(2):
                assert again.known(p) is first.known(p)
                assert bank.centerings[p] is first.matrices.centerings[p]
            other = KernelBank(views, KernelRecipe("linear", center=True, normalize=True))
            assert Subspaces.of(other).known(0) is None and not other.centerings
