"""What the arguments of a command mean: untrusted files, annotations, views in parts."""

import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from mkclust import METHODS, datasets
from mkclust.cli import app as cli
from mkclust.cli.arguments import Reading, asked_k
from mkclust.cli.method_options import _description, owners
from mkclust.exceptions import InputError

pytestmark = pytest.mark.versions

QUICK = ("--no-report", "--no-stability")


@pytest.fixture
def archive(tmp_path):
    views = datasets.make_views(60, 3, 2, noise=0.5, random_state=0)
    named = dict(zip(views.names, views.views, strict=True))
    np.savez(tmp_path / "views.npz", **named, labels=views.labels)
    return tmp_path / "views.npz"


@pytest.fixture
def parts(tmp_path):
    """A folder with two views in parts, and the labels beside it."""
    views = datasets.make_views(60, 3, 2, noise=0.5, random_state=0)
    for name, view in zip(("colour", "shape"), views.views, strict=True):
        (tmp_path / "parts" / name).mkdir(parents=True)
        np.save(tmp_path / "parts" / name / "part-0.npy", view[:30])
        np.save(tmp_path / "parts" / name / "part-1.npy", view[30:])
    np.save(tmp_path / "labels.npy", views.labels)
    return tmp_path / "parts"


@pytest.mark.parametrize("command", [("cluster", "-k", "3", *QUICK), ("inspect",)])
def test_untrusted_files_are_read_with_limits(run, archive, command):
    name, *more = command
    assert run(name, archive, *more, "--untrusted")[0] == 0
    code, _, err = run(name, archive, *more, "--untrusted", "--time-limit", "0.01")
    assert code == 2 and "longer than 0.01 seconds" in err


def write_cohort(folder, samples):
    """Two planted tables, and annotations whose column `stage` is the cluster."""
    views = datasets.make_views(len(samples), 3, 2, noise=0.3, random_state=0)
    for name, view in zip(("rna", "protein"), views.views, strict=True):
        pd.DataFrame(view, index=samples).to_csv(folder / f"{name}.csv", index_label="patient")
    return views.labels


def test_annotations_are_matched_by_the_column_of_names(run, tmp_path):
    (tmp_path / "d").mkdir()
    samples = [f"{i:03d}" for i in range(1, 61)]
    stage = write_cohort(tmp_path / "d", samples)
    clinical = pd.DataFrame({"rank": np.random.default_rng(0).permutation(60) + 1,
                             "patient": samples, "stage": stage})  # fmt: skip
    for ending in (".csv", ".xlsx"):
        write = clinical.to_csv if ending == ".csv" else clinical.to_excel
        write(tmp_path / f"clinical{ending}", index=False)
        options = ("--annotations", f"clinical{ending}", "-o", f"out{ending}", "-q", *QUICK)
        assert run("cluster", "d", "-k", "3", *options)[0] == 0
        found = pd.read_csv(f"out{ending}/annotations.csv").set_index("column")
        assert found.loc["stage", "p"] < 1e-6 and found.loc["stage", "samples"] == 60
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"patient,stage\n001,1\n" * 99)[:-20])
    code, _, err = run("cluster", "d", "-k", "3", "--annotations", "cut.csv.gz", *QUICK)
    assert code == 2 and "cut.csv.gz: not a readable table" in err


def test_names_with_line_ends_are_quoted(run, tmp_path):
    (tmp_path / "d").mkdir()
    samples = [f"a\rb{i}" for i in range(60)]
    write_cohort(tmp_path / "d", samples)
    for path in (tmp_path / "d").iterdir():
        pd.read_csv(path, lineterminator="\n").to_parquet(path.with_suffix(".parquet"))
        path.unlink()
    assert run("cluster", "d", "-k", "3", "-q", *QUICK)[0] == 0
    assert sorted(pd.read_csv("mkclust-out/labels.csv")["sample"]) == sorted(samples)


def test_views_in_parts_are_chosen_by_name(parts, tmp_path):
    assert Reading().read([parts]).names == ("colour", "shape")
    assert Reading("shape").read([parts]).names == ("shape",)
    with pytest.raises(InputError, match="--views shap is none of colour, shape"):
        Reading("colour,shap").read([parts])
    labels = str(tmp_path / "labels.npy")
    np.testing.assert_array_equal(Reading(labels=labels).read([parts]).labels, np.load(labels))
    assert Reading(labels="none").read([parts]).labels is None


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--transpose"], "--transpose cannot be used with views in parts"),
        (["--kernels"], "--kernels cannot be used with views in parts"),
        (["--id", "name"], "--id cannot be used with views in parts"),
        (["--labels", "absent.npy"], "absent.npy: cannot be read: No such file"),
        (["--labels", "text.npy"], "text.npy: not a readable .npy file"),
    ],
)
def test_what_is_not_for_parts_is_refused(run, parts, tmp_path, arguments, complaint):
    (tmp_path / "text.npy").write_text("no array")
    code, _, err = run("cluster", parts, "-k", 3, *arguments)
    assert code == 2 and complaint in err


def test_parts_of_one_name_are_not_taken_for_one_view(parts, tmp_path):
    other = tmp_path / "other" / "shape"
    other.mkdir(parents=True)
    np.save(other / "part-0.npy", np.zeros((60, 2)))
    with pytest.raises(InputError, match="view names must differ, got shape, shape"):
        Reading().read([parts / "shape", other])


def test_inspect_says_what_lies_in_parts(run, parts):
    code, out, _ = run("inspect", parts)
    assert code == 0
    assert "60 x 10" in out and "LargeViews(60 samples: colour 10, shape 10)" in out


def test_views_in_parts_that_do_not_fit_in_memory_need_a_method_that_reads_chunks(
    run, parts, monkeypatch
):
    monkeypatch.setattr("mkclust.cli.arguments.physical_memory", lambda: 1000)
    code, _, err = run("cluster", parts, "-k", 3)
    assert code == 2 and "--method mkc-dnm reads rows in chunks" in err


def test_an_output_used_again_holds_the_files_of_one_run(run, archive, parts, tmp_path):
    out = tmp_path / "mkclust-out"
    assert run("cluster", archive, "-k", 3)[0] == 0
    (out / "notes.txt").write_text("of my own")
    code, said, _ = run("cluster", archive, "-k", 3, "--method", "swmc", "--no-report")
    assert code == 0
    assert "removed, of an earlier run: embedding.npz, report.html" in " ".join(said.split())
    left = {path.name for path in out.iterdir()}
    results = {"labels.csv", "stability.csv", "markers.csv", "result.json", "mkclust.json"}
    assert left == results | {"graph.npz", "notes.txt"}
    chunks = ("--method", "mkc-dnm", "--n-samples-fit", "60")
    quick = ("--no-report", "--no-stability", "--no-markers")
    assert run("cluster", parts, "-k", 3, *chunks, *quick)[0] == 0
    assert {path.name for path in out.iterdir()} == {
        "labels", "embedding", "confidence", "result.json", "notes.txt", "mkclust.json",
    }  # fmt: skip
    assert run("cluster", archive, "-k", 3, *quick)[0] == 0
    assert {path.name for path in out.iterdir()} == {
        "labels.csv", "embedding.npz", "result.json", "notes.txt", "mkclust.json",
    }  # fmt: skip


def test_new_samples_do_not_overwrite_the_fitted_ones(run, archive, tmp_path):
    run("cluster", archive, "-k", 3, "--save", "model.npz", "-q", *QUICK)
    before = (tmp_path / "mkclust-out" / "labels.csv").read_bytes()
    np.savez(
        tmp_path / "new.npz", **{name: np.load(archive)[name][:5] for name in ("view1", "view2")}
    )
    assert run("predict", "model.npz", "new.npz")[0] == 0
    assert (tmp_path / "mkclust-out" / "labels.csv").read_bytes() == before
    assert len((tmp_path / "mkclust-predicted" / "labels.csv").read_text().splitlines()) == 6


def test_help_shows_every_methods_own_default(run):
    _, out, _ = run("cluster", "--help")
    words = " ".join(out.replace("│", " ").split())
    assert "none for graph-fusion, 10 for swmc, none for cagl, 20 for snf" in words
    assert METHODS["cagl"](3).n_neighbors is None and METHODS["swmc"](3).n_neighbors == 10


def test_every_option_of_a_method_is_described(run):
    _, out, _ = run("cluster", "--help")
    words = " ".join(out.replace("│", " ").split())
    assert "Neighbors per sample. For graph-fusion, swmc, cagl, snf." in words
    assert "Arguments of the kernel, such as" in words and "For all methods but" in words
    assert all(_description(name, users) for name, users in owners().items())


def test_the_package_is_a_command_too():
    said = subprocess.run(
        [sys.executable, "-m", "mkclust", "--version"], capture_output=True, text=True, check=True
    ).stdout
    assert said == f"mkclust {cli.__version__}\n"


def test_what_k_may_be():
    assert asked_k("3") == 3 and asked_k("2:5") == (2, 5) and asked_k("auto") == "auto"
    for text in ("0", "-1", "2:", "2:3:4", "two", "2.5", "²"):
        with pytest.raises(InputError, match="-k takes"):
            asked_k(text)
