"""Text tables as other programs write them, workbooks, and the table of annotations."""

import gzip

import numpy as np
import pandas as pd
import pytest

from mkclust.data.alignment import match_samples
from mkclust.exceptions import FileFormatError, InputError
from mkclust.io.reading import read
from mkclust.io.tables import read_table

pytestmark = pytest.mark.versions
NAN = float("nan")
ABC = ["a", "b", "c"]

# text: values, names of rows
DIALECTS = {
    "no header": ("1,2.5\n3,4.5\n", [[1, 2.5], [3, 4.5]], None),
    "semicolons": ("p;q\n1;2.5\n3;4.5\n", [[1, 2.5], [3, 4.5]], None),
    "windows": ("p\tq\r\n1\t2.5\r\n3\t4.5\r\n", [[1, 2.5], [3, 4.5]], None),
    "quoted": ('"p, or q",r\n1,2\n3,4\n', [[1, 2], [3, 4]], None),
    "mark": ("\ufeffid,p\na,1\nb,2\n", [[1], [2]], ["a", "b"]),
    "text first": ("a,1,2\nb,3,4\n", [[1, 2], [3, 4]], ["a", "b"]),
    "index of pandas": (",0,1\n0,1,2.5\n1,3,4\n", [[1, 2.5], [3, 4]], ["0", "1"]),
    "zeros": ("id,p\n001,1\n010,2\n", [[1], [2]], ["001", "010"]),
    "zeros late": (
        "id,p\n" + "".join(f"{i},1\n" for i in range(100, 130)) + "007,2\n",
        [[1]] * 30 + [[2]],
        [*map(str, range(100, 130)), "007"],
    ),
    "exponents": ("p,well name\n1,1E02\n2,2E01\n", [[1], [2]], ["1E02", "2E01"]),
    "zeros at the end": (",p\n1.10,1\n1.20,2\n", [[1], [2]], ["1.10", "1.20"]),
    "NA is a name": ("id,p,q\nNA,1,2\nb,NA,3\n", [[1, 2], [NAN, 3]], ["NA", "b"]),
    "decimal commas": ("id;x;y\na;1,5;-2,25e0\nb;3,0;4\n", [[1.5, -2.25], [3, 4]], ["a", "b"]),
    "quoted commas": ('id,x,y\na,"1,5","2,5"\nb,"3,0",4\n', [[1.5, 2.5], [3, 4]], ["a", "b"]),
    "write.table": ('"x" "y"\n"a" 1 2.5\n"b" 3 NA\n"c" 5 6\n', [[1, 2.5], [3, NAN], [5, 6]], ABC),
    "write.csv": ('"","x","y"\n"a",1,2.5\n"b",3,4\n', [[1, 2.5], [3, 4]], ["a", "b"]),
    "col.names=TRUE": ('"x"\t"y"\n"1"\t1\t2.5\n"7"\t3\t4\n', [[1, 2.5], [3, 4]], ["1", "7"]),
    "empty margin": ("id,x,y,,\na,1,2,,\n,,,,\nb,3,4,,\n,,,,\n", [[1, 2], [3, 4]], ["a", "b"]),
    "late margin": ("x,y\n1,2,,,\n3,4,,,\n", [[1, 2], [3, 4]], None),
    "missing": ("x,y\n1,?\n,4\n3,#N/A\n", [[1, NAN], [NAN, 4], [3, NAN]], None),
    "comments": ("#made\n#by x\nid\tx\na\t1\nb\t2\n", [[1], [2]], ["a", "b"]),
    "header as comment": ("#id,x\n1,0.5\n2,1.5\n", [[0.5], [1.5]], ["1", "2"]),
    "GEO": (
        '!Series_title\t"t"\n\n"id"\t"x"\n"a"\t1\n"b"\t2\n!series_matrix_table_end\n',
        [[1], [2]],
        ["a", "b"],
    ),
    "column numbers": ("0,1,2\n7,8,9\n4,5,6\n", [[7, 8, 9], [4, 5, 6]], None),
    "Entrez ids": (
        "5601,2314,77\n0.5,1.5,2.5\n1.5,0.25,3\n",
        [[0.5, 1.5, 2.5], [1.5, 0.25, 3]],
        None,
    ),
    "counts of Entrez ids": ("5601,2314,773\n5,1,2\n1,2,3\n", [[5, 1, 2], [1, 2, 3]], None),
    "wavelengths": (
        "400.5,401,401.5,402\n.5,.1,.5,.2\n.2,.7,.3,.4\n",
        [[0.5, 0.1, 0.5, 0.2], [0.2, 0.7, 0.3, 0.4]],
        None,
    ),
    "named Entrez ids": (
        "who,5601,2314,77\na,.5,1.5,2.5\nb,1.5,.25,3\n",
        [[0.5, 1.5, 2.5], [1.5, 0.25, 3]],
        ["a", "b"],
    ),
}

REFUSED = {
    "text": (
        "p,q\n1,2\n3,x\n",
        {},
        r"column 'q' is not numeric: 'x' in row 1; leave out with drop",
    ),
    "text far down": ("p,q\n" + "1,2.5\n" * 60_000 + "1,x\n", {}, "'q'.*: 'x' in row 60000; leave"),
    "underscore": ("1,2\n3,1_000\n", {}, "column '1' is not numeric: '1_000'"),
    "long row": ("p,q\n1,2\n3,4,5\n", {}, "Expected 2 fields in line 3, saw 3"),
    "short row": ("p,q\n1,2\n3\n", {}, "line 3 has 1 cells, but others have 2"),
    "short named row": (",x,y\na,1,2\nb,3\n", {}, "line 3 has 2 cells, but others have 3"),
    "short row of R": ("x,y\na,1,2\nb,3\n", {}, "line 3 has 2 cells, but others have 3"),
    "late cell": (
        "x,y,,\n" + "1,2,,\n" * 30 + "3,4,5,\n",
        {},
        "its rows have 4 cells, but the header 2",
    ),
    "thousands": ("x;y\n1,234;2,255\n3,000;4\n", {}, "'1,234'.*thousands.*pass decimal=','"),
    "late comma": ("x;y\n" + "1;2\n" * 30 + "1,5;2\n", {}, "'1,5' in row 30; pass decimal=','"),
    "commas twice": ("x,y\n1,5,2,5\n3,5,4,5\n", {}, "4 cells, but the header 2; if a comma"),
    "header alone": ("a,b\n", {}, "a header but no rows"),
    "repeated": ("id,x\ns1,1\ns1,2\n", {}, "occur"),
    "repeated id": ("who,x\ns1,1\ns1,2\n", {"id": "who"}, "'s1' is missing or occurs repeatedly"),
    "no id": ("id,x\na,1\nb,2\n", {"id": "who"}, "view 'a' has no column 'who'"),
    "bad sep": ("x,y\n1,2\n", {"sep": "::"}, "sep='::' must be one character"),
    "bad decimal": ("x,y\n1,2\n", {"decimal": ";"}, "decimal=';' must be"),
    "no drop": ("x,y\n1,2\n", {"drop_columns": "z"}, "no column 'z' for drop_columns"),
    "empty": ("", {}, "the file is empty"),
}


@pytest.fixture
def table(tmp_path):
    def written(text, name="a.csv"):
        path = tmp_path / name
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return written


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects(table, dialect):
    text, values, names = DIALECTS[dialect]
    for name in ("a.csv", "a.txt", "a.TSV.gz"):
        views = read(table(text, name))
        np.testing.assert_array_equal(views["a"], values)
        assert (None if views.index is None else views.index.tolist()) == names


@pytest.mark.parametrize("case", REFUSED)
def test_refused(table, case):
    text, options, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        read(table(text), **options)


def test_choices(table):
    path = table("id|x|town\na|1,5|rome\nb|2,5|oslo\n")
    assert read(path, sep="|", drop_columns="town")["a"].tolist() == [[1.5], [2.5]]
    assert read(table("1,2\n3,x\n"), drop_columns="1")["a"].tolist() == [[1], [3]]
    found = read(table("3,5,8\n3.2,6.5,5.1\n1,2.5,3\n")).notes
    assert found[0] == "a.csv: first row taken as column names: 3, 5, 8"
    path = table("id,x\n1,2\n1,4\n")
    assert read(path, id=False).widths == (2,)
    path = table("x;y\n1,234;5\n2,345;6\n")
    assert read(path, decimal=",")["a"].tolist() == [[1.234, 5], [2.345, 6]]
    utf16 = path.with_name("b.txt")
    utf16.write_bytes("id\tx\na\t1\nb\t2\n".encode("utf-16"))
    assert read(utf16).index.tolist() == ["a", "b"]


def test_lines_of_many_columns(table):
    cells = [f"{value:.15f}" for value in np.random.default_rng(0).random(12_000)]
    head = ",".join(f"g{j}" for j in range(12_000))
    views = read(table(f"id,{head}\n" + "".join(f"{name},{','.join(cells)}\n" for name in ABC)))
    np.testing.assert_array_equal(views["a"][2], [float(cell) for cell in cells])


@pytest.mark.parametrize("text", ["x,y\n1,2\n,\n5,6\n", "x,y\n1,2\n\n5,6\n\n \n", "x\n1\n\n5\n"])
def test_an_empty_row_of_an_unnamed_table_is_a_missing_sample(table, text):
    files = [table(text), table("z\n\n2\n3\n\n", "b.csv")]
    assert read(files).present.tolist() == [[True, False], [False, True], [True, True]]


def test_damaged_gzip_is_refused(table):
    path = table("x,y\n1,2\n3,4\n", "a.csv.gz")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FileFormatError, match=r"a\.csv\.gz: not a readable table"):
        read_table(path)


@pytest.fixture
def workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl comes with mkclust[excel]")

    def written(name, **sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            sheet.sheet_state = "hidden" if title == "hidden" else "visible"
            for row in rows:
                sheet.append(row)
        book.save(tmp_path / name)
        return tmp_path / name

    return written


RNA = [["id", "x", "y"], ["001", 1, 0.1], ["002", 2, 1 / 3], ["003", True, None]]
PROTEIN = [["id", "z"], ["003", 3.5], ["002", 2.5], ["001", 1.5]]


def test_a_sheet_alone_is_named_after_its_file_and_several_are_views(workbook, tmp_path):
    one = workbook("rna.xlsx", Sheet1=RNA, empty=[], hidden=PROTEIN)
    views = read(one)
    assert views.names == ("rna",) and views.index.tolist() == ["001", "002", "003"]
    np.testing.assert_array_equal(views["rna"], [[1, 0.1], [2, 1 / 3], [1, NAN]])
    assert "Ignored the hidden sheet 'hidden' of rna.xlsx." in views.notes
    workbook("protein.xlsx", Sheet1=PROTEIN)
    (tmp_path / "~$rna.xlsx").write_bytes(b"lock")
    (tmp_path / ".DS_Store").write_bytes(b"x")
    (tmp_path / "Thumbs.db").write_bytes(b"x")
    views = read(tmp_path)
    assert views.names == ("protein", "rna") and views["rna"][1, 1] == 1 / 3
    assert "Ignored .DS_Store, Thumbs.db, ~$rna.xlsx in the folder." in views.notes
    kinds = [["id", "kind"], ["002", "u"], ["001", "v"], ["003", "u"]]
    views = read(workbook("study.xlsx", rna=RNA, protein=PROTEIN, labels=kinds))
    assert views.names == ("rna", "protein") and views.labels.tolist() == ["v", "u", "u"]


def test_a_damaged_workbook_is_refused(tmp_path):
    pytest.importorskip("openpyxl")
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04 no archive")
    for call in (read, read_table):
        with pytest.raises(FileFormatError, match=r"a\.xlsx: not a readable workbook"):
            call(tmp_path / "a.xlsx")


SAMPLES = [f"{i:03d}" for i in range(1, 31)]
ORDER = np.random.default_rng(0).permutation(30)


@pytest.mark.parametrize(
    ("columns", "id", "key"),
    [
        ({"rank": ORDER + 1, "patient": SAMPLES, "stage": 1}, None, "patient"),
        ({"patient": SAMPLES, "stage": 1}, None, "patient"),
        ({"stage": 1, "SUBJID": SAMPLES}, None, "SUBJID"),
        ({"stage": 1, "a": SAMPLES, "copy": SAMPLES}, None, "a"),
        ({"stage": 1, "a": SAMPLES, "b": SAMPLES[::-1]}, "b", "b"),
        ({"patient": SAMPLES[:9], "stage": 1}, None, "patient"),
    ],
)
def test_the_key_of_annotations(tmp_path, columns, id, key):
    frame = pd.DataFrame(columns)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    for path in tmp_path.iterdir():
        found = match_samples(read_table(path), SAMPLES, id)
        assert found.index.name == key and set(found.index) <= {*SAMPLES}
        assert "copy" not in found.columns and found["stage"].tolist() == [1] * len(frame)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": 1, "b": SAMPLES, "c": SAMPLES[::-1]}, "columns 'b', 'c' could name the samples"),
        ({"patient": [*SAMPLES[:-1], "001"], "a": 1}, "several rows are of one sample.*'001'"),
        ({"patient": [*SAMPLES[:-1], None], "a": 1}, "1 rows have no name in column 'patient'"),
        ({"a": 1, "b": ["x"] * 30}, "no column holds names of the samples, such as '001'"),
    ],
)
def test_annotations_that_cannot_be_matched(columns, message):
    with pytest.raises(InputError, match=message):
        match_samples(pd.DataFrame(columns), SAMPLES)
