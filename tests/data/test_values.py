"""Masked cells are missing, and datetimes are no numbers."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mkclust import GraphFusion, MultiView, datasets
from mkclust.exceptions import InputError
from mkclust.large import LargeViews

pytestmark = pytest.mark.versions
VIEWS = datasets.make_views(60, 3, 2, noise=0.5, random_state=0)
A, B = VIEWS.views
DATES = np.array([["2020-01-01", "NaT"], ["2020-01-03", "2020-01-04"]] * 30, dtype="M8[D]")
REFUSED = "datetimes.*not numbers: convert|non-numeric column|must be a string or a real number"


def masked(rows=(), cells=(), dtype=float):
    """The first view with garbage under a mask."""
    mask = np.zeros(A.shape, dtype=bool)
    mask[list(rows)] = True
    for cell in cells:
        mask[cell] = True
    return np.ma.array(np.where(mask, 1e6, 100 * A).astype(dtype), mask=mask)


@pytest.mark.parametrize("dtype", [float, np.float32, int, np.uint8, bool])
def test_masked_cells_are_refused_as_missing_cells(dtype):
    holes = masked(cells=[(4, 7)], dtype=dtype)
    for views in ([holes, B], {"one": holes, "two": B}):
        assert np.argwhere(np.isnan(MultiView(views).views[0])).tolist() == [[4, 7]]
        with pytest.raises(InputError, match=r"1 NaN cell.*row 4, column 7"):
            GraphFusion(3).fit(views)
    for columns in (None, ["a"] * 5 + ["b"] * 5):
        with pytest.raises(InputError, match="NaN"):
            GraphFusion(3, columns=columns).fit(holes)
    assert np.isnan(LargeViews([holes, B]).in_memory().views[0]).sum() == 1


def test_a_masked_row_is_a_missing_sample_and_masked_labels_are_refused():
    views = MultiView([masked([3, 17, 40]), B])
    assert np.flatnonzero(~views.present[:, 0]).tolist() == [3, 17, 40]
    kernels = np.ma.array(np.stack([A @ A.T, B @ B.T]))
    kernels[0, 5, :] = np.ma.masked
    kernels[0, :, 5] = np.ma.masked
    assert np.argwhere(~MultiView(kernels, kernels=True).present).tolist() == [[5, 0]]
    with pytest.raises(InputError, match="labels has 20 masked entries"):
        MultiView([A, B], labels=np.ma.array(VIEWS.labels, mask=VIEWS.labels == 0))


@pytest.mark.parametrize(
    "dates",
    [
        DATES,
        DATES - DATES[0, 0],
        DATES.tolist(),
        DATES.astype(object),
        np.array([[1.0, pd.NaT]] * 60, dtype=object),
        np.ma.array(DATES, mask=DATES == DATES[0, 0]),
        pd.DataFrame(DATES, columns=["from", "to"]).astype("M8[ns]"),
    ],
)
def test_datetimes_are_refused(dates):
    for views in ([dates, B], [dates]):
        with pytest.raises(InputError, match=REFUSED):
            MultiView(views)
    if not isinstance(dates, list):
        with pytest.raises(InputError, match=REFUSED):
            GraphFusion(3).fit(dates)


@pytest.mark.filterwarnings("error")
def test_numbers_of_two_bytes_are_read():
    half = A.astype("float16")
    np.testing.assert_array_equal(MultiView([pd.DataFrame(half)]).views[0], half)


@pytest.mark.parametrize("digits", [400, 5000])
def test_integers_beyond_a_float_are_refused(digits):
    rows = [[10**digits, 1], [2, 3], [4, 5], [6, 7]]
    for views in (rows, [rows], [np.array(rows, dtype=object)], {"a": rows, "b": rows}):
        with pytest.raises(InputError, match="too large to convert to float"):
            GraphFusion(2).fit(views)


def broken(form, part, place, value):
    matrix = getattr(sp, form)(np.where(A > 0, A, 0))
    getattr(matrix, part)[place] = value
    return matrix


@pytest.mark.parametrize("form", ["csr_array", "csc_matrix", "bsr_array"])
@pytest.mark.parametrize("value", [-7, 10**8])
def test_sparse_matrices_with_indices_out_of_range_are_refused(form, value):
    for matrix in (broken(form, "indices", 3, value), broken(form, "indptr", 1, value)):
        for call in (lambda m: MultiView([m, B]), GraphFusion(3).fit, lambda m: LargeViews([m, B])):
            with pytest.raises(InputError, match="indices outside its shape"):
                call(matrix)


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "bsr_array", "coo_array", "lil_array",
                                  "dok_array", "dia_array"])  # fmt: skip
def test_sound_sparse_matrices_are_taken_and_not_changed(form):
    matrix = getattr(sp, form)(np.where(A > 0, A, 0))
    np.testing.assert_array_equal(MultiView([matrix, B]).views[0].toarray(), matrix.toarray())
