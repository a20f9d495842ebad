"""Excel workbooks: every sheet is a view."""

import builtins
import datetime
import zipfile

import numpy as np
import pytest

from mkclust.exceptions import FileFormatError, InputError
from mkclust.io import Limits, inspect, read

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl comes with mkclust[excel]")
RNA = [["id", "x", "y"], ["a", 1, 0.1], ["b", 2, 1 / 3], ["c", 3, 1e-300]]
PROTEIN = [["id", "z"], ["c", 3.5], ["b", 2.5], ["a", 1.5]]


@pytest.fixture
def workbook(tmp_path):
    def written(name="study.xlsx", **sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        book.save(tmp_path / name)
        return tmp_path / name

    return written


def test_every_sheet_is_a_view_aligned_by_names(workbook):
    path = workbook(
        rna=RNA, protein=PROTEIN, labels=[["id", "kind"], ["b", "u"], ["a", "v"], ["c", "u"]]
    )
    views = read(path)
    assert views.names == ("rna", "protein")
    assert views["rna"].tolist() == [row[1:] for row in RNA[1:]]  # to the last digit
    assert views["protein"].ravel().tolist() == [1.5, 2.5, 3.5]
    assert views.labels.tolist() == ["v", "u", "u"] and views.index.tolist() == ["a", "b", "c"]
    assert [(v.name, v.shape, v.role) for v in inspect(path)] == [
        ("rna", (3, 3), "views"), ("protein", (3, 2), "views"), ("labels", (3, 2), "labels"),
    ]  # fmt: skip
    assert read(path, views="protein").names == ("protein",)


def test_workbooks_stand_beside_other_files(workbook, tmp_path):
    workbook(rna=RNA)
    (tmp_path / "shape.csv").write_text("id,w\nb,1\na,2\nc,3\n")
    assert read(tmp_path).names == ("shape", "rna")
    truth = workbook("truth.xlsx", labels=[["id", "kind"], ["b", 1], ["a", 0], ["c", 0]])
    assert read(tmp_path / "shape.csv", labels=f"{truth}/labels").labels.tolist() == [1, 0, 0]


def test_empty_and_hidden_sheets_are_ignored_with_a_note(workbook):
    path = workbook(rna=RNA, Sheet2=[], secret=PROTEIN)
    book = openpyxl.load_workbook(path)
    book["secret"].sheet_state = "hidden"
    book.save(path)
    views = read(path)
    assert views.names == ("rna",)
    assert "Ignored the empty sheet 'Sheet2' of study.xlsx." in views.notes
    assert "Ignored the hidden sheet 'secret' of study.xlsx." in views.notes


def test_cells_that_are_no_numbers(workbook):
    rows = [["id", "x", "when"], ["a", True, datetime.date(2020, 1, 2)], ["b", 2, None]]
    with pytest.raises(FileFormatError, match="column 'when' is not numeric: '2020-01-02 "):
        read(workbook(one=rows))
    assert read(workbook(one=rows), drop_columns="when")["one"].tolist() == [[1], [2]]
    gaps = read(workbook(one=[["id", "x", "y"], ["a", "#N/A", 1], ["b", 2, None]]))["one"]
    assert np.isnan(gaps).tolist() == [[True, False], [False, True]]


def test_empty_rows_and_columns_around_the_table(workbook):
    rows = [[], ["id", "x", None], ["a", 1, None], [], ["b", 2, None], [None, None, " "]]
    assert read(workbook(one=rows))["one"].tolist() == [[1], [2]]


def test_without_openpyxl_the_extra_is_named(workbook, monkeypatch):
    path = workbook(rna=RNA)
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.partition(".")[0] == "openpyxl":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"pip install mkclust\[excel\]"):
        read(path)


def rewritten(path, member, content):
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, content(data) if name == member else data)
    return path


@pytest.mark.parametrize(
    ("member", "content", "message"),
    [
        ("xl/workbook.xml", lambda d: b'<!DOCTYPE a [<!ENTITY b "c">]>' + d, "no plain UTF-8 XML"),
        ("xl/workbook.xml", lambda d: d.replace(b'"rna"', b'"../../x"'), "sheet with the name"),
        ("xl/workbook.xml", lambda d: d[: len(d) // 2], "not a readable workbook"),
        ("xl/worksheets/sheet1.xml", lambda d: d.replace(b'<row r="3"', b'<row r="99999999"'),
         "at most 1,048,576 rows"),
        ("xl/styles.xml", lambda d: d + b" " * (8 << 20), "text beside the sheets claims"),
        ("xl/worksheets/sheet1.xml", lambda d: d + b" " * (80 << 20), "unpacked text claims"),
    ],
)  # fmt: skip
def test_hostile_workbooks_are_refused(workbook, member, content, message):
    path = rewritten(workbook(rna=RNA), member, content)
    with pytest.raises(FileFormatError, match=message):
        read(path, limits=Limits(max_bytes=64 << 20))


def test_strings_may_be_shared_between_cells(workbook):
    """As Excel writes them; openpyxl writes them into the cells."""
    path = workbook(rna=[["id", "x"], ["a", 1], ["b", 2]])
    text = b'<c r="%s" t="inlineStr"><is><t>%s</t></is></c>'
    cells = {b"A1": b"id", b"B1": b"x", b"A2": b"a", b"A3": b"b"}

    def shared(data):
        for number, (place, word) in enumerate(cells.items()):
            assert text % (place, word) in data
            data = data.replace(
                text % (place, word), b'<c r="%s" t="s"><v>%d</v></c>' % (place, number)
            )
        return data

    main = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    override = b'<Override PartName="/xl/sharedStrings.xml" ContentType="%s"/></Types>' % main
    rewritten(path, "xl/worksheets/sheet1.xml", shared)
    rewritten(path, "[Content_Types].xml", lambda d: d.replace(b"</Types>", override))
    spread = b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">%s</sst>'
    with zipfile.ZipFile(path, "a") as archive:
        words = b"".join(b"<si><t>%s</t></si>" % word for word in cells.values())
        archive.writestr("xl/sharedStrings.xml", spread % words)
    views = read(path)
    assert views.index.tolist() == ["a", "b"] and views["rna"].tolist() == [[1], [2]]


def test_wide_rows_count_against_the_limit(workbook):
    path = workbook(rna=[["id", "x"], *([f"s{i}", i] for i in range(40))])
    rewritten(path, "xl/worksheets/sheet1.xml", lambda d: d.replace(b'r="B', b'r="XFD'))
    with pytest.raises(FileFormatError, match="over the limit"):
        read(path, limits=Limits(max_bytes=1 << 20))


def test_a_file_that_is_no_workbook(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"no zip archive")
    with pytest.raises(FileFormatError, match=r"a\.xlsx: not a readable workbook"):
        read(tmp_path / "a.xlsx")
    np.savez(tmp_path / "b.npz", X=np.ones((3, 2)))
    (tmp_path / "b.npz").rename(tmp_path / "b.xlsx")
    with pytest.raises(FileFormatError, match=r"b\.xlsx: not a readable workbook"):
        read(tmp_path / "b.xlsx")
