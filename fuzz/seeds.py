"""Write the seed corpus: small files of every format and dialect, from made-up numbers.

python fuzz/seeds.py            into fuzz/corpus, the same bytes every time
"""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from datetime import date
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io
import scipy.sparse as sp

from mkclust import METHODS, MKCDNM
from mkclust.data.datasets import make_views

CORPUS = Path(__file__).with_name("corpus")
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(6, 2)).round(2), RNG.normal(size=(6, 3)).round(2)
S = sp.csc_array(np.where(B > 0, B, 0))
Y = np.arange(6) % 2 + 1
K = np.stack([A @ A.T, B @ B.T])
NAMES = [f"s{i}" for i in range(6)]
Seeds = dict[str, bytes]


def cell(*items: Any) -> np.ndarray:
    made = np.empty((len(items), 1), dtype=object)
    made[:, 0] = items
    return made


def matlab() -> Seeds:
    contents: dict[str, dict[str, Any]] = {
        "cell": {"X": cell(A, S), "y": Y, "view_names": cell("one", "two")},
        "stack": {"KH": np.moveaxis(K, 0, -1), "truth": Y.astype("u1")},
        "alone": {"X1": A, "X2": B.astype("f4"), "label": cell(*["ab", "c"] * 3), "k": 2},
        "odd": {"X": S, "z": A + 1j, "s": {"a": 1}, "t": "text", "e": np.zeros((0, 0))},
    }
    made = {}
    for name, variables in contents.items():
        for kind in ("v5", "v7"):
            file = BytesIO()
            scipy.io.savemat(file, variables, do_compression=kind == "v7")
            made[f"{name}-{kind}"] = b"MATLAB 5.0 MAT-file".ljust(116) + file.getvalue()[116:]
    file = BytesIO()
    scipy.io.savemat(file, {"X": A, "S": S, "y": Y * 1.0, "t": "text"}, format="4")
    return made | {"v4": file.getvalue()}


def hdf5(fill: Callable[[Any], None], **settings: Any) -> bytes:
    file = BytesIO()
    with h5py.File(file, "w", **settings) as made:
        fill(made)
    return file.getvalue()


def put(group: Any, name: str, value: Any, kind: str = "double", **settings: Any) -> Any:
    """A variable as MATLAB v7.3 has it."""
    if sp.issparse(value):
        made = group.create_group(name)
        made.attrs["MATLAB_sparse"] = np.uint64(value.shape[0])
        parts = {"jc": value.indptr.astype("u8"), "ir": value.indices.astype("u8")}
        for part, values in (parts | {"data": value.data}).items():
            made[part] = values
    else:
        made = group.create_dataset(name, data=np.asarray(value).T, **settings)
    made.attrs["MATLAB_class"] = np.bytes_(kind)
    return made


def put_cell(file: Any, name: str, items: Any, kind: str = "double") -> None:
    made = file.create_dataset(name, (len(items), 1), dtype=h5py.ref_dtype)
    made.attrs["MATLAB_class"] = np.bytes_("cell")
    for place, item in enumerate(items):
        made[place, 0] = put(file, f"#refs#/{name}{place}", item, kind).ref


def matlab73() -> Seeds:
    packed = {"chunks": True, "compression": "gzip", "shuffle": True}
    texts = [np.array([[ord(c) for c in word]], dtype="u2") for word in ("ab", "c")]
    cells = hdf5(lambda f: (put_cell(f, "X", [A, S]), put_cell(f, "view_names", texts, "char")))
    return {
        "matrix": hdf5(lambda f: (put(f, "X", A), put(f, "y", Y[None], "uint8"))),
        "packed": hdf5(lambda f: put(f, "X", A, **packed, fletcher32=True)),
        "new": hdf5(lambda f: (put(f, "X", A, **packed), put(f, "y", Y[None])), libver="latest"),
        "sparse": hdf5(lambda f: put(f, "X", S)),
        "stack": hdf5(lambda f: put(f, "KH", np.moveaxis(K, 0, -1)), userblock_size=512),
        "cell": cells,
    }


def put_anndata(group: Any, X: Any, names: Any = NAMES, text: Any = "S2") -> None:
    if sp.issparse(X):
        inside = group.create_group("X")
        inside.attrs["encoding-type"], inside.attrs["shape"] = f"{X.format}_matrix", X.shape
        for part in ("data", "indices", "indptr"):
            inside[part] = getattr(X, part)
    else:
        group["X"] = X
    obs = group.create_group("obs")
    obs.attrs["_index"] = "_index"
    obs["_index"] = np.array(names, dtype=text)
    kind = obs.create_group("kind")
    kind["codes"] = np.arange(len(names), dtype="i1") % 2
    kind["categories"] = np.array(["b", "t"], dtype=text)


def mudata() -> Seeds:
    def two(file: Any) -> None:
        modalities = file.create_group("mod")
        modalities.attrs["mod-order"] = ["rna", "atac"]
        put_anndata(modalities.create_group("rna"), A)
        put_anndata(modalities.create_group("atac"), sp.csr_array(S)[::-1][:5], NAMES[::-1][:5])
        file.create_group("obs")["_index"] = np.array(NAMES, dtype="S2")

    def one(file: Any) -> None:
        put_anndata(file, S, text=object)
        file["obsm/X_pca"] = B

    return {"mudata": hdf5(two), "anndata": hdf5(one),
            "new": hdf5(lambda f: put_anndata(f, A), libver="latest")}  # fmt: skip


def npz(save: Callable[..., None] = np.savez, **arrays: Any) -> bytes:
    file = BytesIO()
    save(file, **arrays)
    return file.getvalue()


def archives() -> Seeds:
    return {
        "views": npz(X=A, X2=B.astype(">f4"), y=Y, k=2),
        "packed": npz(np.savez_compressed, X=A, label=np.array(["a", "bc"] * 3)),
        "stack": npz(X=K, y=np.array([b"a", b"b"] * 3)),
        "odd": npz(X=A + 1j, f=np.asfortranarray(A), r=np.zeros(2, "i4,f8"), **{"../x": A}),
    }


def table(separator: str, header: str = "", names: bool = False, classes: bool = False) -> bytes:
    text = StringIO()
    text.write(header)
    for name, row, label in zip(NAMES, B.tolist(), Y.tolist(), strict=True):
        text.write(separator.join([*[name] * names, *map(str, row), *[f"c{label}"] * classes]))
        text.write("\n")
    return text.getvalue().encode()


def tables() -> Seeds:
    return {
        "plain": table(","),
        "named": table(",", "id,a,b,c,class\n", names=True, classes=True),
        "quoted": table(";", '"a ""x""";"b\n";c\n').replace(b"\n", b"\r\n"),
        "classes": b"sample,species\ns0,cat\ns1,dog\n",
        "commas": b"id;a;b\ns0;1,5;2\ns1;0,25;-3,5e2\n",
        "r": b'"a" "b"\n"s0" 1 2.5\n"s1" 3 NA\n',
        "excel": b"id,a,b,,\ns0,1,2,,\ns1,3,4,,\n,,,,\n",
        "marked": b"\xef\xbb\xbfa,b\n1,\n,2e300\nnan,-inf\n",
    }


def gzipped() -> Seeds:
    return {name: gzip.compress(data, mtime=0) for name, data in tables().items()}


def workbooks() -> Seeds:
    named = [["id", "a", "b", "c"], *([n, *row] for n, row in zip(NAMES, B.tolist(), strict=True))]
    classes = [["id", "class"], *([n, f"c{y}"] for n, y in zip(NAMES, Y.tolist(), strict=True))]
    dates = [[date(2020, 1, 2), 1.5], [True, None]]
    return {
        "named": workbook({"one": named, "two": named[::-1][:3], "labels": classes}),
        "plain": workbook({"X": B.tolist(), "empty": []}),
        "odd": workbook({"X": dates, "Y": [["#N/A", "text"], ["=1+1", 1e300]]}),
    }


def workbook(sheets: dict[str, list[list[Any]]]) -> bytes:
    """A workbook without the time it was written."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    written, made = BytesIO(), BytesIO()
    book.save(written)
    kept = ("[Content_Types].xml", "_rels/.rels", "xl/")
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(made, "w") as target:
        for name in source.namelist():
            if name.startswith(kept) and "theme" not in name:
                member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                target.writestr(member, source.read(name), zipfile.ZIP_DEFLATED)
    return made.getvalue()


def tabbed() -> Seeds:
    return {"named": table("\t", "id\ta\tb\tc\n", names=True), "plain": table("\t")}


def parquet() -> Seeds:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def written(columns: dict[str, Any], **settings: Any) -> bytes:
        file = BytesIO()
        pq.write_table(pa.table(columns), file, store_schema=False, **settings)
        return file.getvalue()

    numbers = dict(zip("ab", A.T, strict=True))
    kinds = {"i": Y, "f": A[:, 0].astype("f4"), "t": Y > 1, "g": pa.array([1, None] * 3)}
    return {
        "plain": written(numbers, compression="none", use_dictionary=False),
        "named": written({"id": NAMES, **numbers, "label": ["x", "y"] * 3}, compression="snappy"),
        "kinds": written(kinds, compression="zstd"),
        "groups": written(numbers, row_group_size=2, compression="gzip", data_page_version="2.0"),
        "nested": written({"a": A[:, 0], "label": [[1], [2, 3], [], [4], [5], [6]]}),
    }


def models() -> Seeds:
    data = make_views(12, n_clusters=2, n_views=2, noise=0.3, random_state=0)
    few = {"random_state": 0, "n_init": 1}
    return {
        "dual": _saved(MKCDNM(2, **few).fit(data)),
        "drawn": _saved(MKCDNM(2, n_samples_fit=8, **few).fit(data)),
        "average": _saved(METHODS["akkm"](2, random_state=0).fit(data)),
    }


def _saved(model: Any) -> bytes:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        return model.save(Path(folder, "model.npz")).read_bytes()


FORMATS: dict[str, Callable[[], Seeds]] = {
    "mat": matlab,
    "mat73": matlab73,
    "npz": archives,
    "csv": tables,
    "tsv": tabbed,
    "csvgz": gzipped,
    "xlsx": workbooks,
    "parquet": parquet,
    "h5mu": mudata,
    "model": models,
}


def main() -> None:
    for name, seeds in FORMATS.items():
        folder = CORPUS / name
        folder.mkdir(parents=True, exist_ok=True)
        for seed, data in seeds().items():
            (folder / seed).write_bytes(data)


if __name__ == "__main__":
    main()
