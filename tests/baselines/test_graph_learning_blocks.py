"""SPMKC and CAGL, which no reference program checks: every block is the best one, and feasible.

Objectives are written here from their definition and followed through every update.
"""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from _support.optimality import assert_monotone, assert_simplex_optimal
from mkclust.baselines import CAGL, SPMKC, cagl, spmkc
from mkclust.baselines import graph_learning as graphs
from mkclust.baselines.linalg import gram, weighted_sum
from mkclust.data.datasets import make_views
from mkclust.exceptions import ConvergenceWarning, DegenerateWarning
from mkclust.kernels.bank import KernelBank, KernelRecipe

AS_GIVEN = {"kernel": "precomputed", "center": False, "normalize": False, "random_state": 0}
SETTINGS = [(4.0, 1.0, 200.0, 1.0), (4.0, 0.5, 20.0, 0.0), (0.5, 1.0, 5.0, 1.0), (16.0, 2, 5, 10)]


@pytest.fixture(scope="module")
def planted():
    return make_views(90, 3, 3, noise=0.5, random_state=0)


def kernels_of(n=50, k=3, **settings):
    return list(KernelBank(make_views(n, k, random_state=0, **settings), KernelRecipe()))


def assert_code_optimal(K, Z, gain, ridge, tolerance):
    assert Z.min() >= 0
    assert not np.diagonal(Z).any()
    slope = K @ Z + ridge * Z - gain * K
    assert slope[~np.eye(len(K), dtype=bool)].min() >= -tolerance * gain
    assert np.abs(slope * Z).max() <= tolerance * gain


@pytest.mark.parametrize(("gain", "ridge"), [(5.0, 2.0), (1.0, 0.1), (17.0, 1.0)])
def test_self_expression_is_the_minimum(gain, ridge):
    K = sum(kernels_of(noise=1.5)) / 3
    Z = graphs.self_expression(K, gain, ridge, tolerance=1e-13)
    assert_code_optimal(K, Z, gain, ridge, 1e-11)
    again = graphs.self_expression(K, gain, ridge, Z, cap=1)
    np.testing.assert_allclose(again, Z, atol=1e-11 * gain)


def spmkc_value(kernels, Z, K, w, lam1, lam2, lam3, lam4):
    global_term = np.trace(K - 2 * K @ Z + Z.T @ K @ Z) / 2
    misfit = K - np.tensordot(w, kernels, axes=1)
    penalties = lam2 * np.sum(Z**2) + lam3 * np.sum(misfit**2) + lam4 * np.sum(w**2)
    return global_term - lam1 * np.trace(K @ Z) + penalties


@pytest.mark.parametrize("lam", SETTINGS)
@pytest.mark.parametrize("views", [{"noise": 1.5}, {"noise": 1.0, "n_noise_views": 2}])
def test_spmkc_every_block_is_optimal_and_the_objective_falls(lam, views):
    kernels, (lam1, lam2, lam3, lam4) = kernels_of(**views), lam
    settings = dict(zip(("lam1", "lam2", "lam3", "lam4"), lam, strict=True))
    model = SPMKC(3, **settings, **AS_GIVEN).fit(kernels)
    w = np.full(len(kernels), 1 / len(kernels))
    K, gain, ridge = weighted_sum(w, kernels), 1 + lam1, 2 * lam2
    Z = graphs.clipped_ridge(K, gain, ridge)
    values = [spmkc_value(kernels, Z, K, w, *lam)]
    for recorded in model.objective_history_:
        Z = graphs.self_expression(K, gain, ridge, Z)
        assert_code_optimal(K, Z, gain, ridge, 1e-6 * np.linalg.norm(K))
        values.append(spmkc_value(kernels, Z, K, w, *lam))
        K = spmkc.kernel_step(weighted_sum(w, kernels), Z, gain, lam3)
        assert_kernel_optimal(K, Z, weighted_sum(w, kernels), gain, lam3)
        values.append(spmkc_value(kernels, Z, K, w, *lam))
        w = spmkc.weight_step(K, kernels, gram(kernels), lam3, lam4)
        assert_weights_optimal(w, kernels, Z, K, lam)
        values.append(spmkc_value(kernels, Z, K, w, *lam))
        assert recorded == pytest.approx(values[-1], rel=1e-10)
    assert_monotone(values, -1)
    np.testing.assert_allclose(model.graph_, Z, atol=1e-9 * Z.max())


def assert_kernel_optimal(K, Z, mixture, gain, lam3):
    """K and the slope at K are both positive semi-definite, and orthogonal to each other."""
    pull = (np.eye(len(K)) + Z @ Z.T - gain * (Z + Z.T)) / 2
    slope = pull + 2 * lam3 * (K - mixture)
    size = np.linalg.norm(K)
    scale = np.linalg.norm(pull) + 2 * lam3 * size  # where K > 0 the slope is a cancelled 0
    assert np.linalg.eigvalsh(K).min() >= -1e-12 * size
    assert np.linalg.eigvalsh(slope).min() >= -1e-12 * scale
    assert abs(np.vdot(K, slope)) <= 1e-12 * size * scale


def assert_weights_optimal(w, kernels, Z, K, lam):
    def slope(x):
        misfit = weighted_sum(x, kernels) - K
        return np.array([2 * lam[2] * np.vdot(Kp, misfit) for Kp in kernels]) + 2 * lam[3] * x

    assert_simplex_optimal(slope, w, lambda x: spmkc_value(kernels, Z, K, x, *lam))


def test_spmkc_affinity_keeps_seventy_percent():
    Z = np.random.default_rng(0).random((30, 30)) ** 4
    W = spmkc.affinity(Z)
    np.testing.assert_array_equal(W, W.T)
    A = (Z + Z.T) / 2
    for j in range(30):
        ordered = np.sort(A[:, j])[::-1]
        enough = 1 + np.flatnonzero(np.cumsum(ordered) >= 0.7 * ordered.sum())[0]
        assert (W[A[:, j] >= ordered[enough - 1], j] > 0).all()
        assert np.sum(ordered[: enough - 1]) < 0.7 * ordered.sum()
    assert not spmkc.affinity(np.zeros((4, 4))).any()


def test_spmkc_says_when_one_kernel_takes_all(planted):
    with (
        pytest.warns(DegenerateWarning, match="the kernel of view. has all the weight"),
        pytest.warns(ConvergenceWarning),
    ):
        model = SPMKC(3, lam1=16.0, lam3=1.0, lam4=0.0, random_state=0).fit(planted)
    assert model.weights_.max() > 1 - 1e-6


@pytest.mark.parametrize(("n_neighbors", "noise"), [(6, 0.5), (6, 1.5), (2, 1.0), (4, 1.0)])
def test_cagl_follows_its_rule_at_every_step(n_neighbors, noise, monkeypatch):
    seen = []

    def watched(V, q):
        seen.append(graphs.neighbor_weights(V, q))
        return seen[-1]

    monkeypatch.setattr(cagl, "neighbor_weights", watched)
    kernels = kernels_of(60, noise=noise)
    codes = [graphs.self_expression(K, 7.0, 1.0).T for K in kernels]
    model = CAGL(3, alpha=6.0, n_neighbors=n_neighbors, **AS_GIVEN).fit(kernels)
    counts = model.component_history_.tolist()
    assert counts == [graphs.components(S)[0] for S in seen[1:]]
    assert all(count != 3 for count in counts[:-1])
    F = graphs.lowest_eigenpairs(seen[0], 3)[1]
    lam = np.linalg.norm(sum(codes) / 3) / np.linalg.norm(cdist(F, F, "sqeuclidean"))
    for last, S, count in zip(seen, seen[1:], counts, strict=False):
        w = cagl.graph_weights(last, codes)
        V = weighted_sum(w, codes) - lam / 2 * cdist(F, F, "sqeuclidean")
        np.testing.assert_allclose(S, graphs.neighbor_weights(V, n_neighbors), atol=1e-10)
        assert np.count_nonzero(S, axis=1).max() <= n_neighbors
        lam = lam * 2 if count < 3 else lam / np.sqrt(2)
        F = graphs.lowest_eigenpairs(S, 3)[1] if count <= 3 else F
    np.testing.assert_array_equal(model.graph_, seen[-1])
    np.testing.assert_allclose(model.weights_, w, atol=1e-14)
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, F @ F.T, atol=1e-10)


def test_cagl_codes_are_optimal(planted):
    model = CAGL(3, alpha=2.0).fit(planted)
    for K, value in zip(KernelBank(planted, KernelRecipe()), model.code_objectives_, strict=True):
        Z = graphs.self_expression(K, 3.0, 1.0, tolerance=1e-12)
        assert_code_optimal(K, Z, 3.0, 1.0, 1e-9)
        traces = np.trace(K - 2 * K @ Z + Z.T @ K @ Z) / 2 - 2 * np.trace(K @ Z)
        assert value == pytest.approx(traces + np.sum(Z**2) / 2, rel=1e-9)


def test_cagl_falls_back_on_kmeans(planted):
    with pytest.warns(ConvergenceWarning, match="labels are by k-means"):
        model = CAGL(3, n_neighbors=1, random_state=0).fit(planted)
    assert not model.converged_
    assert model.n_components_ == model.component_history_[-1] != 3
    assert np.unique(model.labels_).tolist() == [0, 1, 2]
