"""`verify` of GraphFusion: a right fit holds, and every kind of tampering is named."""

from copy import copy

import numpy as np
import pytest

from mkclust import GraphFusion, MultiView, datasets
from mkclust.exceptions import DegenerateWarning, InputError
from mkclust.graph_fusion.fusion import fuse
from mkclust.graph_fusion.view_graphs import ViewGraphs
from mkclust.linalg.kmeans import unit_rows
from mkclust.linalg.verification import kmeans_checks

CLAIMS = (
    "the weights follow from overlap and redundancy",
    "the eigenvectors are orthonormal",
    "the embedding consists of the leading eigenvectors of the fused graph",
    "the eigenvalues are those of the fused graph",
    "every label is that of the nearest center",
    "every center is the mean of its cluster",
    "no step of k-means lowers the inertia",
    "no move of one sample lowers the inertia",
)
WEIGHTS, ORTHONORMAL, LEADING, VALUES, NEAREST, MEANS, STEP, MOVE = CLAIMS


@pytest.fixture(scope="module")
def views():
    made = datasets.make_views(80, 3, 3, noise=1.2, random_state=0)
    return MultiView(made.views, index=[f"s{i}" for i in range(80)])


@pytest.fixture(scope="module")
def model(views):
    return GraphFusion(3, random_state=0).fit(views)


def failed(model, views):
    return [check.claim for check in model.verify(views).checks if not check.holds]


def changed(model, **attributes):
    other = copy(model)
    for name, value in attributes.items():
        setattr(other, name, value)
    return other


def test_a_fit_holds(model, views):
    found = model.verify(views)
    assert tuple(check.claim for check in found.checks) == CLAIMS
    assert found.holds and found.near_ties == ()
    limits = [1e-5, 1e-8, 1e-6, 1e-6, 0.0, 1e-3, 1e-3, 2 / 80]
    assert [check.limit for check in found.checks] == limits


def test_changed_weights(model, views):
    assert WEIGHTS in failed(changed(model, weights_=model.weights_[[1, 0, 2]]), views)
    away = np.array([1.0, -1.0, 0.0])
    nearly = model.weights_ + 9e-6 * away
    assert WEIGHTS not in failed(changed(model, weights_=nearly), views)
    assert WEIGHTS in failed(changed(model, weights_=model.weights_ + 2e-5 * away), views)


def test_changed_embedding(model, views):
    longer = changed(model, embedding_=model.embedding_ * 1.001)
    assert failed(longer, views) == [ORTHONORMAL]
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((7, 7)))[0]
    scales = np.maximum(model.eigenvalues_ / model.eigenvalues_[0], 1e-3) ** 2
    turned = changed(model, embedding_=(model.embedding_ / scales @ Q) * scales)
    assert LEADING in failed(turned, views) and ORTHONORMAL not in failed(turned, views)


def test_changed_eigenvalues(model, views):
    values = model.eigenvalues_.copy()
    values[-1] -= 1e-3
    assert VALUES in failed(changed(model, eigenvalues_=values), views)


def test_vectors_of_other_eigenvalues_are_no_leading_ones(model, views):
    graph = fuse(ViewGraphs(views, model.n_neighbors_), model.weights_)
    values, vectors = np.linalg.eigh(graph.toarray())
    some = [-1, -2, -3, -4, -5, -6, -8]  # the seventh is skipped
    scales = np.maximum(values[some] / values[-1], 1e-3) ** 2
    other = changed(model, embedding_=vectors[:, some] * scales, eigenvalues_=values[some].copy())
    assert {LEADING, VALUES} <= set(failed(other, views))


def test_a_changed_label(model, views):
    labels = model.labels_.copy()
    labels[0] = (labels[0] + 1) % 3
    found = changed(model, labels_=labels).verify(views)
    assert found.checks[4].error == pytest.approx(1 / 80)
    assert {NEAREST, MEANS} <= {check.claim for check in found.checks if not check.holds}


def test_changed_centers(model, views):
    moved = model.cluster_centers_.copy()
    moved[1, 0] += 2e-3
    found = changed(model, cluster_centers_=moved).verify(views)
    plain = model.verify(views)
    assert not found.checks[5].holds
    assert abs(found.checks[5].error - 2e-3) <= plain.checks[5].error + 1e-12


def test_samples_are_compared_by_name(model, views):
    turned = MultiView([view[::-1] for view in views.views], index=views.index[::-1])
    assert model.verify(turned).holds
    named = list(views.index)
    named[3:5] = ["t3", "t4"]
    with pytest.raises(InputError, match="2 of the 80 fitted samples are not in views"):
        model.verify(MultiView(views.views, index=named))


def test_other_data(model, views):
    X = [view.copy() for view in views.views]
    X[1] += np.random.default_rng(0).standard_normal(X[1].shape)
    with pytest.raises(InputError, match=r"has other values than in the fit, in 80 of 80"):
        model.verify(MultiView(X, names=views.names, index=views.index))


@pytest.mark.parametrize("case", ["one cluster", "few samples", "kernels", "neighbors"])
def test_other_fits_hold(views, case):
    data, k, settings = views, 3, {}
    if case == "one cluster":
        k = 1
    elif case == "few samples":
        data, k = views[:7], 4
    elif case == "kernels":
        data = MultiView([X @ X.T + 0.3 * np.eye(80) for X in views.views], kernels=True)
        data.views[0][np.arange(80), np.arange(80)] -= 40.0
        settings = {"precomputed": True, "indefinite": "shift"}
    else:
        settings = {"n_neighbors": 4}
    fitted = GraphFusion(k, random_state=0, **settings).fit(data)
    assert fitted.verify(data).holds, str(fitted.verify(data))


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")
def test_a_fit_of_copies_is_that_of_distinct_samples(views):
    many = MultiView(
        [np.repeat(view, 3, axis=0) for view in views.views], index=[f"s{i}" for i in range(240)]
    )
    with pytest.warns(DegenerateWarning, match="distinct samples"):
        fitted = GraphFusion(3, random_state=0).fit(many)
    assert fitted.verify(many).holds
    some = [np.vstack([view, view[:5]]) for view in views.views]
    assert GraphFusion(3, random_state=0).fit(some).verify(some).holds


def test_four_separate_groups_are_a_tie():
    """With k = 1 three of four equal eigenvalues are kept."""
    rng = np.random.default_rng(0)
    data = [np.repeat(1e3 * np.eye(4), 15, axis=0) + rng.standard_normal((60, 4))]
    found = GraphFusion(1, random_state=0).fit(data).verify(data)
    assert found.near_ties == ("eigenvalues 3 and 4 of the fused graph are equal",)


class TestKMeans:
    def inertia(self, X, labels):
        labels = np.asarray(labels)
        groups = (X[labels == c] for c in np.unique(labels))
        return sum(((rows - rows.mean(axis=0)) ** 2).sum() for rows in groups)

    @pytest.mark.parametrize(("sizes", "seed"), [((4, 4, 4), 0), ((2, 5, 5), 1), ((2, 2, 8), 2)])
    def test_steps_and_moves_against_all_moves(self, sizes, seed):
        rng = np.random.default_rng(seed)
        X = unit_rows(rng.standard_normal((12, 3)))
        labels = np.repeat([0, 2, 5], sizes)  # a number may be missing
        before = self.inertia(X, labels)
        means = np.array([X[labels == c].mean(axis=0) for c in (0, 2, 5)])
        nearest = ((X[:, None] - means) ** 2).sum(axis=2).min(axis=1).sum()
        best = 0.0
        for i in range(12):
            for c in (0, 2, 5):
                moved = labels.copy()
                moved[i] = c
                best = max(best, before - self.inertia(X, moved))
        centers = np.zeros((6, 3))
        centers[[0, 2, 5]] = means + np.array([0.3, 0, 0])
        found = kmeans_checks(3 * X, labels, centers)
        assert best > 0
        expected = [0.3, (before - nearest) / before, best / before]
        assert [check.error for check in found] == pytest.approx(expected)
        assert [check.limit for check in found] == [1e-3, 1e-3, 2 / 12]
