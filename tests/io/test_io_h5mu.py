"""MuData and AnnData files: matrices chosen by path, samples aligned by name, safe reading."""

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from mkclust import inspect, read
from mkclust.exceptions import FileFormatError, InputError
from mkclust.io import Limits

pytestmark = pytest.mark.versions

NAMES = [f"s{i}" for i in range(12)]
X = np.random.default_rng(0).random((12, 5))
S = sp.random_array((12, 7), density=0.4, random_state=0, format="csr")


def write_anndata(group, X, names=NAMES, **columns):
    """Write the parts of the format that are read, as AnnData does."""
    put(group, "X", X)
    obs = group.create_group("obs")
    obs.attrs["_index"] = "_index"
    obs["_index"] = np.array(names, dtype=object)
    for name, values in columns.items():
        obs[name] = values
    return group


def put(group, name, X):
    if not sp.issparse(X):
        group[name] = X
        return
    inside = group.create_group(name)
    inside.attrs["encoding-type"] = f"{X.format}_matrix"
    inside.attrs["shape"] = X.shape
    for part in ("data", "indices", "indptr"):
        inside[part] = getattr(X, part)


@pytest.fixture
def h5ad(tmp_path):
    path = tmp_path / "cells.h5ad"
    with h5py.File(path, "w") as file:
        write_anndata(file, X, age=np.arange(12))
        put(file.create_group("layers"), "counts", S)
        put(file.create_group("obsm"), "X_pca", X[:, :2])
        kinds = file["obs"].create_group("kind")
        kinds["codes"] = np.arange(12) % 3
        kinds["categories"] = np.array(["b", "t", "nk"], dtype=object)
    return path


@pytest.fixture
def h5mu(tmp_path):
    path = tmp_path / "cells.h5mu"
    with h5py.File(path, "w") as file:
        modalities = file.create_group("mod")
        write_anndata(modalities.create_group("rna"), X)
        write_anndata(
            modalities.create_group("atac"), S.tocsc()[::-1][:10].tocsc(), NAMES[::-1][:10]
        )
        modalities.attrs["mod-order"] = ["rna", "atac"]
        obs = file.create_group("obs")
        obs.attrs["_index"] = "_index"
        obs["_index"] = np.array(NAMES, dtype=object)
    return path


def test_matrices_are_chosen_by_their_path(h5ad):
    views = read(h5ad, views=["X", "layers/counts", "obsm/X_pca"])
    assert views.names == ("X", "layers/counts", "obsm/X_pca")
    np.testing.assert_array_equal(views.views[0], X)
    np.testing.assert_array_equal(views.views[1].toarray(), S.toarray())
    np.testing.assert_array_equal(views.views[2], X[:, :2])
    assert views.index.tolist() == NAMES
    assert read(h5ad).names == ("X",)
    assert {v.name: v.role for v in inspect(h5ad)} == {
        "X": "views", "layers/counts": "", "obsm/X_pca": "",
    }  # fmt: skip


def test_classes_are_a_column_of_obs(h5ad):
    assert read(h5ad).labels is None
    assert read(h5ad, labels="kind").labels[:4].tolist() == ["b", "t", "nk", "b"]
    assert read(h5ad, labels="age").labels.tolist() == list(range(12))
    with pytest.raises(InputError, match=r"cells\.h5ad: no column 'x' in obs; it has .*age"):
        read(h5ad, labels="x")


def test_modalities_are_aligned_by_sample_names(h5mu):
    views = read(h5mu)
    assert views.names == ("rna", "atac")
    np.testing.assert_array_equal(views.present.sum(axis=0), [12, 10])
    np.testing.assert_array_equal(views.views[1].toarray()[2:], S.toarray()[2:])
    with pytest.raises(InputError, match="no matrix 'prot'; it has rna, atac"):
        read(h5mu, views="prot")


def test_files_of_one_view_each_are_aligned_by_sample_names(tmp_path):
    for name, order in (("a", slice(None)), ("b", slice(None, None, -1))):
        with h5py.File(tmp_path / f"{name}.h5ad", "w") as file:
            write_anndata(file, X[order], NAMES[order])
    views = read([tmp_path / "a.h5ad", tmp_path / "b.h5ad"])
    np.testing.assert_array_equal(views.views[0], views.views[1])


def replace(path, name, change):
    with h5py.File(path, "r+") as file:
        if name in file:
            del file[name]
        change(file, name)


@pytest.mark.parametrize(
    "link", [h5py.ExternalLink("elsewhere.h5", "/X"), h5py.SoftLink("/layers/counts")]
)
def test_links_are_not_followed(link, h5ad):
    replace(h5ad, "X", lambda file, name: file.__setitem__(name, link))
    with pytest.raises(FileFormatError, match=r"cells\.h5ad.*not followed"):
        read(h5ad)


def test_data_in_other_files_are_not_read(h5ad, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(480))
    outside = [(str(tmp_path / "secret"), 0, 480)]
    replace(h5ad, "X", lambda f, n: f.create_dataset(n, (12, 5), "f8", external=outside))
    with pytest.raises(FileFormatError, match="other files"):
        read(h5ad)
    layout = h5py.VirtualLayout((12, 5), "f8")
    layout[:] = h5py.VirtualSource(str(tmp_path / "secret"), "X", shape=(12, 5))
    replace(h5ad, "X", lambda f, n: f.create_virtual_dataset(n, layout))
    with pytest.raises(FileFormatError, match="other files"):
        read(h5ad)


def test_sizes_are_checked_before_memory_is_allocated(h5ad):
    replace(h5ad, "X", lambda f, n: f.create_dataset(n, (10**7, 10**6), "f8", chunks=(1, 10)))
    with pytest.raises(FileFormatError, match="over the limit"):
        read(h5ad)
    replace(h5ad, "X", lambda f, n: f.create_dataset(n, data=X))
    with pytest.raises(FileFormatError, match="over the limit"):
        read(h5ad, limits=Limits(max_bytes=100))
    replace(h5ad, "obs/_index", lambda f, n: f.create_dataset(
        n, (10**9,), h5py.string_dtype(), chunks=(1000,)))  # fmt: skip
    with pytest.raises(FileFormatError, match="over the limit"):
        read(h5ad)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("indices", np.full(S.nnz, 99)),
        ("indices", np.full(S.nnz, -1)),
        ("indptr", np.arange(13)[::-1]),
        ("indptr", np.zeros(3, dtype=int)),
        ("data", np.ones(2)),
    ],
)
def test_unsound_sparse_matrices_are_refused(part, value, h5ad):
    replace(h5ad, f"layers/counts/{part}", lambda file, name: file.__setitem__(name, value))
    with pytest.raises(FileFormatError, match=r"cells\.h5ad"):
        read(h5ad, views="layers/counts")


def test_damaged_files_are_refused(h5ad):
    whole = h5ad.read_bytes()
    for share in (0.01, 0.3, 0.7):
        h5ad.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(FileFormatError, match=r"cells\.h5ad"):
            read(h5ad)


def test_files_of_anndata_and_mudata_are_read(tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata comes with mkclust[omics]")
    mudata = pytest.importorskip("mudata", reason="mudata comes with mkclust[omics]")
    pandas = pytest.importorskip("pandas")
    obs = pandas.DataFrame({"kind": pandas.Categorical(["a", "b"] * 6)}, index=NAMES)
    parts = {"rna": anndata.AnnData(X, obs=obs.copy()), "atac": anndata.AnnData(S, obs=obs.copy())}
    parts["rna"].write(tmp_path / "one.h5ad")
    assert read(tmp_path / "one.h5ad", labels="kind").labels.tolist() == ["a", "b"] * 6
    mudata.MuData(parts).write(tmp_path / "two.h5mu")
    views = read(tmp_path / "two.h5mu")
    np.testing.assert_array_equal(views["rna"], X)
    np.testing.assert_array_equal(views["atac"].toarray(), S.toarray())
