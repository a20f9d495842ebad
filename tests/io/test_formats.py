"""The same data in every format, and what is decided about the files of a folder."""

import re

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io

import mkclust
from mkclust import GraphFusion, inspect, read
from mkclust.exceptions import FileFormatError, InputError

pytestmark = pytest.mark.versions
PLANTED = mkclust.datasets.make_views(60, n_clusters=3, n_views=2, noise=0.5, random_state=0)
NAMES = [f"p{i:02d}" for i in range(60)]
FRAMES = {
    name: pd.DataFrame(X.round(6), index=NAMES, columns=[f"{name}{j}" for j in range(X.shape[1])])
    for name, X in zip(("rna", "protein"), PLANTED.views, strict=True)
}


def write_h5mu(path):
    with h5py.File(path, "w") as file:
        file.create_group("mod").attrs["mod-order"] = list(FRAMES)
        groups = {name: file["mod"].create_group(name) for name in FRAMES}
        for name, group in [*groups.items(), ("", file)]:
            if name:
                group["X"] = FRAMES[name].to_numpy()
            group.create_group("obs").attrs["_index"] = "_index"
            group["obs"]["_index"] = np.array(NAMES, dtype=object)


def write_mat73(path):
    with h5py.File(path, "w", userblock_size=512) as file:
        cell = file.create_dataset("X", (2, 1), dtype=h5py.ref_dtype)
        cell.attrs["MATLAB_class"] = np.bytes_("cell")
        for p, frame in enumerate(FRAMES.values()):
            made = file.create_dataset(f"#refs#/{p}", data=frame.to_numpy().T)
            made.attrs["MATLAB_class"] = np.bytes_("double")
            cell[p, 0] = made.ref


def write(folder, kind):
    """Write both tables; return what to read."""
    values = {name: frame.to_numpy() for name, frame in FRAMES.items()}
    if kind == "npz":
        np.savez(folder / "a.npz", **values)
    elif kind == "mat5":
        scipy.io.savemat(folder / "a.mat", values)
    elif kind == "mat4":
        scipy.io.savemat(folder / "a.mat", values, format="4")
    elif kind == "mat73":
        write_mat73(folder / "a.mat")
    elif kind == "h5mu":
        write_h5mu(folder / "a.h5mu")
    elif kind == "workbook":
        with pd.ExcelWriter(folder / "a.xlsx") as book:
            for name, frame in FRAMES.items():
                frame.to_excel(book, sheet_name=name)
    else:
        for p, (name, frame) in enumerate(FRAMES.items()):
            path = folder / f"{name}.{kind}"
            frame = frame[::-1] if p else frame
            if kind == "parquet":
                frame.to_parquet(path)
            elif kind == "xlsx":
                frame.rename_axis("id").to_excel(path)
            else:
                sep = "\t" if kind.startswith("t") else ","
                frame.to_csv(path, sep=sep, index_label="patient")
    files = list(folder.iterdir())
    return files[0] if len(files) == 1 else folder


KINDS = ("csv", "csv.gz", "tsv", "txt", "xlsx", "workbook", "parquet", "npz", "mat4", "mat5",
         "mat73", "h5mu")  # fmt: skip


def fit(views):
    return GraphFusion(3, random_state=0).fit(views).labels_


@pytest.fixture(scope="module")
def straight():
    return fit(list(FRAMES.values()))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_labels_from_every_format(tmp_path, kind, straight):
    views = read(write(tmp_path, kind))
    labels = fit(views)
    if views.index is not None:
        labels = pd.Series(labels, index=views.index)[NAMES].to_numpy()
    assert mkclust.metrics.ari(labels, straight) == 1
    assert sorted(view.shape for view in views.views) == [(60, 10), (60, 10)]
    assert len(inspect(tmp_path if kind in ("csv", "xlsx") else write(tmp_path, kind))) in (1, 2)


def save(folder, **tables):
    for name, table in tables.items():
        if isinstance(table, str):
            (folder / f"{name}.csv").write_text(table)
        else:
            table.to_csv(folder / f"{name}.csv")
    return folder


def test_names_join_files_and_some_may_lack_samples(tmp_path):
    save(tmp_path, v2="id,a\ns1,1\ns2,2\n", v10="id,b\ns3,30\ns1,10\n",
         labels="id,label\ns2,dog\ns3,cat\ns1,cow\ns9,x\n")  # fmt: skip
    views = read(tmp_path)
    assert views.names == ("v2", "v10") and views.index.tolist() == ["s1", "s2", "s3"]
    np.testing.assert_array_equal(views["v10"].ravel(), [10, np.nan, 30])
    assert views.labels.tolist() == ["cow", "dog", "cat"]
    assert "View 'v10' lacks 1 sample: 's2'." in views.notes
    assert [(v.name, v.shape, v.role) for v in inspect(tmp_path)] == [
        ("v2", (2, 2), "views"), ("v10", (2, 2), "views"), ("labels", (4, 2), "labels")
    ]  # fmt: skip
    assert read(tmp_path, views=["v10"], labels=False).names == ("v10",)
    save(tmp_path, labels="id,label\ns1,cow\n")
    with pytest.raises(InputError, match=r"labels\.csv lacks 2 samples: 's2', 's3'"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("cat\ndog\n", ["cat", "dog"]),
        ("label\n1\n2\n", [1, 2]),
        ("1\n2\n", [1, 2]),
        ("species\n1\n2\n", [1, 2]),
        ("label,id\n5,s2\n4,s1\n", [4, 5]),
        ("s2,cat\ns1,dog\n", ["dog", "cat"]),
        ("1,2,3\n4,5,6\n", None),
        ("id,label\ns1,\ns2,1\n", None),
        ("id,label\ns1,1\ns1,2\n", None),
    ],
)
def test_files_of_labels(tmp_path, text, labels):
    save(tmp_path, a="id,x\ns1,1\ns2,2\n", labels=text)
    if labels is None:
        with pytest.raises(FileFormatError, match=r"labels\.csv: "):
            read(tmp_path)
    else:
        assert read(tmp_path).labels.tolist() == labels


def test_columns_of_labels_are_merged_and_must_agree(tmp_path):
    save(tmp_path, a="id,x,class\ns1,1,7\ns2,2,8\n", b="id,x,class\ns3,2,9\ns1,1,7\n")
    assert read(tmp_path).labels.tolist() == [7, 8, 9]
    assert read(tmp_path, labels=False).widths == (1, 1)
    save(tmp_path, b="id,x,class\ns2,2,7\ns1,1,8\n")
    with pytest.raises(FileFormatError, match="have different labels"):
        read(tmp_path)
    save(tmp_path, b="id,x\ns3,2\ns1,1\n")
    with pytest.raises(InputError, match=r"a\.csv lacks 1 sample: 's3'"):
        read(tmp_path)


def test_labels_elsewhere_and_lists_of_tables(tmp_path):
    (tmp_path / "v").mkdir()
    save(tmp_path / "v", a="id,x\np,1\nq,2\n")
    save(tmp_path, truth="id,kind\nq,dog\np,cat\n", b="id,y\nq,1\np,2\n", alone="1\n2\n")
    with pytest.raises(FileFormatError, match=r"alone\.csv lacks 2 samples"):  # b is reordered
        read([tmp_path / "v/a.csv", tmp_path / "b.csv"], labels=str(tmp_path / "alone.csv"))
    with h5py.File(tmp_path / "c.h5ad", "w") as file:
        file["X"], file["obs/_index"] = np.eye(2), np.array(["p", "q"], object)
    for path in ("v", "c.h5ad"):
        views = read(tmp_path / path, labels=str(tmp_path / "truth.csv"))
        assert views.labels.tolist() == ["cat", "dog"]
        assert views.notes[-1] == "Labels come from truth.csv."
    with pytest.raises(FileFormatError, match=r"c\.h5ad: a list takes tables"):
        read([tmp_path / "c.h5ad", tmp_path / "truth.csv"])


def test_kernels_in_tables_are_ordered_in_rows_and_columns(tmp_path):
    save(tmp_path, K1="id,s1,s2\ns1,1,0.5\ns2,0.5,2\n", K2="id,s2,s1\ns2,4,0.1\ns1,0.1,3\n")
    views = read(tmp_path)
    assert views.kernels and views["K2"].tolist() == [[3, 0.1], [0.1, 4]]
    assert not read(tmp_path, kernels=False).kernels


def test_genes_by_samples_are_transposed_by_names(tmp_path):
    rna, protein = FRAMES["rna"], FRAMES["protein"]
    save(tmp_path, rna=rna.T.rename_axis("Hugo_Symbol"), protein=protein)
    views = read(tmp_path)
    np.testing.assert_array_equal(views["rna"], rna)
    assert any("'rna' has the samples as columns" in note for note in views.notes)
    wide = rna.T.rename_axis("gene").reset_index()
    wide.insert(1, "Entrez_Gene_Id", range(10))
    wide["gene"] = "TP53"  # repeated, as in files of cBioPortal
    (tmp_path / "rna.csv").write_text(wide.to_csv(index=False))
    views = read(tmp_path)
    np.testing.assert_array_equal(views["rna"], rna)
    assert views.feature_names[1].tolist()[:2] == ["TP53", "TP53.1"]
    save(tmp_path, rna=rna.T.rename_axis("gene"), protein=protein.T[NAMES[::-1]])
    views = read(tmp_path)
    np.testing.assert_array_equal(pd.DataFrame(views["rna"], views.index).loc[NAMES], rna)
    assert read(tmp_path, transpose=False, views=["rna"]).widths == (60,)
    genes = rna.T.set_axis([f"ENSG{i:011d}" for i in range(10)])
    save(tmp_path, rna=genes, protein=genes)  # the same genes in both are not taken for samples
    with pytest.raises(FileFormatError, match="2 problems:"):
        read(tmp_path)


GENES = {
    "gene": [f"{i}g" for i in range(10)],
    "x": [f"ENSG{i:011d}" for i in range(10)],
    "symbol": ["A1BG", "TP53", "EGFR", "MYC", "A2M", "NAT1", "CD4", "AADAC", "AAMP", "ABAT"],
}


@pytest.mark.parametrize("head", GENES)
def test_a_single_table_of_genes_is_asked_about(tmp_path, head):
    table = FRAMES["rna"].T.set_axis(GENES[head]).rename_axis("x" if head == "symbol" else head)
    path = save(tmp_path, rna=table) / "rna.csv"
    with pytest.raises(FileFormatError, match=r"seem to be genes.*pass transpose=True"):
        read(path)
    assert len(read(path, transpose=True)) == 60 and len(read(path, transpose=False)) == 10


CLINICAL = {
    "text": "patient,sex,site\np01,f,x\np02,m,y\n",
    "survival": "patient,os_months,os_status\np01,3,1\np02,5,0\n",
    "mixed": "patient,age,subtype\np01,30,LumA\np02,40,Basal\n",
}


@pytest.mark.parametrize("text", CLINICAL.values(), ids=CLINICAL)
def test_a_clinical_table_beside_others_is_no_view(tmp_path, text):
    save(tmp_path, clinical=text, **FRAMES)
    with pytest.raises(FileFormatError, match=r"--annotations .*clinical\.csv --views protein,r"):
        read(tmp_path)
    assert {v.name: v.role for v in inspect(tmp_path)}["clinical"] == "annotations"
    assert read(tmp_path, views=["rna", "protein"]).n_views == 2


PROBLEMS = {  # a table, and what is said of it beside sound ones and all others
    "clinical": ("patient,age,sex\np01,30,f\np02,40,m\n", "it seems to be a clinical table"),
    "empty": ("", "the file is empty"),
    "genes": ("gene,s1,s2\nTP53,1,2\nEGFR,3,4\nMYC,5,6\n", "genes.*pass transpose=True"),
    "inf": ("patient,x\np01,inf\np02,2\n", r"1 value that is infinite.*row 0 \('p01'\)"),
    "notation": ("patient;x\n" + "".join(f"{n};.5\n" for n in NAMES) + "z;1,5\n", "decimal=','"),
    "other": ("patient,x\nq1,1\nq2,2\n", "view 'other' has no sample in common"),
    "ragged": ("patient,x,y\np01,1,2\np02,1\n", "line 3 has 2 cells"),
    "town": ("patient,x,town\np01,1,Rome\np02,2,Oslo\n", r"drop_columns=\['town'\]"),
    "twice": ("patient,x\np01,1\np01,2\n", "some occur repeatedly.*id="),
    "named": ('"x"\n"p01" 1\n"p01" 2\n', r"several rows are named 'p01'; .* id="),
}


def test_problems_of_every_step_are_listed_at_once(tmp_path):
    save(tmp_path, **FRAMES, **{name: text for name, (text, _) in PROBLEMS.items()})
    (tmp_path / "cnv.rds").write_bytes(b"x")
    with pytest.raises(FileFormatError) as refused:
        read(tmp_path)
    head, *said = str(refused.value).split("\n- ")
    assert head == "11 problems:" and len(said) == 11
    for name, (_, what) in PROBLEMS.items():
        found = [
            line for line in said if f"{name}.csv: " in line or f"view {name!r} has no" in line
        ]
        assert len(found) == 1 and re.search(what, found[0]), name
    roles = {v.name: v.role for v in inspect(tmp_path)}
    unreadable = {"empty", "ragged", "cnv"}
    assert {name for name, role in roles.items() if role == "not readable"} == unreadable


def test_files_of_r_and_unknown_files(tmp_path):
    (tmp_path / "rna.rds").write_bytes(b"x")
    for path in (tmp_path, tmp_path / "rna.rds"):  # in a folder, it may be a view
        with pytest.raises(FileFormatError, match=r'write\.csv\(readRDS\("rna\.rds"\), "rna'):
            read(path)
    (tmp_path / "rna.rds").rename(tmp_path / "rna.what")
    save(tmp_path, a="x\n1\n2\n")
    assert "Ignored rna.what in the folder." in read(tmp_path).notes
    for path in (tmp_path / "none.csv", tmp_path / "c.what", "", [], 3):
        with pytest.raises(InputError):
            read(path)
