"""What scikit-learn asks of an estimator, in one-table form and over several views."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import (
    check_estimator,
    check_estimator_sparse_array,
    check_estimator_sparse_matrix,
)

from _support.fits import fit
from mkclust import MKCDNM
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError
from mkclust.methods import METHODS

pytestmark = pytest.mark.versions


SPARSE = {
    name: "it takes anything with predict_proba for a classifier, and reads its classifier tags"
    for name in ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
}


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_sklearn_checks(method):
    expected = SPARSE if "predict_proba" in dir(method) else {}
    results = check_estimator(method(n_clusters=3), expected_failed_checks=expected, on_fail=None)
    assert not [found for found in results if found["status"] == "failed"]
    assert sum(found["status"] == "passed" for found in results) > 40


class WithoutProbabilities(MKCDNM):
    @property
    def predict_proba(self):
        raise AttributeError("hidden from the checks of sparse input")


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")
@pytest.mark.parametrize("check", [check_estimator_sparse_array, check_estimator_sparse_matrix])
def test_sklearn_checks_of_sparse_input(check):
    check("WithoutProbabilities", WithoutProbabilities(n_clusters=3))


@pytest.fixture(scope="module")
def views():
    return make_views(120, n_clusters=3, n_views=3, noise=0.5, random_state=0)


def test_names_and_columns_are_remembered(views):
    model = fit({"a": views.views[0], "b": views.views[1][:, :4]})
    assert list(model.view_names_in_) == ["a", "b"]
    assert model.n_features_in_ == 14
    assert not hasattr(model, "feature_names_in_")
    frame = pd.DataFrame(views.views[0], columns=[f"c{i}" for i in range(10)])
    model = fit(frame, columns={"a": ["c0", "c1", "c2"], "b": [f"c{i}" for i in range(3, 10)]})
    assert list(model.view_names_in_) == ["a", "b"]
    assert model.n_features_in_ == 10
    assert list(model.feature_names_in_) == list(frame.columns)
    assert fit(frame, columns={"a": ["c0", "c1", "c2"]}).n_features_in_ == 10
    with pytest.raises(InputError, match="columns divides one table"):
        model.fit(views)
    model.set_params(columns=None).fit(views)
    assert model.n_features_in_ == 30
    assert not hasattr(model, "feature_names_in_")  # those of the last fit, not of an earlier one


def test_columns_make_views_of_one_table(views):
    X = np.hstack(views.views)
    owners = np.repeat(views.names, views.widths)
    expected = fit(views)
    for table in (X, sp.csr_array(X), pd.DataFrame(X)):
        model = fit(table, columns=owners)
        np.testing.assert_array_equal(model.dimensions_, expected.dimensions_)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
    with pytest.raises(InputError, match="columns"):
        fit(X, columns=["a", "b"])
    with pytest.raises(InputError, match="'a'"):
        fit(X, columns={"a": [0, 99]})


def test_a_seed_object_is_used_and_a_number_repeats(views):
    noisy = make_views(60, n_clusters=6, n_views=2, noise=4.0, random_state=0)
    first, second = (MKCDNM(6, n_init=1, random_state=3).fit(noisy) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, second.labels_)
    random = np.random.RandomState(3)
    runs = [MKCDNM(6, n_init=1, random_state=random).fit(noisy).labels_ for _ in range(2)]
    np.testing.assert_array_equal(runs[0], first.labels_)
    assert not np.array_equal(runs[0], runs[1])
