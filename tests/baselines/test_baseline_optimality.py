"""Every step of the compared methods is the best one: what any correct program must satisfy.

Objectives are written here from their definition and followed through every block update; each
update is held to its first-order condition and against feasible neighbors.
"""

import numpy as np
import pytest

from _support.optimality import (
    assert_leading,
    assert_monotone,
    assert_polar,
    assert_simplex_optimal,
)
from _support.planted import orthonormal, projector
from mkclust.baselines import HMKC, MKKM, MKKMMR, ONKC, hmkc, lfmkc, mkkm, mkkm_mr, onkc, oplf
from mkclust.baselines.linalg import gram, polar, residuals, top_of_projectors, unit, weighted_sum
from mkclust.data.datasets import make_views
from mkclust.kernels.bank import KernelBank, KernelRecipe
from mkclust.linalg.eigenpairs import top_eigenpairs

K_CLUSTERS = 3


@pytest.fixture(scope="module", params=["hard", "duplicated", "single"])
def kernels(request):
    views = {
        "hard": {"noise": 2.0, "n_views": 4},
        "duplicated": {"noise": 1.5},
        "single": {"noise": 1.5, "n_views": 1},
    }[request.param]
    found = list(KernelBank(make_views(50, 3, random_state=0, **views), KernelRecipe()))
    return [*found, found[0]] if request.param == "duplicated" else found


def fit(kind, kernels, **settings):
    """The estimator on kernels as they are."""
    as_given = {"kernel": "precomputed", "center": False, "normalize": False, "n_init": 1}
    return kind(K_CLUSTERS, random_state=0, **as_given, **settings).fit(kernels)


def left_over(K, H):
    return np.trace(K @ (np.eye(len(K)) - projector(H)))


def test_mkkm_falls_at_every_step(kernels):
    def value(theta, H):
        return sum(t**2 * left_over(K, H) for t, K in zip(theta, kernels, strict=True))

    model = fit(MKKM, kernels)
    theta, values, recorded = np.full(len(kernels), 1 / len(kernels)), [], []
    for _ in model.objective_history_:
        H = top_eigenpairs(weighted_sum(theta**2, kernels), K_CLUSTERS)[1]
        assert_leading(weighted_sum(theta**2, kernels), H)
        values.append(value(theta, H))
        theta = mkkm.inverse_weights(residuals(kernels, H))
        values.append(value(theta, H))
        recorded.append(values[-1])
    assert_monotone(values, -1)
    np.testing.assert_allclose(model.objective_history_, recorded, rtol=1e-10)
    np.testing.assert_allclose(model.weights_, theta, atol=1e-12)


@pytest.mark.parametrize("a", [[3.0, 1.0, 2.0], [1e-9, 1.0], [0.0, 2.0, 0.0]])
def test_mkkm_weights(a):
    a = np.array(a)
    theta = mkkm.inverse_weights(a)
    assert_simplex_optimal(lambda x: 2 * a * x, theta, lambda x: x**2 @ a)


def test_mkkm_mr_drops_negligible_weights():
    nearly_useless = np.array([[1.0, 1.0 - 5e-7], [1.0 - 5e-7, 3.0]])
    np.testing.assert_array_equal(mkkm_mr.sparse_weights(nearly_useless), [1.0, 0.0])
    just_useful = np.array([[1.0, 1.0 - 5e-6], [1.0 - 5e-6, 3.0]])
    assert 1e-6 < mkkm_mr.sparse_weights(just_useful)[1] < 1e-5


@pytest.mark.parametrize("lam", [2.0**-8, 2.0**8])
def test_mkkm_mr_ends_with_the_weights_of_its_partition(kernels, lam):
    model = fit(MKKMMR, kernels, lam=lam)
    assert model.converged_
    z = np.array([left_over(K, model.embedding_) for K in kernels])
    Q = lam * gram(kernels) + 2 * np.diag(z)

    def value(x):
        return x**2 @ z + lam / 2 * np.linalg.norm(weighted_sum(x, kernels)) ** 2

    assert_simplex_optimal(lambda x: Q @ x, model.weights_, value)


@pytest.mark.parametrize("rho, lam", [(2.0**-3, 2.0**-2), (2.0**4, 2.0**2)])
def test_onkc_falls_at_every_step(kernels, rho, lam):
    M = gram(kernels)

    def value(G, H, gamma):
        misfit = np.linalg.norm(G - weighted_sum(gamma, kernels)) ** 2
        return left_over(G, H) + rho / 2 * misfit + lam / 2 * gamma @ M @ gamma

    model = fit(ONKC, kernels, rho=rho, lam=lam)
    gamma = np.full(len(kernels), 1 / len(kernels))
    H = top_eigenpairs(weighted_sum(gamma, kernels), K_CLUSTERS)[1]
    G, following = onkc.optimal_kernel(weighted_sum(gamma, kernels), H, rho)
    values, recorded = [value(G, H, gamma)], []
    for _ in model.objective_history_:
        H = following
        assert_leading(G, H)
        values.append(value(G, H, gamma))
        gamma = onkc.kernel_weights(kernels, M, G, rho, lam)
        values.append(value(G, H, gamma))
        G, following = onkc.optimal_kernel(weighted_sum(gamma, kernels), H, rho)
        values.append(value(G, H, gamma))
        recorded.append(values[-1])
    assert_monotone(values, -1)
    np.testing.assert_allclose(model.objective_history_, recorded, rtol=1e-10)
    np.testing.assert_allclose(model.kernel_, G, atol=1e-10)


@pytest.mark.parametrize("rho", [2.0**-3, 2.0**4])
def test_onkc_kernel(kernels, rho):
    """The conditions of a semi-definite program: the slope is positive and orthogonal to G."""
    K = sum(kernels) / len(kernels)
    H = top_eigenpairs(K, K_CLUSTERS)[1]
    G, _ = onkc.optimal_kernel(K, H, rho)
    slope = np.eye(len(K)) - projector(H) + rho * (G - K)
    exact = 1e-9 * np.linalg.norm(K, 2) * max(1, rho)
    assert np.linalg.eigvalsh(G).min() >= -exact
    assert np.linalg.eigvalsh(slope).min() >= -exact
    assert np.abs(slope @ G).max() <= exact


@pytest.mark.parametrize("rho, lam", [(2.0**-3, 2.0**-2), (2.0**4, 0.0)])
def test_onkc_weights(kernels, rho, lam):
    M, rng = gram(kernels), np.random.default_rng(0)
    A = rng.standard_normal((len(kernels[0]), 9))
    G = kernels[0] + 0.1 * A @ A.T

    def value(x):
        misfit = np.linalg.norm(G - weighted_sum(x, kernels)) ** 2
        return rho / 2 * misfit + lam / 2 * x @ M @ x

    def slope(x):
        off = weighted_sum(x, kernels) - G
        return np.array([rho * np.trace(K @ off) for K in kernels]) + lam * M @ x

    assert_simplex_optimal(slope, onkc.kernel_weights(kernels, M, G, rho, lam), value)


def partitions_of(kernels):
    H_p = np.array([top_eigenpairs(K, K_CLUSTERS)[1] for K in kernels])
    return H_p, top_eigenpairs(sum(kernels), K_CLUSTERS)[1]


@pytest.mark.parametrize("lam", [0.0, 1.0])
@pytest.mark.parametrize("init", ["align", "identity"])
def test_lfmkc_rises_at_every_step(kernels, lam, init):
    H_p, H_0 = partitions_of(kernels)

    def faced(gamma, W):
        return sum(g * A @ B for g, A, B in zip(gamma, H_p, W, strict=True)) + lam * H_0

    W = lfmkc.first_rotations(H_p, H_0, init)
    trace = lfmkc.late_fusion(H_p, H_0, W, lam)[-1]
    gamma, H, values, recorded = np.full(len(H_p), 1 / len(H_p)), H_0, [], []
    for _ in trace.values:
        H = polar(faced(gamma, W), guide=H)
        assert_polar(faced(gamma, W), H)
        values.append(np.vdot(H, faced(gamma, W)))
        W = lfmkc.rotations(H_p, H, W)
        for A, B in zip(H_p, W, strict=True):
            assert_polar(A.T @ H, B)
        values.append(np.vdot(H, faced(gamma, W)))
        gamma = unit(lfmkc.alignments(H_p, W, H))
        values.append(np.vdot(H, faced(gamma, W)))
        recorded.append(values[-1])
    assert_monotone(values, +1)
    np.testing.assert_allclose(trace.values, recorded, rtol=1e-10)


def test_late_fusion_does_not_depend_on_the_basis_of_the_partitions(kernels):
    """Flipped signs are the least an eigensolver may do."""
    H_p, H_0 = partitions_of(kernels)
    rng = np.random.default_rng(0)
    turned = np.array([A @ orthonormal(rng, A.shape[1], A.shape[1]) for A in H_p])
    C = oplf.first_centroids(H_0, np.arange(len(H_0)) % K_CLUSTERS)
    (one, W), (two, V) = ((A, lfmkc.first_rotations(A, H_0, "align")) for A in (H_p, turned))
    for found, other in (
        (lfmkc.late_fusion(one, H_0, W, 1.0), lfmkc.late_fusion(two, H_0, V, 1.0)),
        (oplf.one_pass(one, C, W), oplf.one_pass(two, C, V)),
    ):
        np.testing.assert_allclose(found[0], other[0], atol=1e-9)
        np.testing.assert_allclose(found[-1].values, other[-1].values, rtol=1e-10)


@pytest.mark.parametrize("init", ["align", "identity"])
def test_oplf_rises_at_every_step(kernels, init):
    H_p, H_0 = partitions_of(kernels)
    W = lfmkc.first_rotations(H_p, H_0, init)
    C = oplf.first_centroids(H_0, np.arange(len(H_0)) % K_CLUSTERS)
    found, *_, trace = oplf.one_pass(H_p, C, W)
    beta, values, recorded = np.full(len(H_p), len(H_p) ** -0.5), [], []
    for _ in trace.values:
        R = oplf.fuse(beta, H_p, W)
        labels = (R @ C.T).argmax(axis=1)
        Y = np.eye(K_CLUSTERS)[labels]
        values.append(np.vdot(Y @ C, R))
        C = polar(oplf.cluster_sums(R, labels), guide=C)
        assert_polar(Y.T @ R, C)
        values.append(np.vdot(Y @ C, R))
        beta = oplf.view_weights(oplf.alignments(H_p, W, Y @ C))
        values.append(np.vdot(Y @ C, oplf.fuse(beta, H_p, W)))
        W = oplf.rotations(H_p, Y @ C, W)
        for A, B in zip(H_p, W, strict=True):
            assert_polar(A.T @ Y @ C, B)
        values.append(np.vdot(Y @ C, oplf.fuse(beta, H_p, W)))
        recorded.append(values[-1])
    assert_monotone(values, +1)
    np.testing.assert_allclose(trace.values, recorded, rtol=1e-10)
    np.testing.assert_array_equal(found, labels)


@pytest.mark.parametrize("aligned", [[3.0, 1.0], [2.0, -1.0, 0.5], [-2.0, -1.0], [0.0, 0.0]])
def test_oplf_weights(aligned):
    aligned = np.array(aligned)
    beta = oplf.view_weights(aligned)
    assert (beta >= 0).all()
    assert np.linalg.norm(beta) == pytest.approx(1)
    others = np.abs(np.random.default_rng(0).standard_normal((200, len(aligned))))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    assert (others @ aligned).max() <= beta @ aligned + 1e-12


@pytest.mark.parametrize("c1, c2", [(12, 9), (6, 12), (49, 49)])
def test_hmkc_rises_at_every_step(kernels, c1, c2):
    def value(H, H1, H2, weights):
        links = hmkc.link_strengths(kernels, H1, H2, H)
        return sum(np.dot(*pair) for pair in zip(weights, links, strict=True))

    model = fit(HMKC, kernels, c1=c1, c2=c2)
    H1 = [top_eigenpairs(K, c1)[1] for K in kernels]
    H2 = [top_eigenpairs(K, c2)[1] for K in kernels]
    w = [np.full(len(kernels), 1 / len(kernels))] * 3
    values, recorded = [], []
    for iteration in range(model.n_iter_):
        H = top_of_projectors(H2, w[2], K_CLUSTERS, np.mean(kernels, axis=0))
        values.append(value(H, H1, H2, w))
        for layer in (1, 2) if iteration % 2 == 0 else (2, 1):
            if layer == 1:
                H1 = hmkc.first_layers(kernels, H2, w[0], w[1], c1)
            else:
                H2 = hmkc.second_layers(kernels, H1, H, w[1], w[2], c2)
            values.append(value(H, H1, H2, w))
        w = [unit(link) for link in hmkc.link_strengths(kernels, H1, H2, H)]
        values.append(value(H, H1, H2, w))
        recorded.append(values[-1])
    assert_monotone(values, +1)
    np.testing.assert_allclose(model.objective_history_, recorded, rtol=1e-10)


def test_hmkc_blocks(kernels):
    rng = np.random.default_rng(0)
    m, n = len(kernels), len(kernels[0])
    H1 = [orthonormal(rng, n, 10) for _ in kernels]
    H2 = [orthonormal(rng, n, 7) for _ in kernels]
    omega1, omega2, beta = rng.random((3, m))
    H = top_of_projectors(H2, beta, K_CLUSTERS, np.mean(kernels, axis=0))
    assert_leading(weighted_sum(beta, [projector(B) for B in H2]), H)
    for p, A in enumerate(hmkc.first_layers(kernels, H2, omega1, omega2, 10)):
        assert_leading(omega1[p] * kernels[p] + omega2[p] * projector(H2[p]), A)
    for p, B in enumerate(hmkc.second_layers(kernels, H1, H, omega2, beta, 7)):
        assert_leading(omega2[p] * projector(H1[p]) + beta[p] * projector(H), B)
