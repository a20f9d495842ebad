"""Samples that are equal in every view share a cluster, in every method."""

import numpy as np
import pytest
import scipy.sparse as sp

from mkclust import METHODS, MKCDNM, GraphFusion, MultiView, datasets, load, verify
from mkclust.data.copies import Copies, copies_in
from mkclust.exceptions import DegenerateWarning

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
def test_two_repeated_samples_are_the_two_clusters(name):
    views, group = repeated(500, 3)
    model = METHODS[name](2, random_state=0).fit(views)
    if name not in FEW:
        assert sorted(np.bincount(model.labels_)) == [3, 500]
    assert is_union(model.labels_, group)
    assert "the 2 distinct samples were clustered" in model.notes_[-1]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")
def test_copies_are_never_divided(name):
    for counts in ([40, 30, *[1] * 20], [12, 9, *[1] * 40], [2] * 8 + [1] * 40):
        views, group = repeated(*counts)
        order = np.random.default_rng(1).permutation(len(group))
        labels = METHODS[name](3, random_state=0).fit([view[order] for view in views]).labels_
        assert len(labels) == len(group) and is_union(labels, group[order])


def test_the_fit_of_copies_is_that_of_the_distinct_samples():
    views = datasets.make_views(60, n_clusters=3, n_views=2, noise=0.5, random_state=0)
    group = np.random.default_rng(0).permutation(np.repeat(np.arange(60), 3))
    many = [view[group] for view in views.views]
    with pytest.warns(DegenerateWarning, match=r"120 of 180 samples are equal to others"):
        model = GraphFusion(3, random_state=0).fit(many)
    first = np.unique(group, return_index=True)[1]
    alone = GraphFusion(3, random_state=0).fit([view[np.sort(first)] for view in many])
    np.testing.assert_array_equal(model.labels_[np.sort(first)], alone.labels_)
    assert model.embedding_.shape[0] == 180
    np.testing.assert_array_equal(model.predict(many), model.labels_)
    assert verify(model, many).holds


def test_divided_copies_are_told_and_verified(monkeypatch):
    views, group = repeated(2, 2, *[1] * 60)
    fit = GraphFusion._fit

    def divided(self, views, k):
        fit(self, views, k)
        self.labels_[1] = (self.labels_[0] + 1) % k

    monkeypatch.setattr(GraphFusion, "_fit", divided)
    with pytest.warns(DegenerateWarning, match="1 samples were moved .* share a cluster"):
        model = GraphFusion(3, random_state=0).fit(views)
    assert is_union(model.labels_, group) and "share a cluster" in model.notes_[-1]


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")
def test_given_kernels_keep_their_rows():
    (X, Y), group = repeated(40, 30, *[1] * 10)
    model = MKCDNM(2, kernel=["gaussian", "precomputed"], random_state=0).fit([X, Y @ Y.T])
    assert is_union(model.labels_, group) and not hasattr(model, "_distinct")
    kernels = MultiView([X @ X.T, Y @ Y.T], kernels=True)
    model = GraphFusion(2, random_state=0).fit(kernels)
    assert is_union(model.labels_, group) and len(model.embedding_) == 80


def test_a_saved_model_of_copies_predicts_them(tmp_path):
    views = datasets.make_views(60, n_clusters=3, n_views=2, noise=0.5, random_state=0)
    many = [np.repeat(view, 3, axis=0) for view in views.views]
    with pytest.warns(DegenerateWarning, match="distinct samples"):
        model = MKCDNM(3, random_state=0).fit(many)
    again = load(model.save(tmp_path / "m.npz"))
    np.testing.assert_array_equal(again.predict(many), model.labels_)
    model.fit(views)
    assert not hasattr(model, "_distinct")


def test_data_without_copies_are_left_alone():
    views = datasets.make_views(60, n_clusters=3, n_views=2, noise=0.5, random_state=0)
    assert copies_in(views) is None


def test_copies_are_equal_in_every_view_whatever_the_storage():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0], [0.0, 1.0]])
    Y = np.array([[1.0], [1.0], [1.0], [2.0]])
    for view in (X, np.asfortranarray(X), sp.csr_array(X), sp.csr_array(X[:, ::-1])[:, ::-1]):
        found = copies_in(MultiView([view, Y]))
        assert found.group.tolist() == [0, 0, 1, 2]
    stored = sp.csr_array((np.array([0.0, 1.0, 1.0]), np.array([0, 1, 1]), np.array([0, 2, 3])))
    assert copies_in(MultiView([stored])).group.tolist() == [0, 0]


def test_a_sample_that_a_view_lacks_is_no_copy_of_one_that_it_holds():
    X = np.tile([1.0, 2.0], (4, 1))
    present = np.array([[True, True], [True, False], [True, False], [True, True]])
    views = MultiView([X, sp.csr_array(X * 0)], present=present)
    assert copies_in(views).group.tolist() == [0, 1, 1, 0]


def test_most_copies_decide_then_the_larger_cluster():
    copies = Copies(np.array([0, 0, 0, 1, 1, 2, 3]))
    assert copies.united(np.array([1, 1, 0, 0, 1, 0, 0])).tolist() == [1, 1, 1, 0, 0, 0, 0]
