"""What the arguments of a command mean: limits, views in parts, an output used before."""

import subprocess
import sys

import numpy as np
import pytest

from mkclust import METHODS, datasets
from mkclust.cli import app as cli
from mkclust.cli.arguments import LIMITS, Reading, asked_k, chosen_limits
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
def test_limits_are_chosen_on_the_command_line(run, archive, command):
    name, *more = command
    code, _, err = run(name, archive, *more, "--limit", "max_bytes=1000")
    assert code == 2 and "over the limit of 1,000" in err
    assert "--limit max_bytes=10080" in err  # what it says is enough
    code, _, _ = run(name, archive, *more, "--limit", "max_bytes=10080")
    assert code == 0


def test_limits_hold_for_saved_models_too(run, archive):
    run("cluster", archive, "-k", 3, "--save", "model.npz", "-q", *QUICK)
    code, _, err = run("predict", "model.npz", archive, "--limit", "max_bytes=1000")
    assert code == 2 and "model.npz" in err and "over the limit" in err
    code, out, _ = run("predict", "model.npz", archive)
    assert code == 0 and "60 samples assigned to 3 clusters by Graph fusion" in out


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("max_bites=5", "has no 'max_bites', only max_bytes, max_views, max_columns"),
        ("max_bytes", "NAME=NUMBER"),
        ("max_bytes=1.5", "whole number"),
        ("max_bytes=-1", "whole number"),
        ("max_views=inf", "whole number"),
        ("max_views=nan", "whole number"),
    ],
)
def test_limits_that_make_no_sense_are_refused(given, complaint):
    with pytest.raises(InputError, match=complaint):
        chosen_limits([given])


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
        (["--index", "name"], "--index cannot be used with views in parts"),
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
    assert all(name in words for name in LIMITS)


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
