import numpy as np
import pytest

from _support.optimality import assert_orthonormal
from _support.planted import (
    consensus_of,
    given,
    orthonormal,
    partial_spectra,
    planted_spectra,
    projector,
    random_spectra,
)
from mkclust.agreement.subspace_overlap import overlap, overlap_on_common_rows
from mkclust.dual_noise.consensus import coefficients, completed_partition
from mkclust.linalg.eigenpairs import Spectrum
from mkclust.progress import listening


def stacked(spectra, d):
    return np.hstack([s.vectors[:, :a] for s, a in zip(spectra, d, strict=True)])


@pytest.mark.parametrize("d", [(4, 4, 4), (9, 5, 7), (4, 12, 6)])
def test_consensus_is_the_leading_singular_subspace(d):
    spectra = planted_spectra(np.random.default_rng(0), 50, [12] * 3, shared=4, noise=0.7)
    found = consensus_of(spectra, d, 4, overlap(spectra))
    U, values, _ = np.linalg.svd(stacked(spectra, d), full_matrices=False)
    np.testing.assert_allclose(projector(found.H), projector(U[:, :4]), atol=1e-12)
    np.testing.assert_allclose(found.singular_values, values[:4], atol=1e-12)
    np.testing.assert_allclose(found.H.T @ found.H, np.eye(4), atol=1e-12)
    assert found.rank == 4
    W, values = coefficients(d, 4, overlap(spectra))  # enough, without the samples
    np.testing.assert_allclose(projector(stacked(spectra, d) @ W), projector(U[:, :4]), atol=1e-12)
    np.testing.assert_array_equal(values, found.singular_values)


def test_directions_that_do_not_exist_are_zero_columns():
    V = random_spectra(np.random.default_rng(3), 20, [2])[0]
    found = consensus_of([V, V], (2, 2), 4, overlap([V, V]))
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
    H, G = (consensus_of(s, (6, 4, 9), 3, overlap(s)).H for s in (spectra, flipped))
    np.testing.assert_allclose(projector(H), projector(G), atol=1e-13)


@pytest.mark.parametrize(
    ("angle", "times", "rank"),
    [(1e-4, 1, 2), (1e-5, 1, 2), (1e-8, 1, 1), (1e-4, 50, 2), (1e-6, 50, 1)],
)
def test_a_direction_counts_until_it_is_rounding(angle, times, rank):
    """Its singular value squared is about angle^2, the leading one's the number of views."""
    V = orthonormal(np.random.default_rng(8), 20, 2)
    turned = np.cos(angle) * V[:, :1] + np.sin(angle) * V[:, 1:]
    spectra = [Spectrum(U, np.ones(1), True) for U in [V[:, :1]] * times + [turned]]
    found = consensus_of(spectra, [1] * len(spectra), 2, overlap(spectra))
    assert found.rank == rank
    # The squares of two near directions cost orthonormality: a thin SVD takes over.
    np.testing.assert_allclose(found.H.T @ found.H, np.diag([1, rank - 1]), atol=1e-9)
    if rank == 2:
        np.testing.assert_allclose(projector(found.H), projector(V), atol=1e-9)
        U = stacked(spectra, [1] * len(spectra))
        np.testing.assert_allclose(found.singular_values, np.linalg.svd(U)[1][:2], rtol=1e-9)


# ---------------------------------------------------------------- views that lack samples


def some_absent(seed=0):
    present = np.random.default_rng(seed).random((40, 3)) > 0.25
    present[:10] = True
    return present


def test_where_views_lack_samples_it_is_the_completed_partition():
    present = some_absent()
    spectra = partial_spectra(np.random.default_rng(10), present, [6, 5, 7], size=5)
    d, k = [4, 3, 5], 3
    told = []
    with listening(told.append):
        found = consensus_of(spectra, d, k, overlap_on_common_rows(spectra, present, k))
    H, values = completed_partition(spectra, d, k)
    np.testing.assert_allclose(projector(found.H), projector(H), atol=1e-12)
    np.testing.assert_allclose(found.singular_values, values, atol=1e-12)
    assert_orthonormal(found.H)
    largest = np.abs(found.H).argmax(axis=0)
    assert (found.H[largest, np.arange(k)] > 0).all()
    assert told[-1] == "consensus from the views each sample is in"


def test_the_completed_partition_of_complete_views_is_the_consensus():
    spectra, d = random_spectra(np.random.default_rng(0), 40, [3, 5, 4]), [3, 5, 4]
    told = []
    with listening(told.append):
        expected = consensus_of(spectra, d, 2, overlap(spectra))
    assert told[-1] == "consensus"
    H, values = completed_partition(given(spectra, np.ones((40, 3), dtype=bool)), d, 2)
    np.testing.assert_allclose(projector(H), projector(expected.H), atol=1e-9)
    np.testing.assert_allclose(values, expected.singular_values, atol=1e-9)
