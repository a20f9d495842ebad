"""Samples that are equal in every view share a cluster, in every method."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from mkclust import METHODS, MKCDNM, GraphFusion, MultiView, datasets, load, verify
from mkclust.exceptions import DegenerateWarning
from mkclust.linalg.kmeans import unit_rows

FEW = {"swmc"}  # merges two distinct samples into one cluster, and warns of it


def repeated(*counts, seed=0):
    """Two views in which every distinct sample appears as often as asked."""
    random = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(counts)), counts)
    return [random.standard_normal((len(counts), f))[group] for f in (5, 4)], group


def is_union(labels, group):
    return all(len(set(labels[group == g])) == 1 for g in np.unique(group))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")
def test_duplicates_are_never_divided(name):
    for counts in ([100, 3], [12, 9, *[1] * 40]):
        views, group = repeated(*counts)
        order = np.random.default_rng(1).permutation(len(group))
        model = METHODS[name](2, random_state=0).fit([view[order] for view in views])
        assert len(model.labels_) == len(group) and is_union(model.labels_, group[order])
        if counts == [100, 3]:
            assert name in FEW or sorted(np.bincount(model.labels_)) == [3, 100]
            assert "the 2 distinct samples were clustered" in model.notes_[-1]


@pytest.mark.parametrize("method", [GraphFusion, MKCDNM])
def test_a_fit_of_duplicates_is_that_of_the_distinct_samples(method, tmp_path):
    views = datasets.make_views(60, n_clusters=3, n_views=2, noise=0.5, random_state=0)
    group = np.random.default_rng(0).permutation(np.repeat(np.arange(60), 3))
    many = [view[group] for view in views.views]
    with pytest.warns(DegenerateWarning, match=r"120 of 180 samples are equal to others"):
        model = method(3, random_state=0).fit(many)
    first = np.sort(np.unique(group, return_index=True)[1])
    alone = method(3, random_state=0).fit([view[first] for view in many])
    np.testing.assert_array_equal(model.labels_[first], alone.labels_)
    assert len(model.embedding_) == 180 and verify(model, many).holds
    away = unit_rows(model.embedding_) - model.cluster_centers_[model.labels_]
    assert model.inertia_ == pytest.approx(np.sum(away**2))
    again = load(model.save(tmp_path / "m.npz"))
    np.testing.assert_array_equal(again.predict(many), model.labels_)
    assert model.fit(views)._distinct is None


def fit_that_divides_duplicates():
    """The first of drawn fits in which k-means divides duplicates: rounding decides which it is."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        k, levels, n = (int(rng.integers(*limits)) for limits in ((2, 15), (3, 6), (100, 300)))
        views = [rng.integers(0, levels, (n, f)).astype(float) for f in (3, 2)]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = GraphFusion(k, random_state=0).fit(views)
        if any("were moved to the cluster of their copies" in str(w.message) for w in caught):
            return model, views
    raise AssertionError("k-means divides duplicates in none of the fits")


def test_duplicates_that_k_means_divides_have_the_membership_of_their_cluster(tmp_path):
    model, views = fit_that_divides_duplicates()
    group = np.unique(np.hstack(views), axis=0, return_inverse=True)[1].ravel()
    assert is_union(model.labels_, group) and verify(model, views).holds
    np.testing.assert_array_equal(model.membership_.argmax(axis=1), model.labels_)
    again = load(model.save(tmp_path / "m.npz"))
    np.testing.assert_array_equal(again.membership_, model.membership_)


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")
def test_given_kernels_keep_their_rows():
    (X, Y), group = repeated(40, 30, *[1] * 10)
    model = MKCDNM(2, kernel=["gaussian", "precomputed"], random_state=0).fit([X, Y @ Y.T])
    assert is_union(model.labels_, group) and model._distinct is None


def test_duplicates_are_equal_in_every_view_whatever_the_storage():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0], [0.0, 1.0]])
    Y = np.array([[1.0], [1.0], [1.0], [2.0]])

    def groups(*views, **known):
        hashes = MultiView(views, **known).row_hashes()
        return np.unique(hashes, axis=0, return_inverse=True)[1].ravel()

    for view in (X, np.asfortranarray(X), sp.csr_array(X), sp.csr_array(X[:, ::-1])[:, ::-1]):
        first, same, *others = groups(view, Y)
        assert first == same and len({first, *others}) == 3
    stored = sp.csr_array((np.array([0.0, 1.0, 1.0]), np.array([0, 1, 1]), np.array([0, 2, 3])))
    assert len(set(groups(stored))) == 1
    whole = np.random.default_rng(0).integers(-3, 4, (20_000, 8)).astype(float)
    assert groups(whole).max() + 1 == len(np.unique(whole, axis=0))
    present = np.array([[True, True], [True, False], [True, False], [True, True]])
    one, two, three, four = groups(X[[1] * 4], sp.csr_array(X * 0), present=present)
    assert one == four != two == three
