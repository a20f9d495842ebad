"""Text tables as other programs write them: decimal commas, R, Excel, gzip."""

import gzip

import numpy as np
import pytest

from mkclust.exceptions import FileFormatError, InputError
from mkclust.io import Limits, inspect, read

pytestmark = pytest.mark.versions


@pytest.fixture
def table(tmp_path):
    def written(text, name="a.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize(
    "text",
    [
        "id;x;y\na;1,5;-2,25\nb;3,0;4\n",
        'id,x,y\na,"1,5","-2,25"\nb,"3,0",4\n',
        "id\tx\ty\na\t1,5\t-2,25\nb\t3,0\t4\n",
        "id;x;y\na;1,5;-2,25e0\nb;0,3e1;4\n",
    ],
)
def test_decimal_commas_are_read_and_noted(table, text):
    views = read(table(text))
    assert views["a"].tolist() == [[1.5, -2.25], [3, 4]]
    assert "a.csv: Numbers have decimal commas." in views.notes


def test_a_comma_that_may_separate_thousands_is_refused(table):
    path = table("id;x;y\na;1,234;2,255\nb;3,000;4\n")
    with pytest.raises(FileFormatError, match=r"'1,234'.*thousands.*pass decimal=','"):
        read(path)
    assert read(path, decimal=",")["a"].tolist() == [[1.234, 2.255], [3, 4]]
    with pytest.raises(FileFormatError, match="not numeric: '1,234'"):
        read(path, decimal=".")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("x;y\n1,5;2.25\n3,0;4\n", "'1,5' in line 2; pass decimal=','"),
        ("x;y\n" + "1;2\n" * 30 + "1,5;2\n", "'1,5' in line 32; pass decimal=','"),
        ("x;y\n" + "1,5;2\n" * 30 + "1.5;2\n", "'1.5' in line 32; pass decimal='.'"),
        ("x,y\n1,5,2,5\n3,5,4,5\n", "line 2 has 4 cells, but the first line 2; if a comma is"),
        ("x,y\n1,5,2\n1,7,3\n", "line 2 has 3 cells, but the first line 2; if a comma is"),
        ("x\n1,5\n2,5\n", "line 2 has 2 cells, but the first line 1; if a comma is"),
    ],
)
def test_other_decimal_commas_are_refused_with_the_cause(table, text, cause):
    with pytest.raises(FileFormatError) as refused:
        read(table(text))
    assert cause in str(refused.value)


def test_a_column_of_decimal_commas_needs_the_option(table):
    assert read(table("x\n1,5\n2,5\n"), decimal=",")["a"].tolist() == [[1.5], [2.5]]


@pytest.mark.parametrize(
    "text",
    [
        '"x","y"\n"r1",1,2.5\n"r2",3,NA\n"r3",5,6\n',
        '"x"\t"y"\n"r1"\t1\t2.5\n"r2"\t3\tNA\n"r3"\t5\t6\n',
        '"x" "y"\n"r1" 1 2.5\n"r2" 3 NA\n"r3" 5 6\n',
        '"x";"y"\n"r1";1;2,5\n"r2";3;NA\n"r3";5;6\n',
        '"x"   "y"\n"r1"   1  2.5\n"r2"   3   NA\n"r3"   5   6 \n',
    ],
)
def test_row_names_of_r_are_sample_names(table, text):
    assert np.argwhere(np.isnan(read(table(text))["a"])).tolist() == [[1, 1]]
    views = read(table(text.replace("NA", "4")))
    assert views.index.tolist() == ["r1", "r2", "r3"]
    assert views["a"].tolist() == [[1, 2.5], [3, 4], [5, 6]]
    assert any("as R writes row names" in note for note in views.notes)


def test_numbered_rows_of_r_are_sample_names(table):
    views = read(table('"x","y"\n"1",1,2.5\n"2",3,4\n"7",5,6\n'))
    assert views.index.tolist() == ["1", "2", "7"] and views.widths == (2,)


@pytest.mark.parametrize(
    "text",
    [
        "x,y,,,\n1,2,,,\n3,4,,,\n",
        "x,y\n1,2,,,\n3,4,,,\n",
        "x,y\n1,2,\n3,4,\n",
        "1,2,,\n3,4,,\n",
    ],
)
def test_empty_columns_at_the_end_are_left_out(table, text):
    views = read(table(text))
    assert views["a"].tolist() == [[1, 2], [3, 4]]
    assert "a.csv: Columns after 2, which are empty, were left out." in views.notes


def test_a_late_value_in_an_empty_column_is_refused(table):
    with pytest.raises(FileFormatError, match="line 32 has 3 cells, but the first line 2"):
        read(table("x,y,,\n" + "1,2,,\n" * 30 + "3,4,5,\n"))


def test_empty_rows_of_a_named_table_are_left_out(table):
    views = read(table("id,x,y,,\na,1,2,,\nb,3,4,,\n,,,,\n,,,,\n"))
    assert views.index.tolist() == ["a", "b"]
    assert "a.csv: 2 empty rows were left out." in views.notes


def test_an_empty_row_of_an_unnamed_table_is_a_missing_sample(table):
    files = [table("x,y\n1,2\n,\n5,6\n"), table("z\n1\n2\n3\n", "b.csv")]
    assert read(files).present.tolist() == [[True, True], [False, True], [True, True]]


@pytest.mark.parametrize("sep", ["|", ":", " ", ";"])
def test_a_separator_can_be_named(table, sep):
    path = table(f"id{sep}x{sep}y\na{sep}1{sep}2\nb{sep}3{sep}4\n")
    assert read(path, sep=sep)["a"].tolist() == [[1, 2], [3, 4]]
    assert [(v.name, v.shape) for v in inspect(path, sep=sep)] == [("a", (2, 3))]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"sep": ""}, "sep must be one character"),
        ({"sep": "::"}, "sep must be one character"),
        ({"sep": '"'}, "sep must be one character"),
        ({"sep": 3}, "sep must be one character"),
        ({"decimal": ";"}, "decimal must be '.' or ','"),
        ({"sep": ",", "decimal": ","}, "sep=',' and decimal=',' are the same"),
        ({"drop_columns": [3]}, "drop_columns must be names"),
        ({"drop_columns": "z"}, "no column 'z' for drop_columns"),
    ],
)
def test_choices_that_cannot_be(table, choice, message):
    with pytest.raises(InputError) as refused:
        read(table("x,y\n1,2\n3,4\n"), **choice)
    assert message in str(refused.value)


def test_choices_for_tables_are_refused_for_archives(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.ones((4, 2)))
    for choice in ({"sep": ";"}, {"decimal": ","}, {"drop_columns": "x"}):
        with pytest.raises(InputError, match=r"applies to .*csv.* only, not to \.npz"):
            read(tmp_path / "a.npz", **choice)


def test_columns_are_dropped_from_every_table_that_has_them(table):
    files = [
        table("id,x,kind,town\na,1,cat,rome\nb,3,dog,oslo\n"),
        table("id,z,town\nb,2,rome\na,4,oslo\n", "b.csv"),
    ]
    with pytest.raises(FileFormatError) as refused:
        read(files)
    assert "columns 'kind', 'town' are not numeric: 'cat' in line 2" in str(refused.value)
    assert "drop_columns=['kind', 'town']" in str(refused.value)
    views = read(files, drop_columns=["kind", "town"])
    assert views["a"].tolist() == [[1], [3]] and views["b"].tolist() == [[4], [2]]
    assert "Column 'town' of b.csv was dropped, as asked." in views.notes


def test_a_dropped_key_or_class_is_neither(table):
    path = table("id,x,class\n1,1,2\n1,3,4\n")
    assert read(path, drop_columns=["id", "class"]).labels is None
    assert read(path, drop_columns="id").index is None


def test_parquet_columns_are_dropped(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    pd.DataFrame({"x": [1.0, 2], "town": ["rome", "rome"]}).to_parquet(path)
    with pytest.raises(FileFormatError, match=r"column 'town' is not numeric but .*drop_columns='"):
        read(path)
    assert read(path, drop_columns="town").widths == (1,)


@pytest.mark.parametrize("suffix", [".csv.gz", ".tsv.gz", ".CSV.GZ"])
def test_gzipped_tables_are_read(tmp_path, suffix):
    path = tmp_path / f"rna.v2{suffix}"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfid,x,y\na,1,2\nb,3,4\n"))
    views = read(path)
    assert views.names == ("rna.v2",) and views.index.tolist() == ["a", "b"]
    assert views["rna.v2"].tolist() == [[1, 2], [3, 4]]
    assert inspect(path)[0].name == "rna.v2"


def test_gzipped_tables_and_labels_in_a_folder(tmp_path):
    for name, text in {"a": "id,x\np,1\nq,2\n", "labels": "id,class\nq,1\np,0\n"}.items():
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    views = read(tmp_path)
    assert views.names == ("a",) and views.labels.tolist() == [0, 1]


def test_a_gzip_bomb_and_a_damaged_file_are_refused(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 5_000_000))
    assert path.stat().st_size < 100_000
    for call, what in ((read, "it"), (inspect, "its unpacked text")):
        with pytest.raises(FileFormatError, match=rf"{what} claims .* bytes, over the limit"):
            call(path, limits=Limits(max_bytes=1 << 20))
    path.write_bytes(gzip.compress(b"1,2\n3,4\n" * 1000)[:-9])
    with pytest.raises(FileFormatError, match=r"a\.csv\.gz: not a readable table"):
        read(path)


def test_labels_may_be_a_file_elsewhere(tmp_path, table):
    files = [table("id,x\np,1\nq,2\nr,3\n"), table("id,z\nr,1\nq,2\np,5\n", "b.csv")]
    (tmp_path / "other").mkdir()
    truth = table("id,kind\nq,dog\nr,cat\np,cat\ns,dog\n", "other/truth.csv")
    assert read(files, labels=str(truth)).labels.tolist() == ["cat", "dog", "cat"]
    assert read(tmp_path, labels=str(truth)).labels.tolist() == ["cat", "dog", "cat"]
    np.savez(tmp_path / "c.npz", X=np.ones((4, 2)))
    views = read(tmp_path / "c.npz", labels=str(truth))
    assert views.labels.tolist() == ["dog", "cat", "cat", "dog"]
    assert views.notes[-1] == "Labels come from truth.csv."
    inside = read(tmp_path, labels=str(tmp_path / "b.csv"), index=False, drop_columns="id")
    assert inside.names == ("a",)
