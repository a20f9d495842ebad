"""Kernels close to the identity are reported by name; nothing else is."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from mkclust import MKCDNM, GraphFusion, MultiView
from mkclust.data.datasets import make_views
from mkclust.data.input import isolated_share, warn_of_input
from mkclust.exceptions import DegenerateWarning

X = make_views(60, 3, 1, noise=0.5, random_state=0).views[0]


def gaussian(width):
    squared = euclidean_distances(X, squared=True)
    return np.exp(-squared / (2 * width**2 * squared.max()))


KERNELS = {"narrow": gaussian(0.005), "wide": gaussian(1.0), "linear": X @ X.T}


@pytest.mark.parametrize(
    "method", [GraphFusion(3, precomputed=True), MKCDNM(3, kernel="precomputed")]
)
def test_a_kernel_close_to_the_identity_is_named(method):
    with pytest.warns(DegenerateWarning, match="^narrow: most samples are similar to no other"):
        method.set_params(random_state=0).fit(KERNELS)


@pytest.mark.filterwarnings("error::mkclust.exceptions.DegenerateWarning")
def test_other_kernels_are_not_nor_samples_that_a_kernel_lacks():
    centered = X - X.mean(axis=0)
    given = {"wide": gaussian(1.0), "linear": centered @ centered.T, "constant": np.ones((60, 60))}
    K = gaussian(1.0)
    K[40:], K[:, 40:] = np.nan, np.nan
    warn_of_input(MultiView(given, kernels=True))
    warn_of_input(MultiView([np.array([[1.0, -1.0], [-1.0, 1.0]])], kernels=True))
    warn_of_input(MultiView({"all": gaussian(1.0), "some": K}, kernels=True))


@pytest.mark.parametrize("unit", [1.0, 1e-200, 1e200])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float64])
def test_the_share_counts_samples_without_any_similarity(form, unit):
    K = np.eye(10)
    K[:4, :4] += 1.0  # four of ten are similar to each other
    scale = np.linspace(1, 50, 10)
    before = form(K * np.outer(scale, scale) * unit)
    kept = before.copy()
    assert isolated_share(before) == pytest.approx(0.6)
    assert (before != kept).sum() == 0


def test_similarities_below_rounding_count_as_none():
    assert isolated_share(np.eye(6) + 4e-10 * (1 - np.eye(6))) == 1.0
    assert isolated_share(np.eye(6) + 6e-10 * (1 - np.eye(6))) == 0.0
