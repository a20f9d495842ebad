"""Which variable of a file is a view, a kernel, the labels or the names: one table of outcomes."""

import os

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from mkclust import inspect, read
from mkclust.exceptions import FileFormatError, InputError

pytestmark = pytest.mark.versions
N = 12
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(N, 3)), RNG.normal(size=(N, 4))
K = np.stack([A @ A.T, B @ B.T, np.eye(N)])
Y = np.arange(N) % 3
TEXTS = np.array(["a", "b", "c"] * 4)


def cell(*items):
    made = np.empty((len(items), 1), dtype=object)
    made[:, 0] = items
    return made


# fmt: off
# variables, options: names of views, shape of the first, kernels, labels, part of a note
ROLES = {
    "matrices": ({"colour": A, "shape": B, "y": Y, "k": 2}, {}, ("colour", "shape"), (N, 3),
        False, Y, "Ignored k (matrix): choose with"),
    "family": ({"X2": B, "X10": A, "X1": A, "other": np.ones((5, 5))}, {}, ("X1", "X2", "X10"),
        (N, 3), False, None, "No labels: nothing"),
    "transposed by labels": ({"X1": A.T, "X2": B.T, "gt": Y}, {}, ("X1", "X2"), (N, 3), False, Y,
        "Transposed: the columns are as many as the labels in gt, 12."),
    "transposed by sizes": ({"X1": A.T, "X2": B.T}, {}, ("X1", "X2"), (N, 3), False, None,
        "Transposed: the columns are equally many, 12"),
    "as asked": ({"X1": A, "X2": B}, {"transpose": False}, ("X1", "X2"), (N, 3), False, None,
        "Not transposed, as asked."),
    "stack first": ({"K": K, "truth": Y}, {}, ("K1", "K2", "K3"), (N, N), True, Y,
        "Read as kernels"),
    "stack last": ({"KH": np.moveaxis(K, 0, -1)}, {}, ("KH1", "KH2", "KH3"), (N, N), True, None,
        ""),
    "not kernels": ({"K": K}, {"kernels": False}, ("K1", "K2", "K3"), (N, N), False, None,
        "as asked"),
    "kernels aside": ({"X": A, "K1": K[0]}, {}, ("X",), (N, 3), False, None,
        "Ignored K1 (12x12 matrix)"),
    "chosen": ({"X": A, "Z": B}, {"views": "Z"}, ("Z",), (N, 4), False, None, "Ignored X"),
    "texts": ({"X": A, "labels": TEXTS}, {}, ("X",), (N, 3), False, TEXTS,
        "Labels come from labels."),
    "bytes": ({"X": A, "y": TEXTS.astype("S")}, {}, ("X",), (N, 3), False, TEXTS, ""),
    "no labels": ({"X": A, "y": Y}, {"labels": False}, ("X",), (N, 3), False, None, "Ignored y"),
    "other labels": ({"X": A, "y": Y, "g": Y % 2}, {"labels": "g"}, ("X",), (N, 3), False, Y % 2,
        ""),
}
MATLAB = {
    "cell": ({"X": cell(A, B), "y": Y}, {}, ("X1", "X2"), (N, 3), False, Y,
        "Views are X1, X2, from X (2 cell)."),
    "sparse": ({"data": cell(sp.csc_matrix(A), sp.csc_matrix(B))}, {}, ("data1", "data2"),
        (N, 3), False, None, ""),
    "labels per view": ({"X": cell(A.T, B.T), "gt": cell(Y, Y)}, {}, ("X1", "X2"), (N, 3), False,
        Y, ""),
    "struct": ({"X": A, "options": {"k": 3}}, {}, ("X",), (N, 3), False, None,
        "Ignored options (struct)"),
}
REFUSED = {
    "nothing": ({"y": Y}, {}, "no views found"),
    "features in a stack": ({"X": np.ones((2, N, 3))}, {}, r"no views found.*X \(2x12x3 stack\)"),
    "no such view": ({"X": A}, {"views": "fea"},
        r"views='fea' is not in it; it has X \(12x3 matrix"),
    "no vector": ({"X": A, "Z": B}, {"labels": "Z"}, "labels='Z' needs one value per sample"),
    "labels that do not fit": ({"X": A, "y": Y[:5]}, {}, "the 5 labels in y fit neither the rows"),
    "missing label": ({"X": A, "y": np.where(Y > 1, np.nan, Y)}, {},
        "the label of sample 2 is missing"),
    "not square": ({"X": A}, {"kernels": True}, "kernels=True needs square matrices"),
    "object": ({"X": A, "Z": np.array([A, None], dtype=object)}, {"views": "Z"},
        "cannot be read as num"),
    "for tables": ({"X": A}, {"drop_columns": "X"}, r"applies to .*csv.* only"),
    "wrong type": ({"X": A}, {"labels": 3}, "labels must be a name, False or None"),
}
# fmt: on


@pytest.mark.parametrize(
    ("variables", "options", "names", "shape", "kernels", "labels", "note", "ending"),
    [pytest.param(*case, ".npz", id=f"npz {name}") for name, case in ROLES.items()]
    + [pytest.param(*case, ".mat", id=f"mat {name}") for name, case in MATLAB.items()],
)
def test_roles(tmp_path, variables, options, names, shape, kernels, labels, note, ending):
    path = tmp_path / f"a{ending}"
    (np.savez if ending == ".npz" else lambda p, **v: scipy.io.savemat(p, v))(path, **variables)
    views = read(path, **options)
    assert (views.names, views.views[0].shape, views.kernels) == (names, shape, kernels)
    assert (views.labels is None) == (labels is None)
    np.testing.assert_array_equal(views.labels, labels)
    assert any(note in said for said in views.notes)
    assert {*inspect(path)[0].role.split()} & {"views", "kernels", "labels", "ignored:", "view"}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path, case):
    variables, options, message = REFUSED[case]
    np.savez(tmp_path / "a.npz", **variables)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "a.npz", **options)


def test_nothing_is_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    path = tmp_path / "trap.npz"
    np.savez(path, X=np.array([Trap(), None], dtype=object))
    with pytest.raises(FileFormatError, match="no views found"):
        read(path)
    assert inspect(path)[0].kind == "object" and not (tmp_path / "sprung").exists()


@pytest.fixture
def h5ad(tmp_path):
    path = tmp_path / "cells.h5ad"
    with h5py.File(path, "w") as file:
        file["X"], file["obsm/X_pca"] = A, A[:, :2]
        counts, stored = file.create_group("layers/counts"), sp.csr_array(B)
        counts.attrs.update({"encoding-type": "csr_matrix", "shape": B.shape})
        for part in ("data", "indices", "indptr"):
            counts[part] = getattr(stored, part)
        file["obs/name"] = np.array([f"s{i}" for i in range(N)], dtype=object)
        file["obs"].attrs["_index"] = "name"
        file["obs/kind/codes"], file["obs/age"] = Y, Y
        file["obs/kind/categories"] = np.array(["b", "t", "nk"], dtype=object)
    return path


def test_matrices_of_anndata_are_chosen_by_their_path(h5ad):
    views = read(h5ad, views=["X", "layers/counts", "obsm/X_pca"], labels="kind")
    assert views.names == ("X", "layers/counts", "obsm/X_pca") and views.widths == (3, 4, 2)
    np.testing.assert_array_equal(views.views[1].toarray(), B)
    assert views.index[1] == "s1" and views.labels.tolist()[:3] == ["b", "t", "nk"]
    assert read(h5ad).names == ("X",) and read(h5ad, labels="age").labels.tolist() == Y.tolist()
    assert [v.role for v in inspect(h5ad)] == ["views", "", ""]
    for options in ({"views": "Z"}, {"labels": "sex"}, {"transpose": True}):
        with pytest.raises(InputError):
            read(h5ad, **options)


def test_links_out_of_a_file_are_not_followed(h5ad, tmp_path):
    with h5py.File(h5ad, "a") as file:
        del file["X"]
        file["X"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/X")
    with pytest.raises(FileFormatError, match="links are not followed"):
        read(h5ad)
