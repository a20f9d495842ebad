"""Views whose columns are components, and metrics without information."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score as ari

from mkclust import METHODS, GraphFusion, MultiView, load
from mkclust.exceptions import DegenerateWarning, InputError
from mkclust.metrics import accuracy


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def planted(rng, n=120, width=150, apart=1.0):
    labels = np.arange(n) % 3
    return labels, apart * rng.standard_normal((3, width))[labels] + rng.standard_normal((n, width))


def components(X):
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return U * s


@pytest.fixture
def rotated(rng):
    labels, one = planted(rng)
    two = planted(rng)[1]
    return labels, MultiView([components(one), components(two)], labels=labels)


def test_all_principal_components_are_not_whitened(rotated, rng):
    labels, views = rotated
    model = GraphFusion(3, random_state=0).fit(views)
    assert accuracy(labels, model.labels_) > 0.95
    assert [names[0] for names in model.metrics_] == ["Euclidean"] * 2
    assert sum("not scaled" in note for note in model.notes_) == 2
    for size in (1e-14, 1e-6, 1e-3):
        noisy = [np.c_[X, size * rng.standard_normal(len(X))] for X in views.views]
        assert ari(GraphFusion(3, random_state=0).fit(noisy).labels_, model.labels_) > 0.9


@pytest.mark.parametrize("method", ["mkc-dnm", "mkkm", "swmc", "snf"])
def test_no_method_whitens_components(rotated, rng, method, tmp_path):
    labels, views = rotated
    beside = [np.c_[views.views[0], 1e-6 * rng.standard_normal(120)], planted(rng)[1]]
    for given in (views, beside):
        model = METHODS[method](3, random_state=0).fit(given)
        assert accuracy(labels, model.labels_) > 0.95
        assert any("not scaled" in note for note in model.notes_)
    if method == "mkc-dnm":
        model = load(model.save(tmp_path / "model"))
        assert accuracy(labels[::4], model.predict([view[::4] for view in beside])) > 0.95


def test_the_kind_is_found_on_all_samples_and_stays_with_them(rotated):
    views = MultiView([*rotated[1].views, np.eye(120)], names=["a", "b", "words"])
    kinds = ("components", "components", "counts")
    some = views[::2]
    assert views.kinds == some.kinds == MultiView(some).kinds == kinds
    assert some.select(["words", "a"]).kinds == ("counts", "components")
    assert MultiView([views["a"][::2]]).kinds == ("measurements",)
    with pytest.raises(InputError, match="kinds must be one of"):
        MultiView([np.eye(3)], kinds=["pixels"])


@pytest.mark.parametrize("neighbors", ["exact", "anchors"])
def test_refits_and_new_samples_use_the_kind_of_all(rotated, neighbors, tmp_path):
    labels, views = rotated
    model = GraphFusion(3, neighbors=neighbors, random_state=0).fit(views[::2])
    model = load(model.save(tmp_path / "model"))
    assert accuracy(labels[1::2], model.predict(views[1::2])) > 0.95


def test_columns_of_positive_numbers_in_a_small_unit_count(rng):
    labels, X = planted(rng, width=6, apart=3.0)
    table = np.c_[1e-13 * np.exp(X / 4), 50 + rng.standard_normal(120)]
    assert accuracy(labels, GraphFusion(3, random_state=0).fit([table]).labels_) > 0.95


def test_what_rounding_left_of_a_column_is_constant(rng):
    _, X = planted(rng, width=6, apart=2.0)
    rest = 1e-15 * rng.standard_normal((120, 30))
    alone, beside = (GraphFusion(3, random_state=0).fit([view]) for view in (X, np.c_[X, rest]))
    assert ari(alone.labels_, beside.labels_) > 0.95


def test_a_metric_without_information_is_left_out(rng):
    _, X = planted(rng, width=1, apart=9.0)
    model = GraphFusion(3, random_state=0).fit([np.abs(X)])  # one column has no angle
    assert model.metrics_ == (("z-scored Euclidean",),)
    assert any("left out: cosine of view1" in note for note in model.notes_)


def test_a_view_in_which_all_samples_are_equally_far_apart_is_named(rng):
    labels, X = planted(rng, width=5, apart=3.0)
    whitened, _ = np.linalg.qr(np.c_[np.ones(120), rng.standard_normal((120, 119))])
    with pytest.warns(DegenerateWarning, match="white: all samples are equally far apart"):
        model = GraphFusion(3, random_state=0).fit({"x": X, "white": whitened[:, 1:]})
    assert model.weights_[1] == 0 and accuracy(labels, model.labels_) > 0.95
    assert model.uninformative_views_ == ["white"] and model.unrelated_views_ == []
    with pytest.raises(InputError, match="equally far apart in every view"):
        GraphFusion(3, random_state=0).fit([whitened[:, 1:]])


@pytest.mark.parametrize("shift", [0.0, 9.0])  # without and with zeros only where columns are zero
def test_columns_of_zeros_change_nothing(rng, shift):
    A = planted(rng, width=20, apart=0.7)[1]
    B = planted(rng, width=20, apart=0.4)[1]
    views = [A + shift, B + shift]
    alone = GraphFusion(3, random_state=0).fit(views)
    beside = GraphFusion(3, random_state=0).fit([views[0], np.c_[views[1], np.zeros((120, 4000))]])
    np.testing.assert_array_equal(alone.labels_, beside.labels_)


def test_the_angle_of_columns_that_measure_the_same_is_no_metric(rng):
    labels = np.arange(150) % 3
    level = 100.0 + 10.0 * labels + 2.0 * rng.standard_normal(150)
    views = [level[:, None] + 3.0 * rng.standard_normal((150, 9)) for _ in range(3)]
    model = GraphFusion(3, random_state=0).fit(views)
    assert model.metrics_ == (("z-scored Euclidean",),) * 3
    assert accuracy(labels, model.labels_) > 0.95
    assert accuracy(labels, model.predict(views)) > 0.95


def test_a_table_of_abundances_with_many_zeros_is_compared_as_counts():
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(0.7, 1.0, (60, 12)))
    assert 0.3 < np.mean(counts > 0) < 0.7
    dense = GraphFusion(3, random_state=0).fit([counts.astype(float), rng.random((60, 4))])
    assert "Hellinger" in dense.metrics_[0] and "cosine" in dense.metrics_[1]
    sparse = GraphFusion(3, random_state=0).fit([sp.csr_array(counts), rng.random((60, 4))])
    assert sparse.metrics_[0] == dense.metrics_[0]


@pytest.mark.filterwarnings("ignore:no two views agree")
@pytest.mark.parametrize("neighbors", ["exact", "anchors"])
def test_views_of_one_measurement_each_are_the_columns_of_one_table(rng, neighbors):
    labels = np.arange(400) % 8
    bands = 6 * (labels[:, None] >> np.arange(3) & 1) + rng.standard_normal((400, 3))
    views = [band[:, None] + 0.2 * rng.standard_normal((400, 9)) for band in bands.T]
    model = GraphFusion(8, neighbors=neighbors, random_state=0).fit(views)
    assert accuracy(labels, model.labels_) > 0.85
    assert any("in all views together" in note for note in model.notes_)
    assert np.mean(model.predict(views) == model.labels_) > 0.95
