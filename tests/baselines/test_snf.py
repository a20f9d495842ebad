"""Similarity network fusion: equal to another implementation, and its parts one by one."""

import numpy as np
import pytest
from scipy.stats import norm

from mkclust import SNF
from mkclust.baselines.snf import scaled_affinity
from mkclust.data.datasets import load_mfeat, make_views

pytestmark = pytest.mark.versions


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean"])
def test_the_fused_network_is_that_of_snfpy(metric, pytestconfig):
    """tools/snf_reference.py wrote the record with snfpy 0.2.2."""
    record = np.load(pytestconfig.rootpath / "tests" / "data" / "snf_mfeat60.npz")
    sixty = load_mfeat()[::33][:60].select(["fou", "zer", "mor"])
    found = SNF(10, metric=metric, random_state=0).fit(sixty).graph_
    np.testing.assert_allclose(found, record[metric], rtol=1e-8, atol=1e-12)


def test_affinities_are_normal_densities():
    D = np.abs(np.subtract.outer(*2 * [np.random.default_rng(0).standard_normal(12)]))
    W, mean = scaled_affinity(D, 4, 0.3), np.sort(D, axis=1)[:, 1:5].mean(axis=1)
    sigma = 0.3 * (np.add.outer(mean, mean) + D) / 3
    np.testing.assert_allclose(W, norm.pdf(D, scale=sigma), rtol=1e-12)


def test_the_network_is_symmetric_and_the_embedding_its_eigenvectors():
    model = SNF(3, random_state=0).fit(make_views(60, 3, 3, noise=0.8, random_state=1))
    W, H = model.graph_, model.embedding_
    np.testing.assert_array_equal(W, W.T)
    scale = 1 / np.sqrt(W.sum(axis=1))
    A = W * scale[:, None] * scale
    values = np.linalg.eigvalsh(A)[::-1][:3]
    np.testing.assert_allclose(A @ H, H * values, atol=1e-10)
    np.testing.assert_allclose(H.T @ H, np.eye(3), atol=1e-10)
