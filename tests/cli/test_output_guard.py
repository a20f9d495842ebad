"""The output folder: only files that mkclust wrote are replaced, and none of them is input."""

import json

import numpy as np
import pytest

from mkclust import datasets, read
from mkclust.cli import output_directory
from mkclust.exceptions import FileFormatError, InputError
from mkclust.io.manifest import NAME, Manifest, checksum, is_result, read_manifest

QUICK = ("--no-report", "--no-stability")
CHUNKS = ("--method", "mkc-dnm", "--n-samples-fit", "40")


@pytest.fixture
def tables(tmp_path):
    """A folder `d` with two tables and the known classes."""
    views = datasets.make_views(60, 3, 2, noise=0.5, random_state=0)
    (tmp_path / "d").mkdir()
    for name, view in zip(views.names, views.views, strict=True):
        np.savetxt(tmp_path / "d" / f"{name}.csv", view, delimiter=",")
    return tmp_path / "d"


def contents(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_an_output_folder_inside_the_input_folder_is_not_read(run, tables, monkeypatch):
    monkeypatch.chdir(tables)
    for _ in range(2):
        code, out, _ = run("cluster", ".", "-k", 3, *QUICK)
        assert code == 0 and "2 views" in out


def test_results_are_refused_as_input_and_as_known_classes(run, tables, tmp_path):
    assert run("cluster", "d", "-k", 3, "-o", "out", "--no-report")[0] == 0
    for given in (
        ["out"],
        ["out/labels.csv"],
        ["out/embedding.npz"],
        ["d/view1.csv", "out/labels.csv"],
    ):
        code, _, err = run("cluster", *given, "-k", 3, "-o", "other")
        assert code == 2 and "result" in err and "mkclust" in err, given
        assert not (tmp_path / "other").exists()
    code, _, err = run("inspect", "out/labels.csv")
    assert code == 2 and "it is a result of mkclust" in err
    with pytest.raises(FileFormatError, match="only results of mkclust"):
        read(tmp_path / "out")


def test_parts_written_by_a_run_are_neither_views_nor_classes(run, tmp_path):
    views = datasets.make_views(60, 3, 2, noise=0.5, random_state=0)
    for name, view in zip(("colour", "shape"), views.views, strict=True):
        (tmp_path / "p" / name).mkdir(parents=True)
        np.save(tmp_path / "p" / name / "part-0.npy", view)
    for _ in range(2):
        code, out, _ = run("cluster", "p", "-k", 3, "-o", "p", *CHUNKS, *QUICK)
        assert code == 0 and "60 samples, 2 views" in out
    for given in (["p/labels", "p/embedding"], ["p/embedding"]):
        code, _, err = run("cluster", *given, "-k", 3, "-o", "other")
        assert code == 2 and "result of mkclust" in err
    code, _, err = run("cluster", "p", "-k", 3, "--labels", "p/labels/part-00000.npy", "-o", "o")
    assert code == 2 and "result of mkclust" in err


@pytest.mark.parametrize("name", ["labels.csv", "graph.npz", "report.html", "mkclust.json"])
def test_files_of_others_are_replaced_on_request_only(run, tables, tmp_path, name):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("of my own")
    (tmp_path / "mine" / "result.json").write_text("{}")
    code, _, err = run("cluster", "d", "-k", 3, "-o", "mine")
    assert code == 2 and name in err and "--overwrite" in err and "Traceback" not in err
    assert contents(tmp_path / "mine") == {name: b"of my own", "result.json": b"{}"}
    code, _, _ = run("cluster", "d", "-k", 3, "-o", "mine", "--overwrite", "--no-stability")
    assert code == 0
    found = read_manifest(tmp_path / "mine")
    assert all(found.wrote(tmp_path / "mine", file) for file in found.files)


def test_a_file_that_will_not_be_written_is_in_nobodys_way(run, tables, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "report.html").write_text("of my own")
    (tmp_path / "mine" / "stability.csv").write_text("of my own")
    assert run("cluster", "d", "-k", 3, "-o", "mine", *QUICK)[0] == 0
    assert run("cluster", "d", "-k", 2, "-o", "mine", *QUICK)[0] == 0
    assert (tmp_path / "mine" / "report.html").read_text() == "of my own"
    assert (tmp_path / "mine" / "stability.csv").read_text() == "of my own"


def test_a_result_that_was_edited_belongs_to_its_editor(run, tables, tmp_path):
    assert run("cluster", "d", "-k", 3, *QUICK)[0] == 0
    labels = tmp_path / "mkclust-out" / "labels.csv"
    labels.write_text(labels.read_text() + "note,0\n")
    before = contents(tmp_path / "mkclust-out")
    code, _, err = run("cluster", "d", "-k", 3, *QUICK)
    assert code == 2 and "labels.csv" in err and "changed since" in err
    assert contents(tmp_path / "mkclust-out") == before
    assert run("cluster", "d", "-k", 3, "--overwrite", *QUICK)[0] == 0


def test_nothing_is_created_by_a_refusal(run, tables, tmp_path):
    for more in (["--kernel", "rbf"], ["--views", "absent"], ["--n-neighbors", "0"]):
        assert run("cluster", "d", "-k", 3, "-o", "a/b/c", *more)[0] == 2
        assert run("cluster", "d", "-k", 99, "-o", "a/b/c", "--save", "s/m.npz")[0] == 2
    assert {path.name for path in tmp_path.iterdir()} == {"d"}


def test_folders_are_created_with_their_results_at_once(run, tables, tmp_path):
    assert run("cluster", "d", "-k", 3, "-o", "a/b/c", *QUICK)[0] == 0
    assert set(contents(tmp_path / "a")) == {
        f"b/c/{name}"
        for name in ("labels.csv", "embedding.npz", "markers.csv", "result.json", "mkclust.json")
    }


def test_save_replaces_models_only(run, tables, tmp_path):
    (tmp_path / "mine.npz").write_text("of my own")
    code, _, err = run("cluster", "d", "-k", 3, "--save", "mine.npz", *QUICK)
    assert code == 2 and "is no model of mkclust" in err
    assert (tmp_path / "mine.npz").read_text() == "of my own"
    for target in ("d/view1.csv", "mkclust-out/labels.csv"):
        code, _, err = run("cluster", "d", "-k", 3, "--save", target, "--overwrite", *QUICK)
        assert code == 2 and "name another file" in err
    for _ in range(2):
        code, out, _ = run("cluster", "d", "-k", 3, "--save", "models/m.npz", *QUICK)
        assert code == 0 and "Model written to models/m.npz" in out
    np.savez(tmp_path / "other.npz", document=np.zeros(3))
    assert run("cluster", "d", "-k", 3, "--save", "other.npz", *QUICK)[0] == 2
    assert run("cluster", "d", "-k", 3, "--save", "other.npz", "--overwrite", *QUICK)[0] == 0


def test_predictions_are_guarded_too(run, tables, tmp_path):
    assert run("cluster", "d", "-k", 3, "--save", "m.npz", *QUICK)[0] == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "labels.csv").write_text("of my own")
    code, _, err = run("predict", "m.npz", "d", "-o", "mine")
    assert code == 2 and "labels.csv" in err
    assert (tmp_path / "mine" / "labels.csv").read_text() == "of my own"
    for _ in range(2):
        assert run("predict", "m.npz", "d")[0] == 0
    assert set(read_manifest(tmp_path / "mkclust-predicted").files) == {
        "labels.csv",
        "embedding.npz",
    }


def test_a_run_that_stopped_between_two_files_can_be_repeated(run, tables, tmp_path, monkeypatch):
    assert run("cluster", "d", "-k", 3, *QUICK)[0] == 0
    out, real, count = tmp_path / "mkclust-out", output_directory.os.replace, []

    def stopped(source, target):
        if str(target).startswith("mkclust-out/") and not str(target).endswith(NAME):
            count.append(target)
            if len(count) == 2:
                raise KeyboardInterrupt
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(output_directory.os, "replace", stopped)
        assert run("cluster", "d", "-k", 2, *QUICK)[0] == 130
    mixed = read_manifest(out)
    assert mixed.earlier and not json.loads((out / NAME).read_text())["complete"]
    assert not [*out.rglob("*.tmp")]
    assert run("cluster", "d", "-k", 2, *QUICK)[0] == 0
    found = read_manifest(out)
    assert not found.earlier and all(found.wrote(out, name) for name in found.files)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"format": "other"}', '{"format": "mkclust results", "files": 3}', "[" * 9999],
)
def test_another_file_is_no_manifest(tmp_path, text):
    (tmp_path / NAME).write_text(text)
    found = read_manifest(tmp_path)
    assert found is None or not found.names()


def test_a_manifest_names_no_file_outside_its_folder(tmp_path):
    (tmp_path / "secret.csv").write_text("x")
    (tmp_path / "out").mkdir()
    names = ["../secret.csv", "/etc/passwd", "labels/../../secret.csv", "other.csv", "labels.csv"]
    content = {"format": "mkclust results", "run": "0", "files": dict.fromkeys(names, "0" * 64)}
    (tmp_path / "out" / NAME).write_text(json.dumps(content))
    assert read_manifest(tmp_path / "out").names() == {"labels.csv"}


def test_results_are_known_by_name_and_replaced_by_checksum(tmp_path):
    (tmp_path / "labels.csv").write_text("one")
    Manifest("0", {"labels.csv": checksum(tmp_path / "labels.csv")}).write(tmp_path)
    (tmp_path / "labels.csv").write_text("two")
    assert is_result(tmp_path / "labels.csv")
    assert not read_manifest(tmp_path).wrote(tmp_path, "labels.csv")
    with pytest.raises(InputError, match=r"labels\.csv"):
        output_directory.OutputFolder(tmp_path).check()
