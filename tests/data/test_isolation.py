"""Kernels close to the identity are reported by name; nothing else is."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from mkclust import METHODS, MKCDNM, GraphFusion, MultiView
from mkclust.data.datasets import make_views
from mkclust.data.input_warnings import isolated_share, warn_of_isolation
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


def test_other_kernels_and_tables_are_not():
    centered = X - X.mean(axis=0)
    given = {"wide": gaussian(1.0), "linear": centered @ centered.T, "constant": np.ones((60, 60))}
    with warnings.catch_warnings():
        warnings.simplefilter("error", DegenerateWarning)
        warn_of_isolation(MultiView(given, kernels=True))
        warn_of_isolation(MultiView([np.eye(60)]))  # a table
        warn_of_isolation(MultiView([np.array([[1.0, -1.0], [-1.0, 1.0]])], kernels=True))


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
    K = np.eye(6) + 4e-10 * (1 - np.eye(6))
    assert isolated_share(K) == 1.0
    assert isolated_share(np.eye(6) + 6e-10 * (1 - np.eye(6))) == 0.0


def test_samples_that_a_kernel_lacks_are_not_counted():
    K = gaussian(1.0)
    K[40:], K[:, 40:] = np.nan, np.nan
    present = np.ones((60, 2), dtype=bool)
    present[40:, 1] = False
    views = MultiView({"all": gaussian(1.0), "some": K}, present=present, kernels=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DegenerateWarning)
        warn_of_isolation(views)


@pytest.mark.parametrize("name", ["akkm", "snf"])
def test_labels_do_not_depend_on_the_warning(name, monkeypatch):
    views = MultiView(KERNELS, kernels=True)
    with pytest.warns(DegenerateWarning):
        told = METHODS[name](3, random_state=0).fit(views).labels_
    monkeypatch.setattr("mkclust.base.warn_of_isolation", lambda views: None)
    np.testing.assert_array_equal(METHODS[name](3, random_state=0).fit(views).labels_, told)


def test_mkc_dnm_keeps_more_eigenvectors_of_all_kernels_for_it():
    """Two random subspaces overlap by d_p d_q / n: by k where both have about sqrt(kn) columns."""
    given = {name: KERNELS[name] for name in ("wide", "linear")}
    model = MKCDNM(3, kernel="precomputed", random_state=0)
    few = model.fit(given).dimensions_
    with pytest.warns(DegenerateWarning):
        many = model.fit({**given, "narrow": KERNELS["narrow"]}).dimensions_
    assert few.max() <= 6
    assert np.median(many) == pytest.approx(np.sqrt(3 * 60), rel=0.4)
