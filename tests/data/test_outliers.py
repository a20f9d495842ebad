"""One bad row: a sample that would decide everything alone is named in a warning."""

import numpy as np
import pytest
import scipy.sparse as sp

from mkclust import METHODS, MKCDNM, GraphFusion, MultiView, datasets
from mkclust.data.input import warn_of_outliers
from mkclust.exceptions import InputError, OutlierWarning
from mkclust.linalg.scaling import standardize


def planted():
    return datasets.make_views(120, 3, 3, noise=0.5, random_state=0)


def with_bad_row(factor, which=(0, 1, 2), **named):
    views = [view.copy() for view in planted().views]
    for p in which:
        views[p][17] *= factor
    return MultiView(views, **named)


@pytest.mark.parametrize("name", ["graph-fusion", "mkc-dnm", "akkm"])
@pytest.mark.parametrize("factor", [1e7, 1e12])
@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")
def test_a_bad_row_is_named_in_a_fit(name, factor):
    with pytest.warns(OutlierWarning, match=r"^sample 17: values up to .* in view1, view2, view3"):
        METHODS[name](3, random_state=0).fit(with_bad_row(factor))


def test_the_warning_names_the_sample_and_the_view_and_counts_many():
    index = [f"patient-{i}" for i in range(120)]
    with pytest.warns(OutlierWarning, match=r"^sample patient-17: .* than usual in view2\. "):
        warn_of_outliers(with_bad_row(1e7, which=[1], index=index))
    views = [view.copy() for view in planted().views]
    views[0][:8] *= 1e8
    with pytest.warns(OutlierWarning, match=r"sample 4, 3 more: "):
        warn_of_outliers(MultiView(views))


@pytest.mark.filterwarnings("error::mkclust.exceptions.OutlierWarning")
def test_usual_and_empty_rows_sparse_views_and_missing_samples_are_no_outliers():
    for factor in (1.0, 30.0, 1e3):
        warn_of_outliers(with_bad_row(factor))
    X = sp.random_array((80, 50), density=0.02, random_state=0, format="csr")
    absent = np.ones((80, 3))
    absent[3] = np.nan
    warn_of_outliers(MultiView([X, absent, np.zeros((80, 2))]))
    X = X.tolil()
    X[5, 5] = 1e9
    with pytest.warns(OutlierWarning, match="^sample 5:"):
        warn_of_outliers(MultiView([X.tocsr(), absent]))


def test_a_column_within_rounding_of_its_magnitude_is_constant():
    random = np.random.default_rng(0)
    for size in (1e-200, 0.1, 3.0, 1e200):
        column = np.where(random.random(50) < 0.5, size, np.nextafter(size, np.inf))
        X = np.column_stack([column, np.arange(50.0)])
        assert standardize(X)[1].constant.tolist() == [True, False]
        assert standardize(sp.csr_array(X))[1].constant.tolist() == [True, False]
        np.testing.assert_array_equal(standardize(X)[0][:, 0], 0)
    small = 1e6 + np.arange(50) * 1e-6  # varies by 5e-11 of its magnitude: not constant
    assert standardize(np.column_stack([small, small]))[1].constant.tolist() == [False, False]


@pytest.mark.parametrize("model", [GraphFusion(3), MKCDNM(3)])
def test_a_view_that_is_constant_up_to_rounding_is_refused(model):
    noise = np.random.default_rng(0).random((120, 4)) < 0.5
    view = np.where(noise, 1000.0, np.nextafter(1000.0, 2000.0))
    with pytest.raises(InputError, match=r"'flat'.* constant"):
        model.fit({"good": planted().views[0], "flat": view})
