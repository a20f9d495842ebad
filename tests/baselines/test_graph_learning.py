"""SWMC, SPMKC and CAGL: what they share, SWMC's reference outputs, and hard cases."""

import numpy as np
import pytest
import scipy.linalg
from scipy.io import loadmat

from _support.optimality import assert_monotone
from mkclust.baselines import SWMC, swmc
from mkclust.baselines import graph_learning as graphs
from mkclust.baselines.linalg import project_rows
from mkclust.data.datasets import make_views
from mkclust.exceptions import ConvergenceWarning


@pytest.fixture(scope="module")
def planted():
    return make_views(90, 3, 3, noise=0.5, random_state=0)


def neighbor_graph(n, q, seed=0):
    return graphs.neighbor_weights(np.random.default_rng(seed).standard_normal((n, n)), q)


def assert_graph(S, zero_diagonal=True):
    """Rows on the simplex."""
    assert S.min() >= 0
    np.testing.assert_allclose(S.sum(axis=1), 1, atol=1e-12)
    assert not zero_diagonal or not np.diagonal(S).any()


@pytest.mark.parametrize(("n", "q"), [(30, 5), (30, 28), (3, 1), (3, 7)])
def test_neighbor_weights_project_the_scaled_similarities(n, q):
    V = np.random.default_rng(q).standard_normal((n, n))
    S = graphs.neighbor_weights(V, q)
    assert_graph(S)
    assert (np.count_nonzero(S, axis=1) == min(q, n - 2)).all()
    off = ~np.eye(n, dtype=bool)
    kept = -np.sort(-V[off].reshape(n, n - 1), axis=1)[:, : min(q, n - 2) + 1]
    scale = 1 / (kept - kept[:, -1:]).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(S, project_rows(V * scale, off), atol=1e-12)


def test_neighbor_weights_of_ties_and_pairs():
    np.testing.assert_array_equal(graphs.neighbor_weights(np.ones((2, 2)), 1), [[0, 1], [1, 0]])
    S = graphs.neighbor_weights(np.zeros((6, 6)), 3)
    assert_graph(S)
    assert set(np.unique(S)) == {0, 1 / 3}


@pytest.mark.parametrize("n", [60, 600])
@pytest.mark.parametrize("blocks", [1, 3])
def test_lowest_eigenpairs(n, blocks):
    graph = scipy.linalg.block_diag(*(neighbor_graph(n // blocks, 6, b) for b in range(blocks)))
    values, F = graphs.lowest_eigenpairs(graph, 7)
    L = graphs.laplacian(graph)
    np.testing.assert_allclose(F.T @ F, np.eye(7), atol=1e-12)
    np.testing.assert_allclose(L @ F, F * values, atol=1e-11)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(L)[:7], atol=1e-12)
    assert np.abs(values[:blocks]).max() <= 1e-12


@pytest.mark.parametrize("n", [40, 550])
def test_lowest_eigenpairs_keep_negative_entries(n):
    A = np.random.default_rng(0).standard_normal((n, n))
    values, F = graphs.lowest_eigenpairs(A, 4)
    L = np.diag((A + A.T).sum(axis=1) / 2) - (A + A.T) / 2
    np.testing.assert_allclose(values, np.linalg.eigvalsh(L)[:4], rtol=1e-10)
    np.testing.assert_allclose(L @ F, F * values, atol=1e-9)


def test_more_components_than_asked_for_give_the_largest():
    graph = scipy.linalg.block_diag(*(np.ones((size, size)) for size in (2, 5, 1, 4)))
    values, F = graphs.lowest_eigenpairs(graph, 2)
    assert not values.any()
    assert np.count_nonzero(F, axis=0).tolist() == [5, 4]


@pytest.mark.parametrize("name", ["synth60", "AR10P", "YALE"])
def test_swmc_gives_the_output_of_its_authors_program(name, request):
    folder = request.getfixturevalue("synth60_dir" if name == "synth60" else "fixture_dir")
    given, expected = (loadmat(folder / f"{name}_{part}.mat") for part in ("input", "swmc"))
    stack = np.ascontiguousarray(np.moveaxis(given["KH"], 2, 0))
    as_given = {"kernel": "precomputed", "center": False, "normalize": False}
    model = SWMC(int(given["k"].item()), graph="kernel", **as_given).fit(stack)
    np.testing.assert_allclose(model.graph_, expected["Sg"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.weights_, expected["alpha"].ravel(), rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.objective_history_, expected["Obj"].ravel(), rtol=1e-10)
    np.testing.assert_array_equal(model.labels_, expected["y"].ravel() - 1)
    assert_graph(model.graph_, zero_diagonal=False)
    assert_monotone(model.objective_history_, -1)


def test_swmc_leaves_a_sample_without_positive_entries_to_itself():
    A = neighbor_graph(20, 4)
    A[3] = -1.0
    S, _ = swmc.rank_constrained_graph(A, 1.0, 2, graphs.lowest_eigenpairs(A, 2)[1])
    assert_graph(S, zero_diagonal=False)
    assert S[3, 3] == 1


@pytest.mark.parametrize(
    ("n", "given", "k", "settings"), [(90, 3, 1, {"graph": "kernel"}), (8, 1, 7, {})]
)
def test_swmc_warns_of_more_and_of_fewer_clusters_than_asked(n, given, k, settings, planted):
    """`given` clusters instead of k, and as many labels as components."""
    message = f"SWMC found another number of clusters than asked for: {given} instead of {k}; "
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model = SWMC(k, **settings).fit([view[:n] for view in planted.views])
    assert model.n_components_ == len(np.unique(model.labels_)) == given
    assert {warning.filename for warning in caught} == {__file__}
