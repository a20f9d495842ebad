"""Views brought in line by sample names, and samples that some views lack."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from _support.fits import two
from mkclust import MultiView
from mkclust.exceptions import InputError, MissingRowsWarning

pytestmark = pytest.mark.versions


FRAME = pd.DataFrame({"u": [1.0, 2, 3]}, index=["x", "y", "z"])


def test_frames_that_cannot_be_joined_are_refused():
    twice = FRAME.set_axis(["x", "x", "z"])
    for views in ([twice, twice * 2], [twice]):
        with pytest.raises(InputError, match=r"several rows named \['x'\]"):
            MultiView(views)
    for missing in (np.nan, None, ""):
        with pytest.raises(InputError, match=r"'view2': row 1 has no sample name"):
            MultiView([FRAME, FRAME.set_axis(["x", missing, "z"])])
    other = pd.DataFrame({"v": [1.0, 2]}, index=["X", "Y"])
    with pytest.raises(InputError, match=r"'first' has no sample in common.*'x'.*'second' 'X'"):
        MultiView({"first": FRAME, "second": other})
    wide = pd.DataFrame(np.eye(3, 4), columns=list("ghij"))  # columns in common are no samples
    with pytest.raises(InputError, match="no sample in common"):
        MultiView([wide.set_axis([f"P{i}{end}" for i in range(3)]) for end in ("-01", "-01A")])


@pytest.mark.parametrize("names", [("x", "X"), ("x", "x "), ("\u00e1", "a\u0301")])
def test_a_sample_that_is_spelled_in_two_ways_is_said(names):
    with pytest.warns(MissingRowsWarning, match="written in several ways, 1 in all, such as"):
        assert len(MultiView([FRAME.set_axis([name, "y", "z"]) for name in names])) == 4


def test_an_index_does_not_rename_frames():
    for index in (["z", "y", "x"], [1, 2, 3]):
        with pytest.raises(InputError, match="other sample names than index"):
            MultiView([FRAME], index=index)


def test_an_array_beside_frames_cannot_follow_their_order():
    part = FRAME.iloc[:2]
    assert len(MultiView([FRAME, FRAME * 2, np.ones((3, 1))])) == 3
    for frames, message in (
        ([FRAME, FRAME.iloc[::-1]], "'view2'.*another order than 'view1'"),
        ([FRAME, part], "'view2' lacks 1 sample: 'z', .* give every view as a fr"),
    ):
        with pytest.raises(InputError, match=message):
            MultiView([*frames, np.ones((3, 1))])


def test_labels_with_an_index_follow_the_samples():
    labels = pd.Series([30, 10, 20], index=["z", "x", "y"])
    np.testing.assert_array_equal(MultiView([FRAME], labels=labels).labels, [10, 20, 30])
    numbered = FRAME.set_axis(["0", "1", "2"])  # names are compared as text
    whole = labels.set_axis([2, 0, 1])
    np.testing.assert_array_equal(MultiView([numbered], labels=whole).labels, [10, 20, 30])
    for wrong in (labels.iloc[:2], whole):
        with pytest.raises(InputError, match="labels lacks"):
            MultiView([FRAME], labels=wrong)


def test_kernel_frames_are_aligned_by_rows_and_columns():
    K = pd.DataFrame(np.diag([1.0, 2, 3]) + 0.1, index=list("xyz"), columns=list("xyz"))
    order = ["z", "x", "y"]
    views = MultiView([K, K.loc[order, order]], kernels=True)
    np.testing.assert_array_equal(views.views[1], K.to_numpy())
    alone = MultiView([K[order]], kernels=True)  # columns in another order than the rows
    np.testing.assert_array_equal(alone.views[0], K.to_numpy())


def test_frames_of_different_samples_are_joined_first_frame_first():
    b = pd.DataFrame({"v": [True, False, True]}, index=["w", "z", "x"])
    views = MultiView({"first": FRAME, "second": b})
    np.testing.assert_array_equal(views.index, ["x", "y", "z", "w"])
    np.testing.assert_array_equal(views["first"].ravel(), [1, 2, 3, np.nan])
    np.testing.assert_array_equal(views["second"].ravel(), [1, np.nan, 0, 1])
    np.testing.assert_array_equal(views.present, [[1, 1], [1, 0], [1, 1], [0, 1]])
    assert views.notes == (
        "Rows of 'second' were joined to those of 'first' by sample name.",
        "View 'first' lacks 1 sample: 'w'.",
        "View 'second' lacks 1 sample: 'y'.",
    )
    assert repr(views) == "MultiView(4 samples, 2 of them incomplete: first 1, second 1)"
    labels = pd.Series([4, 3, 2, 1], index=["w", "z", "y", "x"])
    np.testing.assert_array_equal(MultiView([FRAME, b], labels=labels).labels, [1, 2, 3, 4])
    many = pd.DataFrame({"v": np.arange(20.0)})
    noted = MultiView([many, many.iloc[[0, 2, 4]]]).notes
    assert noted == ("View 'view2' lacks 17 samples: 1, 3, 5, 6, 7 and 12 more.",)


def test_presence_follows_rows_views_copies_and_pickles():
    source = two()
    source["shape"][1] = source["colour"][2] = np.nan
    views = MultiView(source)
    np.testing.assert_array_equal(views[[2, 1, 0]].present, [[1, 0], [0, 1], [1, 1]])
    assert views[[0, 3]].present is None
    np.testing.assert_array_equal(views[:2].select(["colour", "shape"]).present, [[1, 1], [1, 0]])
    for again in (MultiView(views), pickle.loads(pickle.dumps(views))):
        np.testing.assert_array_equal(again.present, views.present)
    with pytest.raises(InputError, match=r"1 samples are in no view at all \(1\)"):
        views.select(["shape"])


def test_presence_can_be_given_which_sparse_views_need():
    source = two()
    given = np.ones((6, 2), dtype=bool)
    given[3, 0] = given[5, 1] = False
    zero = sp.csr_array(np.vstack([np.zeros((1, 2)), source["shape"][1:]]))
    views = MultiView({"shape": zero, "colour": source["colour"]}, present=given)
    np.testing.assert_array_equal(views.present, given)
    assert views.own_rows(0).shape == (5, 2)
    assert views.own_rows(0)[[0]].nnz == 0  # a row of zeros is a sample like any other
    assert views["shape"][[3]].nnz == 0
    assert np.isnan(views["colour"][5]).all()
    assert not np.isnan(source["colour"]).any()  # the caller's array is left alone
    assert MultiView(source, present=np.ones((6, 2), dtype=bool)).present is None
    for bad in (np.ones((6, 3), dtype=bool), np.ones((6, 2)), [True]):
        with pytest.raises(InputError, match="present must be True or False for each of 6"):
            MultiView(source, present=bad)


def test_kernels_lack_samples_in_rows_and_columns():
    K = np.diag([1.0, 2, 3, 4]) + 0.1
    gone = K.copy()
    gone[2] = gone[:, 2] = np.nan
    views = MultiView([K, gone], kernels=True)
    np.testing.assert_array_equal(views.present, [[1, 1], [1, 1], [1, 0], [1, 1]])
    rest = np.ix_([0, 1, 3], [0, 1, 3])
    np.testing.assert_array_equal(views.own_rows(1), K[rest])
    names = list("abcd")
    frame = pd.DataFrame(K, names, names)
    joined = MultiView([frame, frame.iloc[[3, 0, 1], [0, 3, 1]]], kernels=True)
    np.testing.assert_array_equal(joined.own_rows(1), K[rest])
    gone[0, 1] = np.nan
    with pytest.raises(InputError, match=r"1 value that is.*row 0, column 1"):
        MultiView([K, gone], kernels=True)


def test_what_is_missing_in_part_or_everywhere_is_an_error():
    source = two()
    source["shape"][1] = np.nan
    source["colour"][4, 2] = np.nan
    assert MultiView(source).gaps == (False, True)
    with pytest.raises(InputError, match=r"'colour' has 1 NaN cell.*row 4, column 2.*as a whole"):
        MultiView(source).require_no_gaps()
    source["colour"][4] = source["shape"][4] = np.nan
    with pytest.raises(InputError, match=r"1 samples are in no view at all \('e'\): drop them"):
        MultiView(source, index=list("abcdef"))
    with pytest.raises(InputError, match=r"2 samples are in no view at all \(1, 4\)"):
        MultiView([source["shape"]])  # the only view there is
    infinite = two()
    infinite["shape"][1] = np.inf
    with pytest.raises(InputError, match="'shape' has 2 values"):
        MultiView(infinite)
