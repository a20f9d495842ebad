"""Text and Parquet tables, alone, in folders and in lists."""

import builtins

import numpy as np
import pytest
import scipy.io

from mkclust.data.missing import require_no_gaps
from mkclust.exceptions import FileFormatError, InputError
from mkclust.io import Limits, inspect, read

pytestmark = pytest.mark.versions


@pytest.fixture
def table(tmp_path):
    def written(text, name="a.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.fixture
def folder(table, tmp_path):
    def filled(**texts):
        for stem, text in texts.items():
            table(text, f"views/{stem}.csv")
        return tmp_path / "views"

    return filled


WANTED = [[1, 2.5], [3, 4.5], [5, 6.5]]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("header", ["a,b", '"a, or b",b', None])
def test_separators_and_headers_are_found(table, separator, newline, header):
    lines = ["1,2.5", "3,4.5", "5,6.5"]
    text = newline.join(line.replace(",", separator) for line in lines) + newline
    if header:
        if "or" not in header:
            header = header.replace(",", separator)
        else:
            header = header.replace(",b", f"{separator}b")
        text = header + newline + text
    views = read(table(text))
    assert views["a"].tolist() == WANTED
    assert views.index is None and views.names == ("a",)


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("id,a,b\n1,1,2.5\n2,3,4.5\n3,5,6.5\n", ["1", "2", "3"]),
        ("Sample Name,a,b\n1,1,2.5\n2,3,4.5\n3,5,6.5\n", ["1", "2", "3"]),
        (",a,b\n0,1,2.5\n1,3,4.5\n2,5,6.5\n", ["0", "1", "2"]),
        (",0,1\n0,1,2.5\n1,3,4.5\n2,5,6.5\n", ["0", "1", "2"]),
        ("who,a,b\ns1,1,2.5\ns2,3,4.5\ns3,5,6.5\n", ["s1", "s2", "s3"]),
        ("id,2019,2020\ns1,1,2.5\ns2,3,4.5\ns3,5,6.5\n", ["s1", "s2", "s3"]),
        ("s1,1,2.5\ns2,3,4.5\ns3,5,6.5\n", ["s1", "s2", "s3"]),
        ("1_1,1,2.5\n1_2,3,4.5\n1_3,5,6.5\n", ["1_1", "1_2", "1_3"]),
        ("\ufeffid,a,b\n1,1,2.5\n\n2,3,4.5\n3,5,6.5\n", ["1", "2", "3"]),
    ],
)
def test_first_column_names_the_samples(table, text, index):
    views = read(table(text))
    assert views.index.tolist() == index
    assert views["a"].tolist() == WANTED


def test_three_column_numbers_are_a_header(table):
    assert read(table("0,1,2\n7,8,9\n4,5,6\n"))["a"].tolist() == [[7, 8, 9], [4, 5, 6]]


def test_a_missing_first_cell_is_not_a_header(table):
    with pytest.raises(InputError, match="row 0, column 0"):
        require_no_gaps(read(table(",0.5,0.3\n1,2,3\n")))


def test_index_can_be_chosen_or_refused(table):
    path = table("id,a,b\n1,1,7\n2,3,8\n")
    assert read(path, index="b").index.tolist() == ["7", "8"]
    assert read(path, index=False).widths == (3,)
    with pytest.raises(InputError, match=r"a\.csv: no column 'c' for index="):
        read(path, index="c")


def test_sample_names_that_repeat(table):
    with pytest.raises(FileFormatError, match="'id' was taken for sample names, but '1' occurs"):
        read(table("id,a\n1,2\n1,3\n"))


def test_column_that_is_not_numeric(table):
    with pytest.raises(FileFormatError, match=r"a\.csv: column 'b' is not numeric: 'x' in line 4"):
        read(table("a,b\n1,2\n3,4\n5,x\n"))
    with pytest.raises(FileFormatError, match=r"column '2' is not numeric: '1_000' in line 2"):
        read(table("1,2\n3,1_000\n"))
    with pytest.raises(FileFormatError, match=r"column '5' is not numeric: 'setosa' in line 1"):
        read(table("5.1,3.5,1.4,0.2,setosa\n4.9,3.0,1.4,0.2,setosa\n"))


def test_ragged_row(table):
    with pytest.raises(FileFormatError, match=r"a\.csv: line 3 has 3 cells, but the first line 2"):
        read(table("a,b\n1,2\n3,4,5\n"))
    with pytest.raises(FileFormatError, match="line 4 has 1 cells"):
        read(table('a,b\n"1\n",2\n3\n'))


@pytest.mark.parametrize("cell", ["", "NA", "nan", "?", " "])
def test_missing_cells_are_reported_with_their_place(table, cell):
    with pytest.raises(InputError, match=r"view 'a' has 1 NaN cell, .* row 1, column 'q'"):
        require_no_gaps(read(table(f"p,q\n1,2\n3,{cell}\n")))
    with pytest.raises(InputError, match=r"row 1 \('t'\), column 'q'"):
        require_no_gaps(read(table(f"id,p,q\ns,1,2\nt,3,{cell}\n")))


@pytest.mark.parametrize("text", ["\n\n", "a,b\n", "id\n1\n"])
def test_tables_without_numbers(table, text):
    with pytest.raises(FileFormatError, match=r"a\.csv: it has (no rows|a header|no columns)"):
        read(table(text), index="id" if "id" in text else None)


def test_text_of_another_encoding(tmp_path):
    (tmp_path / "a.csv").write_bytes("größe,b\n1,2\n".encode("utf-16"))
    with pytest.raises(FileFormatError, match=r"not a readable table .* UTF-8"):
        read(tmp_path / "a.csv")


def test_table_limits(table):
    path = table("a,b\n" + "1,2\n" * 100)
    with pytest.raises(FileFormatError, match="2 columns, over the limit of 1"):
        read(path, limits=Limits(max_columns=1))
    with pytest.raises(FileFormatError, match=r"bytes, over the limit of 1,000"):
        read(path, limits=Limits(max_bytes=1000))


# --- labels in tables ----------------------------------------------------------------------------

FLOWERS = "id,width,label,y\ns1,1,red,7\ns2,2,blue,8\n"


def test_label_column(table):
    views = read(table(FLOWERS))
    assert views.labels.tolist() == ["red", "blue"]
    assert views["a"].tolist() == [[1, 7], [2, 8]]  # y alone may be a coordinate
    assert "Column 'label' of a.csv holds the labels." in views.notes


def test_label_column_by_name_or_none(table):
    path = table(FLOWERS.replace("label", "kind"))
    assert read(path, labels="kind").labels.tolist() == ["red", "blue"]
    assert read(table(FLOWERS), labels=False).labels is None
    assert read(table(FLOWERS), labels=False).widths == (2,)
    with pytest.raises(InputError, match="labels='nope' is neither a file nor a column"):
        read(table("a,b\n1,2\n"), labels="nope")


def test_numeric_labels_are_ints(table):
    assert read(table("a,class\n0.5,1.0\n0.7,2.0\n")).labels.dtype == np.int64


def test_several_label_columns_are_refused(table):
    path = table("a,class,label\n1,2,3\n")
    with pytest.raises(FileFormatError, match=r"named like labels \(class, label\)"):
        read(path)
    assert read(path, labels="label").labels.tolist() == [3]


def test_missing_label(table):
    with pytest.raises(FileFormatError, match="the label in row 1 is missing"):
        read(table("a,label\n1,x\n2,\n"))


# --- folders and lists ---------------------------------------------------------------------------


def test_folder_is_aligned_by_sample_names(folder):
    path = folder(
        v2="id,a\ns1,1\ns2,2\ns3,3\n",
        v10="id,b,c\ns3,30,31\ns1,10,11\ns2,20,21\n",
        labels="id,label\ns2,dog\ns3,cat\ns1,cow\n",
    )
    (path / "README.md").write_text("about")
    views = read(path)
    assert views.names == ("v2", "v10")
    assert views["v10"].tolist() == [[10, 11], [20, 21], [30, 31]]
    assert views.labels.tolist() == ["cow", "dog", "cat"]
    assert views.index.tolist() == ["s1", "s2", "s3"]
    for note in (
        "Rows of v10.csv were reordered to follow v2.csv.",
        "Labels come from labels.csv.",
        "Ignored README.md in the folder.",
    ):
        assert note in views.notes


def test_files_of_different_samples_are_joined_by_name(folder):
    path = folder(a="id,x,kind\ns1,1,p\ns2,2,q\n", b="id,x,kind\ns3,7,p\ns2,8,q\n")
    views = read(path, labels="kind")
    assert views.index.tolist() == ["s1", "s2", "s3"]
    assert views.present.tolist() == [[True, False], [True, True], [False, True]]
    np.testing.assert_array_equal(views["b"].ravel(), [np.nan, 8, 7])
    assert views.labels.tolist() == ["p", "q", "p"]
    assert "View 'a' lacks 1 sample: 's3'." in views.notes
    assert "View 'b' lacks 1 sample: 's1'." in views.notes


def test_joined_files_must_agree_on_labels_and_have_them_all(folder):
    path = folder(a="id,x,kind\ns1,1,p\ns2,2,q\n", b="id,x,kind\ns3,7,p\ns2,8,p\n")
    with pytest.raises(FileFormatError, match="different labels"):
        read(path, labels="kind")
    path = folder(b="id,x\ns3,7\ns2,8\n")
    with pytest.raises(FileFormatError, match="no file has the label of sample 's3'"):
        read(path, labels="kind")


def test_files_without_a_sample_in_common_are_refused(folder):
    path = folder(a="id,x\ns1,1\ns2,2\n", b="id,x\nt1,1\nt2,1\n")
    with pytest.raises(FileFormatError, match=r"a\.csv has no sample in common.*transpose=True"):
        read(path)
    path = folder(b="id,x\ns1,1\n", c="x\n1\n2\n")
    with pytest.raises(FileFormatError, match=r"b\.csv and .*a\.csv differ.*c\.csv has no sample"):
        read(path)


def test_labels_may_cover_more_samples_but_not_fewer(folder):
    path = folder(a="id,x\ns1,1\ns2,2\n", labels="id,label\ns0,9\ns2,8\ns1,7\n")
    assert read(path).labels.tolist() == [7, 8]
    path = folder(labels="id,label\ns1,7\n")
    with pytest.raises(FileFormatError, match=r"labels\.csv lacks 1 samples: 's2'"):
        read(path)


@pytest.mark.parametrize(
    ("text", "labels"),
    [("cat\ndog\n", ["cat", "dog"]), ("label\n1\n2\n", [1, 2]), ("1\n2\n", [1, 2]),
     ("species\n1\n2\n", [1, 2]), ("label,id\n5,s2\n4,s1\n", [4, 5]),
     ("s2,cat\ns1,dog\n", ["dog", "cat"])],
)  # fmt: skip
def test_label_files(folder, text, labels):
    path = folder(a="id,x\ns1,1\ns2,2\n", b="id,x\ns1,1\ns2,2\n", labels=text)
    assert read(path).labels.tolist() == labels


def test_label_file_with_too_many_columns(folder):
    with pytest.raises(FileFormatError, match=r"labels\.csv: it should have one column of labels"):
        read(folder(a="x\n1\n2\n", labels="1,2,3\n4,5,6\n"))


def test_label_file_by_name_or_none(folder):
    path = folder(a="x\n1\n2\n", kinds="p\nq\n", labels="8\n9\n")
    views = read(path, labels="kinds", views=["a"])
    assert views.labels.tolist() == ["p", "q"] and views.names == ("a",)
    assert read(path, labels=False, views=["a"]).labels is None


def test_views_chosen_from_a_folder(folder):
    path = folder(a="x\n1\n2\n", b="x\n3\n4\n", c="x\n5\n6\n")
    assert read(path, views=["c", "a"]).names == ("c", "a")
    with pytest.raises(InputError, match=r"views='d' is none of the files a\.csv, b\.csv"):
        read(path, views=["d"])


def test_label_columns_in_several_files_must_agree(folder):
    path = folder(a="id,x,class\ns1,1,7\ns2,2,8\n", b="id,x,class\ns2,2,8\ns1,1,7\n")
    assert read(path).labels.tolist() == [7, 8]
    path = folder(b="id,x,class\ns2,2,7\ns1,1,8\n")
    with pytest.raises(FileFormatError, match="have different labels"):
        read(path)


def test_unnamed_rows_cannot_be_reordered(folder):
    path = folder(a="id,x\ns1,1\ns2,2\n", b="id,x\ns2,1\ns1,2\n", c="x\n1\n2\n")
    with pytest.raises(FileFormatError, match=r"the order of them, and c\.csv has no sample names"):
        read(path)


def test_rows_that_differ_in_number(folder):
    with pytest.raises(InputError, match="a 2, b 3"):
        read(folder(a="x\n1\n2\n", b="x\n1\n2\n3\n"))


def test_tables_with_samples_as_columns(folder):
    a, b = "gene,s1,s2\ng1,1,2\ng2,3,4\ng3,5,6\n", "gene,s2,s1\nm1,8,7\n"
    views = read(folder(a=a, b=b), transpose=True)
    assert views["a"].tolist() == [[1, 3, 5], [2, 4, 6]] and views["b"].tolist() == [[7], [8]]
    assert views.index.tolist() == ["s1", "s2"]
    views = read(folder(labels="id,label\ns2,x\ns1,y\n"))
    assert views.widths == (3, 1) and views.labels.tolist() == ["y", "x"]
    with pytest.raises(FileFormatError, match="several columns have the same name"):
        read(folder(b="gene,s1,s1\nm1,8,7\n"), transpose=True)


def test_transposed_by_the_number_of_labels(folder):
    views = read(folder(a="1,2\n3,4\n5,6\n", labels="0\n1\n"))
    assert views["a"].tolist() == [[1, 3, 5], [2, 4, 6]]


def test_kernels_in_tables_are_aligned_in_rows_and_columns(folder):
    path = folder(K1="id,s1,s2\ns1,1,0.5\ns2,0.5,2\n", K2="id,s2,s1\ns2,4,0.1\ns1,0.1,3\n")
    views = read(path)
    assert views.kernels and views["K2"].tolist() == [[3, 0.1], [0.1, 4]]
    assert not read(path, kernels=False).kernels


def test_list_of_files_of_different_kinds(table, tmp_path):
    scipy.io.savemat(tmp_path / "b.mat", {"X": np.array([[5.0, 6], [7, 8]]), "y": [3, 4]})
    np.savez(tmp_path / "c.npz", anything=np.array([[9.0, 1], [8, 2]]))
    paths = [table("x\n1\n2\n"), tmp_path / "b.mat", str(tmp_path / "c.npz")]
    views = read(paths)
    assert views.names == ("a", "b", "c") and views.widths == (1, 2, 2)
    assert views.labels.tolist() == [3, 4]
    assert "View b is X of b.mat." in views.notes
    np.savez(tmp_path / "labels.npz", kind=[1, 2])
    assert read([*paths, tmp_path / "labels.npz"]).labels.tolist() == [1, 2]
    np.savez(tmp_path / "c.npz", X1=np.ones((2, 2)), X2=np.ones((2, 2)))
    with pytest.raises(FileFormatError, match=r"c\.npz: it holds 2 views"):
        read(paths)


def test_inspect_counts_lines(folder):
    first, labels = inspect(folder(a="id,x\ns1,1\ns2,2\n", labels="p\nq\n"))
    assert (first.name, first.kind, first.shape, first.role) == ("a", "table", (2, 2), "views")
    assert (labels.shape, labels.role) == ((2, 1), "labels")


# --- parquet -------------------------------------------------------------------------------------


@pytest.fixture
def parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    write = pytest.importorskip("pyarrow.parquet").write_table

    def written(name="a", **columns):
        write(pyarrow.table(columns), tmp_path / f"{name}.parquet")
        return tmp_path / f"{name}.parquet"

    return written


def test_parquet_columns(parquet):
    path = parquet(id=["s1", "s2"], a=[1, 2], b=[True, False], c=[0.5, 1.5], label=["x", "y"])
    views = read(path)
    assert views["a"].tolist() == [[1, 1, 0.5], [2, 0, 1.5]]
    assert views.index.tolist() == ["s1", "s2"] and views.labels.tolist() == ["x", "y"]
    assert inspect(path)[0].shape == (2, 5)


def test_parquet_errors(parquet):
    with pytest.raises(FileFormatError, match=r"a\.parquet: column 'b' is not numeric but string"):
        read(parquet(a=[1, 2], b=["x", "y"]))
    with pytest.raises(InputError, match=r"view 'a' has 1 NaN cell, .* row 1, column 'a'"):
        require_no_gaps(read(parquet(a=[1, None], b=[1, 2])))
    with pytest.raises(FileFormatError, match="the label in row 0 is missing"):
        read(parquet(a=[1, 2], label=[None, "x"]))
    with pytest.raises(FileFormatError, match="over the limit of 100"):
        read(parquet(a=list(range(100))), limits=Limits(max_bytes=100))


def test_parquet_folder_with_a_pandas_index(parquet, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1.0, 2.0]}, index=["s1", "s2"])
    frame.to_parquet(tmp_path / "a.parquet")
    frame[::-1].to_parquet(tmp_path / "b.parquet")
    parquet("labels", id=["s2", "s1"], kind=[5, 4])
    views = read(tmp_path)
    assert views.index.tolist() == ["s1", "s2"] and views["b"].tolist() == [[1], [2]]
    assert views.labels.tolist() == [4, 5]


def test_parquet_without_pyarrow_names_the_extra(parquet, monkeypatch):
    path = parquet(a=[1, 2])
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"pip install mkclust\[parquet\]"):
        read(path)
