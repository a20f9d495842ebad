"""Input that a fit refuses: the message says which setting, view or kernel, and why."""

import numpy as np
import pytest
import scipy.sparse as sp

from _support.fits import fit_kernels, table
from mkclust import MKCDNM, cluster
from mkclust.exceptions import InputError

pytestmark = pytest.mark.versions


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (0, "from 1 on, got 0"),
        (-2, "from 1 on, got -2"),
        (2.5, "whole number from 1 on, got 2.5"),
        ("3", "whole number from 1 on, got '3'"),
        (None, "whole number from 1 on, got None"),
        (True, "whole number from 1 on, got True"),
        (21, "21 is more than the 20 samples"),
    ],
)
def test_a_wrong_number_of_clusters(k, message):
    with pytest.raises(InputError, match=message):
        MKCDNM(k).fit([table(20, 3)])
    with pytest.raises(InputError, match="whole number"):
        cluster([table(20, 3)], np.array(3))


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")
def test_fewer_distinct_rows_than_clusters():
    X, Y = np.repeat(table(3, 2), 4, axis=0), np.repeat(table(3, 2, 1), 4, axis=0)
    for views in ([X, Y], [sp.csr_array(X), Y]):
        with pytest.raises(InputError, match="n_clusters = 4 is more than the 3 distinct"):
            MKCDNM(4).fit(views)
    assert len(np.unique(MKCDNM(3).fit([X, Y]).labels_)) == 3
    # Rows that repeat in one view may differ in another.
    Z = table(12, 2, 2)
    assert len(np.unique(MKCDNM(4, random_state=0).fit([X, Z]).labels_)) == 4
    zeros = np.array([[0.0, 1], [-0.0, 1], [5, 5]])
    with pytest.raises(InputError, match="2 distinct"):
        MKCDNM(3).fit([zeros])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "best"}, "solver must be .authors., .paper. or .exact., got 'best'"),
        ({"solver": None}, "solver must be"),
        ({"solver": ["exact"]}, "solver must be"),
        ({"threshold": "2k"}, "threshold must be.*got '2k'"),
        ({"threshold": -1}, "threshold must be.*got -1"),
        ({"threshold": np.nan}, "threshold must be.*got nan"),
        ({"threshold": [3]}, "threshold must be"),
        ({"threshold": True}, "threshold must be"),
        ({"on_infeasible": "ignore"}, "on_infeasible must be.*got 'ignore'"),
        ({"max_dimension": 2}, "max_dimension.*3"),
        ({"max_dimension": 7.5}, "max_dimension"),
        ({"max_dimension": "many"}, "max_dimension"),
        ({"indefinite": "fix"}, "indefinite must be.*got 'fix'"),
        ({"n_init": 0}, "n_init"),
        ({"n_init": "x"}, "n_init"),
        ({"random_state": "x"}, "random_state"),
    ],
)
def test_a_wrong_setting_is_named(settings, message):
    with pytest.raises(InputError, match=message):
        MKCDNM(3, **settings).fit([table(20, 3), table(20, 2, 1)])


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ([table(20, 3), table(19, 3)], "view1 20, view2 19"),
        ([table(20, 3), np.full((20, 2), 4.0)], "'view2'.*constant"),
        ([table(20, 3), np.full((20, 2), np.nan)], "'view2' holds 0 of the 20 samples"),
        ([table(1, 3)], "at least two samples"),
        ([], "no views"),
        ("nowhere.mat", "nowhere"),
        (None, "view1"),
    ],
)
def test_wrong_views_are_named(views, message):
    with pytest.raises(InputError, match=message):
        MKCDNM(2).fit(views)


def test_a_kernel_without_a_positive_eigenvalue_is_refused_by_name():
    X = table(30, 9)
    with pytest.raises(InputError, match="view2"):
        fit_kernels([X @ X.T, -X @ X.T], 3, indefinite="ignore")


def test_a_failed_fit_leaves_no_labels():
    model = MKCDNM(3)
    with pytest.raises(InputError):
        model.fit([table(20, 3), np.ones((20, 2))])
    assert not hasattr(model, "labels_")
