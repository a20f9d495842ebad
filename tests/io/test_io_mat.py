"""MATLAB files: the conventions of published data sets, on small files made here."""

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from mkclust.data.missing import require_no_gaps
from mkclust.exceptions import FileFormatError, InputError
from mkclust.io import inspect, read

pytestmark = pytest.mark.versions

RNG = np.random.default_rng(0)
N = 12
A, B = RNG.normal(size=(N, 3)), RNG.normal(size=(N, 5))
Y = np.arange(N) % 3 + 1


def cell(*items):
    made = np.empty((len(items), 1), dtype=object)
    for position, item in enumerate(items):
        made[position, 0] = item
    return made


@pytest.fixture
def save(tmp_path):
    def saved(*, compressed=True, **variables):
        path = tmp_path / "made.mat"
        scipy.io.savemat(path, variables, do_compression=compressed)
        return path

    return saved


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("name", ["X", "data", "fea", "anything"])
def test_cell_of_any_name(save, name, compressed):
    views = read(save(compressed=compressed, y=Y, **{name: cell(A, B)}))
    assert views.names == (f"{name}1", f"{name}2")
    assert np.array_equal(views.views[0], A) and np.array_equal(views.views[1], B)
    assert np.array_equal(views.labels, Y)


@pytest.mark.parametrize("label", ["y", "Y", "gt", "truth", "trueLabel", "true_labels", "GND"])
@pytest.mark.parametrize("row", [True, False])
def test_labels_by_name_as_row_or_column(save, label, row):
    vector = Y.astype(float)[None] if row else Y.astype(float)[:, None]
    views = read(save(X=cell(A, B), **{label: vector}))
    assert views.labels.dtype == np.int64 and views.labels.tolist() == Y.tolist()
    assert f"Labels come from {label}." in views.notes


def test_transposed_cell_by_labels(save):
    views = read(save(X=cell(A.T, B.T), y=Y))
    assert views.widths == (3, 5) and np.array_equal(views.views[1], B)
    assert "Transposed: the columns are as many as the labels in y, 12." in views.notes


def test_transposed_cell_by_the_shared_dimension(save):
    views = read(save(X=cell(A.T, B.T)))
    assert views.widths == (3, 5) and views.labels is None


def test_views_of_equal_shape_are_transposed_only_by_labels(save):
    wide = cell(A.T, A.T + 1)
    assert read(save(X=wide)).widths == (N, N)
    assert read(save(X=wide, y=Y)).widths == (3, 3)


def test_transpose_can_be_forced(save):
    path = save(X=cell(A, A))
    assert read(path, transpose=True).widths == (N, N)
    assert read(path, transpose=False).widths == (3, 3)


def test_labels_that_match_no_dimension_are_an_error(save):
    path = save(X=cell(A, B), y=Y[:-1])
    with pytest.raises(FileFormatError, match=r"made.mat: the 11 labels in y fit neither"):
        read(path)
    assert read(path, labels=False).labels is None
    with pytest.raises(FileFormatError, match="the 11 labels in y fit neither"):
        read(save(colour=A, shape=B, y=Y[:-1]))


def test_no_shared_dimension_is_an_error(save):
    with pytest.raises(FileFormatError, match=r"share neither .*12x3, 7x4"):
        read(save(X=cell(A, np.ones((7, 4)))))


def test_label_cell_must_agree(save):
    views = read(save(X=cell(A, B), truelabel=cell(Y, Y[:, None])))
    assert np.array_equal(views.labels, Y)
    with pytest.raises(FileFormatError, match="label vectors of view 1 and view 2 differ"):
        read(save(X=cell(A, B), truelabel=cell(Y, Y[::-1])))


def test_labels_in_cells_and_as_text(save):
    words = ["cat", "dog", "cow"] * 4
    assert read(save(X=cell(A, B), y=cell(*words))).labels.tolist() == words
    assert read(save(X=cell(A, B), y=np.array(words))).labels.tolist() == words
    assert read(save(X=cell(A, B), y=cell(*Y.tolist()))).labels.tolist() == Y.tolist()


@pytest.mark.parametrize(
    ("value", "problem"), [(np.nan, r"missing \(NaN\);"), (-np.inf, "infinite;")]
)
def test_labels_that_are_not_finite_are_an_error(save, value, problem):
    labels = Y.astype(float)
    labels[4] = value
    with pytest.raises(FileFormatError, match=f"labels y: the label of sample 4 is {problem}"):
        read(save(X=cell(A, B), y=labels))


def test_fractional_labels_stay_floats(save):
    assert read(save(X=cell(A, B), y=Y / 2)).labels.tolist() == (Y / 2).tolist()


def test_numbered_matrices_in_the_order_of_their_numbers(save):
    views = read(save(X10=A, X2=B, other=np.ones((N, 4)), gt=Y))
    assert views.names == ("X2", "X10")
    assert any(note.startswith("Ignored other") for note in views.notes)


def test_numbered_matrices_may_have_one_column(save):
    assert read(save(X1=A[:, :1], X2=B, y=Y)).widths == (1, 5)
    assert read(save(g1=Y[:, None], g2=Y[:, None], H=A)).names == ("H",)


def test_matrices_of_any_name_with_the_same_rows(save):
    views = read(save(colour=A, shape=B, weights=np.ones((4, 4)), gt=Y))
    assert views.names == ("colour", "shape")


def test_transposed_matrices_of_any_name(save):
    assert read(save(colour=A.T, shape=B.T)).widths == (3, 5)


def test_one_matrix(save):
    views = read(save(X=A, y=Y))
    assert views.names == ("X",) and np.array_equal(views["X"], A)
    assert read(save(X=A.T, y=Y)).widths == (3,)


def test_square_views_beside_others_are_features(save):
    views = read(save(X=cell(A, np.eye(N)), y=Y))
    assert not views.kernels and views.widths == (3, N)


def test_square_views_are_features_unless_requested_or_named(save):
    squares = cell(np.eye(N), 2 * np.eye(N))
    path = save(X=squares)
    assert not read(path).kernels
    assert "kernels=True" in " ".join(read(path).notes)
    assert read(path, kernels=True).kernels
    assert read(save(KH=squares)).kernels
    assert read(save(K1=np.eye(N), K2=np.eye(N))).kernels


def test_kernels_are_not_mixed_into_features(save):
    assert read(save(X=A, K=np.eye(N), y=Y)).names == ("X",)
    assert read(save(X=A, K=np.eye(N), y=Y), kernels=True).names == ("K",)


def test_stack_forced_to_features(save):
    stack = RNG.normal(size=(N, N, 2))
    views = read(save(KH=stack), kernels=False)
    assert not views.kernels and np.array_equal(views["KH2"], stack[:, :, 1])


def test_kernels_that_are_not_square_are_an_error(save):
    with pytest.raises(InputError, match=r"kernels=True needs square matrices .* 12x3, 12x5"):
        read(save(X=cell(A, B)), kernels=True)


def test_cell_matrix_is_read_down_its_columns(save):
    square = np.empty((2, 2), dtype=object)
    square[0, 0], square[1, 0], square[0, 1], square[1, 1] = A, B, A + 1, B + 1
    views = read(save(X=square))
    assert views.widths == (3, 5, 3, 5) and np.array_equal(views["X3"], A + 1)


def test_view_names_from_a_cell_of_texts(save):
    names = cell("word", "image")
    assert read(save(X=cell(A, B), view_meaning=names)).names == ("word", "image")
    assert read(save(X=cell(A, B), class_names=names)).names == ("X1", "X2")
    assert read(save(X=cell(A, B), view_names=cell("same", "same"))).names == ("X1", "X2")


def test_matrix_named_like_labels_is_a_view_only_on_request(save):
    onehot = np.eye(3)[Y - 1]
    path = save(X=A, Y=onehot)
    assert read(path).names == ("X",) and read(path).labels is None
    assert read(path, views=["X", "Y"]).names == ("X", "Y")


def test_views_can_be_chosen_in_any_order(save):
    path = save(X1=A, X2=B, Z=cell(A + 1, B + 1), y=Y)
    views = read(path, views=["X2", "Z"])
    assert views.names == ("X2", "Z1", "Z2") and views.widths == (5, 3, 5)


def test_unknown_names_list_the_variables(save):
    path = save(X=cell(A, B), y=Y)
    with pytest.raises(InputError, match=r"views='fea' is not in it; it has X \(2x1 cell\), y"):
        read(path, views="fea")
    with pytest.raises(InputError, match=r"labels='gt' is not in it"):
        read(path, labels="gt")
    with pytest.raises(InputError, match="labels='X' needs one value per sample"):
        read(path, labels="X")


def test_index_variable(save):
    path = save(X=A, names=cell(*[f"s{i}" for i in range(N)]))
    assert read(path, index="names").index[3] == "s3"


def test_struct_is_refused_only_when_needed(save):
    path = save(X=cell(A, B), options={"k": 3})
    assert read(path).n_views == 2
    with pytest.raises(InputError, match=r"views='options' cannot be read as numbers: .*struct"):
        read(path, views="options")
    with pytest.raises(FileFormatError, match=r"no views found.*options \(1x1 struct\)"):
        read(save(options={"X": A}))


def test_cell_with_a_struct_names_the_item(save):
    with pytest.raises(InputError, match="its item 2 is a struct"):
        read(save(X=cell(A, {"a": 1})), views="X")


def test_complex_numbers_are_refused(save):
    with pytest.raises(InputError, match=r"X \(12x3 complex\)"):
        read(save(X=A + 1j), views="X")


def test_nan_names_view_and_place(save):
    bad = A.copy()
    bad[7, 2] = np.nan
    with pytest.raises(InputError, match=r"view 'X1' .* row 7, column 2"):
        require_no_gaps(read(save(X=cell(bad, B))))
    bad[7, 2] = np.inf
    with pytest.raises(InputError, match=r"made.mat: view 'X1' .* row 7, column 2"):
        read(save(X=cell(bad, B)))


def test_sparse_cell(save):
    words = sp.csc_array((RNG.random((N, 8)) < 0.3).astype(float))
    views = read(save(X=cell(words, A), y=Y))
    assert sp.issparse(views["X1"]) and np.array_equal(views["X1"].toarray(), words.toarray())
    turned = read(save(X=cell(words.T.tocsc(), A.T), y=Y))
    assert np.array_equal(turned["X1"].toarray(), words.toarray())


def test_stored_type_is_kept(save):
    assert read(save(X=cell((A > 0).astype(np.uint8), B)))["X1"].dtype == np.uint8


def test_version_4(tmp_path):
    path = tmp_path / "old.mat"
    scipy.io.savemat(path, {"X": A, "S": sp.csc_array(np.eye(N)), "y": Y * 1.0}, format="4")
    views = read(path)
    assert np.array_equal(views["X"], A) and np.array_equal(views.labels, Y)
    assert np.array_equal(views["S"].toarray(), np.eye(N))


# --- v7.3, written with h5py as MATLAB does ------------------------------------------------------


class Hdf:
    """A v7.3 file: arrays transposed, cells as references into #refs#."""

    def __init__(self, path):
        self.path = path
        self.file = h5py.File(path, "w", userblock_size=512)
        self.refs = self.file.create_group("#refs#")

    def put(self, name, value, where=None, kind="double"):
        where = self.file if where is None else where
        if sp.issparse(value):
            made = where.create_group(name)
            made.attrs["MATLAB_sparse"] = np.uint64(value.shape[0])
            made["jc"] = value.indptr.astype("u8")
            if value.nnz:
                made["ir"], made["data"] = value.indices.astype("u8"), value.data
        elif isinstance(value, str):
            made, kind = (
                where.create_dataset(name, data=[[ord(c)] for c in value], dtype="u2"),
                "char",
            )
        else:
            made = where.create_dataset(name, data=np.asarray(value).T)
        made.attrs["MATLAB_class"] = np.bytes_(kind)
        return made

    def cell(self, name, items, kind="double"):
        made = self.file.create_dataset(name, (len(items), 1), dtype=h5py.ref_dtype)
        made.attrs["MATLAB_class"] = np.bytes_("cell")
        for position, item in enumerate(items):
            made[position, 0] = self.put(f"{name}{position}", item, self.refs, kind).ref
        return made

    def close(self):
        self.file.close()
        return self.path


@pytest.fixture
def hdf(tmp_path):
    return Hdf(tmp_path / "new.mat")


def test_v73_cell_sparse_names_and_logical_labels(hdf):
    words = sp.csc_array((RNG.random((N, 8)) < 0.3).astype(float))
    hdf.cell("X", [A, words])
    hdf.cell("view_meaning", ["image", "text"])
    hdf.put("y", (Y > 1)[:, None].astype("u1"), kind="logical")
    views = read(hdf.close())
    assert views.names == ("image", "text")
    assert np.array_equal(views["image"], A)
    assert sp.issparse(views["text"]) and np.array_equal(views["text"].toarray(), words.toarray())
    assert views.labels.tolist() == (Y > 1).tolist()


def test_v73_transposed_cell(hdf):
    hdf.cell("X", [A.T, B.T])
    hdf.put("gt", Y[None] * 1.0)
    views = read(hdf.close())
    assert np.array_equal(views["X2"], B) and views.labels.tolist() == Y.tolist()


def test_v73_stack_of_kernels(hdf):
    stack = RNG.normal(size=(N, N, 3))
    hdf.put("KH", stack)
    views = read(hdf.close())
    assert views.kernels and np.array_equal(views["KH2"], stack[:, :, 1])


def test_v73_text_labels_and_ignored_kinds(hdf):
    words = ["cat", "dog", "cow"] * 4
    hdf.put("X", A)
    hdf.cell("label", words)
    hdf.file.create_group("options").attrs["MATLAB_class"] = np.bytes_("struct")
    hdf.put("z", np.zeros((2, 2), dtype=complex))
    empty = hdf.put("nothing", np.array([0, 0], dtype="u8"))
    empty.attrs["MATLAB_empty"] = np.uint8(1)
    path = hdf.close()
    assert read(path).labels.tolist() == words
    kinds = {variable.name: variable.kind for variable in inspect(path)}
    assert kinds["options"] == "struct" and kinds["z"] == "complex" and "#refs#" not in kinds
    assert next(v.shape for v in inspect(path) if v.name == "nothing") == (0, 0)


def test_v73_sparse_without_values(hdf):
    hdf.cell("X", [A, sp.csc_array((N, 4))])
    assert read(hdf.close())["X2"].toarray().tolist() == np.zeros((N, 4)).tolist()


def test_v73_big_endian(hdf):
    hdf.put("X", A.astype(">f8"))
    view = read(hdf.close())["X"]
    assert view.dtype.isnative and np.array_equal(view, A)
