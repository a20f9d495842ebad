"""MultiView: what it takes, how it is cut, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from _support.fits import two
from mkclust import GraphFusion, MultiView
from mkclust.data.views import split_columns
from mkclust.exceptions import InputError

pytestmark = pytest.mark.versions


def test_sizes_and_repr():
    views = MultiView(two())
    assert (len(views), views.n_views, views.widths, views.shape) == (6, 2, (2, 3), (6, 5))
    assert repr(views) == "MultiView(6 samples: shape 2, colour 3)"
    kernels = MultiView({"a": np.eye(4), "b": np.eye(4)}, kernels=True)
    assert "2 kernels of 4" in repr(kernels)


def test_a_multiview_of_a_multiview_is_the_same():
    for kernels in (False, True):
        known = {"labels": [0, 1, 1], "index": ["x", "y", "z"], "notes": ["read from nowhere"]}
        first = MultiView({"a": np.eye(3), "b": np.eye(3)}, kernels=kernels, **known)
        again = MultiView(first)
        assert again.names == first.names and again.notes == first.notes
        assert again.kernels is kernels
        np.testing.assert_array_equal(again.labels, first.labels)
        np.testing.assert_array_equal(again.index, first.index)


def test_whole_and_true_or_false_columns_are_numbers():
    frame = pd.DataFrame({"i": [1, 2], "b": [True, False], "n": pd.array([3, 4], dtype="Int64")})
    np.testing.assert_array_equal(MultiView([frame]).views[0], [[1, 1, 3], [2, 0, 4]])


@pytest.mark.parametrize(
    "rows",
    [slice(1, 4), [1, 2, 3], np.array([1, 2, 3]), np.array([0, 1, 1, 1, 0, 0], dtype=bool)],
)
def test_rows_are_taken_of_every_view(rows):
    source = two()
    views = MultiView(source, labels=np.arange(6), index=list("abcdef"))[rows]
    assert len(views) == 3
    np.testing.assert_array_equal(views["shape"], source["shape"][1:4])
    np.testing.assert_array_equal(views["colour"], source["colour"][1:4])
    np.testing.assert_array_equal(views.labels, [1, 2, 3])
    np.testing.assert_array_equal(views.index, list("bcd"))


def test_of_kernels_rows_and_columns_are_taken():
    K = np.arange(16.0).reshape(4, 4)
    K = K + K.T
    for form in (np.asarray, sp.csr_array):
        part = MultiView([form(K)], kernels=True)[[2, 0]]
        found = part.views[0].toarray() if sp.issparse(part.views[0]) else part.views[0]
        np.testing.assert_array_equal(found, K[np.ix_([2, 0], [2, 0])])
        assert part.kernels


def test_a_view_by_name_and_several_by_select():
    source = two()
    views = MultiView(source, labels=np.arange(6))
    np.testing.assert_array_equal(views["colour"], source["colour"])
    chosen = views.select(["colour"])
    assert chosen.names == ("colour",)
    np.testing.assert_array_equal(chosen.labels, np.arange(6))
    with pytest.raises(KeyError, match=r"no view 'sound'.*shape, colour"):
        views["sound"]


def test_views_cannot_be_split_by_accident():
    views = MultiView(two())
    for call in (iter, list):
        with pytest.raises(TypeError, match="not a sequence of views"):
            call(views)
    with pytest.raises(TypeError, match="several tables"):
        np.asarray(views)
    with pytest.raises(InputError, match="'shape' is empty"):
        views[[]]
    for key in (0, (slice(None), 0), (slice(None), [0, 1]), 1.5, None, ["s1", "s2"]):
        with pytest.raises(TypeError, match="indexed by rows"):
            views[key]


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_located(bad):
    X = np.ones((5, 4))
    X[3, 2] = X[4, 0] = X[4, 1] = bad
    where = r"'sound' has 3 values.*first at row 3, column 2"
    for view in (X, X.astype(np.float32), sp.csr_array(X), sp.csc_matrix(X)):
        with pytest.raises(InputError, match=where):
            MultiView({"fine": np.ones((5, 1)), "sound": view})
    frame = pd.DataFrame(X, columns=["a", "b", "pitch", "d"])
    with pytest.raises(InputError, match=r"'sound' has 3 values.*row 3, column 'pitch'"):
        MultiView({"sound": frame})
    with pytest.raises(InputError, match=r"row 3 \('s3'\), column 'pitch'"):
        MultiView({"sound": frame.set_axis([f"s{i}" for i in range(5)])})
    with pytest.raises(InputError, match=r"row 3 \('s3'\), column 2"):
        MultiView([X, X], index=[f"s{i}" for i in range(5)])


def test_nan_cells_are_counted_and_located():
    X = np.ones((5, 4))
    X[3, 2] = X[4, 0] = X[4, 1] = np.nan
    where = (
        r"'sound' has 3 NaN cells, in 2 of 5 rows \(40 %\) and 3 of 4 columns \(75 %\), the first "
        r"at row 3, column 2: fill them with missing=\"median\" or missing=\"knn\""
    )
    for view in (X, X.astype(np.float32), np.asfortranarray(X)):
        with pytest.raises(InputError, match=where):
            MultiView({"fine": np.ones((5, 1)), "sound": view}).require_no_gaps()
    frame = pd.DataFrame(X, columns=["a", "b", "pitch", "d"], index=[f"s{i}" for i in range(5)])
    with pytest.raises(InputError, match=r"row 3 \('s3'\), column 'pitch'; b has some too"):
        MultiView({"a": frame, "b": frame}).require_no_gaps()
    rest = MultiView({"a": frame[:3], "b": np.ones((3, 1))})
    assert rest.gaps == (False, False)
    rest.require_no_gaps()
    for sparse in (sp.csr_array(X), sp.csc_matrix(X)):
        with pytest.raises(InputError, match=r"3 values .*NaN .*sparse view is not filled"):
            MultiView([sparse, X])
    K = np.eye(5)
    K[1, 2] = K[2, 1] = np.nan
    with pytest.raises(InputError, match=r"2 values .*NaN of a kernel .* is not filled"):
        MultiView([K, np.eye(5)], kernels=True)


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (np.ones((0, 3)), "'bad' is empty.*0 sample"),
        (np.ones((5, 0)), "'bad' is empty.*0 feature"),
        (np.ones(5), "'bad'.*2D"),
        (np.float64(3.0), "'bad'"),
        (np.ones((5, 2, 2)), "'bad'.*dim 3"),
        (np.array([["a", "b"]] * 5), "'bad'"),
        (np.ones((5, 2)) * 1j, r"'bad': Complex data not supported$"),
        ([[1, 2], [3]], "'bad' is a list of parts of several shapes"),
        (pd.DataFrame(np.ones((4, 2)), [[0, 0, 1, 1], [0, 1] * 2]), "'bad'.* of 2 levels"),
        (None, "'bad'"),
    ],
)
def test_a_view_that_is_no_table_is_named(view, message):
    with pytest.raises(InputError, match=message):
        MultiView({"good": np.ones((5, 2)), "bad": view})


@pytest.mark.parametrize(
    ("views", "options", "message"),
    [
        *((none, {}, "") for none in ([], {}, (), "abc", 5, None, iter([np.ones((3, 2))]))),
        ([np.ones((2, 1))] * 2, {"names": ["a", "a"]}, "a occurs more than once"),
        ([np.ones((2, 1))] * 2, {"names": ["a"]}, "2 views but 1 names"),
        (
            {"a": np.eye(4), "b": np.ones((4, 3))},
            {"kernels": True},
            r"kernel 'b' must be square, got shape \(4, 3\)",
        ),
        (np.ones((4, 4, 2)), {"kernels": True}, r"\(views, n, n\).*moveaxis"),
        (np.ones((2, 4, 3)), {"kernels": True}, r"\(views, n, n\)"),
        (np.ones((2, 4, 4)), {}, "kernels"),
        (two(), {"id": "x"}, "id names a column of frames"),
        ([pd.DataFrame(np.eye(2))] * 2, {"id": ["x"]}, "2 views but id for 1"),
        ([pd.DataFrame(np.eye(2))] * 2, {"id": 7}, "'view1' has no column 7"),
        ([-np.ones((4, 2))], {"kinds": ["counts"]}, "'view1' has negative cells"),
        (two(), {"labels": [1, 2, 3]}, r"labels must have one entry per sample \(6\)"),
        (two(), {"index": [1, 2, 3]}, r"index must have one entry per sample \(6\)"),
    ],
)
def test_what_is_no_set_of_views_is_refused(views, options, message):
    with pytest.raises(InputError, match=message):
        MultiView(views, **options)


@pytest.mark.parametrize("last", [np.ones((6, 2)), np.ones(6), pd.Series(np.ones(6))])
def test_a_list_of_arrays_is_several_views(last):
    with pytest.raises(InputError, match="'view1': Expected 2D array, got 1D array"):
        GraphFusion(2).fit([np.ones(6), last])


def test_repeated_names_of_columns_are_kept():
    frame = pd.DataFrame(np.arange(8.0).reshape(4, 2), columns=["TP53", "TP53"])
    views = MultiView({"rna": frame})
    assert views.feature_names[0].tolist() == ["TP53", "TP53"]
    np.testing.assert_array_equal(views["rna"], frame.to_numpy())


def test_columns_by_name_position_slice_and_owner():
    X = np.arange(12.0).reshape(3, 4)
    expected = {"a": X[:, [0, 3]], "b": X[:, 1:3]}
    frame = pd.DataFrame(X, columns=list("wxyz"))
    for table, columns in (
        (X, {"a": [0, 3], "b": slice(1, 3)}),
        (X, ["a", "b", "b", "a"]),
        (sp.csr_array(X), {"a": [0, 3], "b": [1, 2]}),
        (sp.coo_array(X), ["a", "b", "b", "a"]),
        (frame, {"a": ["w", "z"], "b": ["x", "y"]}),
        (frame, {"a": [0, 3], "b": slice(1, 3)}),
    ):
        views = split_columns(table, columns)
        assert views.names == ("a", "b")
        for name in ("a", "b"):
            view = views[name].toarray() if sp.issparse(views[name]) else views[name]
            np.testing.assert_array_equal(view, expected[name])


@pytest.mark.parametrize(
    "columns", [{"a": [0, 9]}, {"a": ["nope"]}, ["a", "b"], "a", {"a": []}, {}, 3]
)
def test_columns_that_are_not_there(columns):
    for table in (np.ones((3, 4)), pd.DataFrame(np.ones((3, 4)))):
        with pytest.raises(InputError):
            split_columns(table, columns)
