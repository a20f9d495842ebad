"""The command line: what it prints, what it writes, how it ends."""

import json

import numpy as np
import pytest
import scipy.io

from mkclust import datasets
from mkclust.methods import METHODS


@pytest.fixture
def planted(tmp_path):
    """A .mat file with three views of planted clusters, one of them pure noise."""
    views = datasets.make_views(60, 3, 2, n_noise_views=1, noise=0.5, random_state=0)
    cell = np.empty((1, 3), dtype=object)
    cell[0, :] = views.views
    path = tmp_path / "planted.mat"
    scipy.io.savemat(path, {"X": cell, "gt": views.labels + 1})
    return path


@pytest.mark.parametrize("recipe", ["auto", "published"])
def test_cluster_finds_planted_clusters_and_writes_everything(run, planted, tmp_path, recipe):
    code, out, _ = run("cluster", planted, "-k", 3, "--recipe", recipe, "-o", "results")
    assert code == 0
    assert "60 samples, 3 views, 3 clusters by MKC-DNM" in out
    assert "gt" in out and "ACC" in out
    folder = tmp_path / "results"
    assert {path.name for path in folder.iterdir()} == {
        "labels.csv", "embedding.npz", "result.json", "report.html", "stability.csv",
    }  # fmt: skip
    result = json.loads((folder / "result.json").read_text())
    rows = (folder / "labels.csv").read_text().splitlines()
    labels = [int(row.split(",")[1]) for row in rows[1:]]
    embedding = np.load(folder / "embedding.npz", allow_pickle=False)
    assert rows[0] == "sample,cluster" and len(labels) == 60
    assert np.bincount(labels).tolist() == result["clusters"]
    assert embedding["labels"].tolist() == labels
    fusion = result["fitted"].get("fusion")
    lengths = np.ones(3) if fusion is None else np.array(fusion["lengths"])
    assert (fusion is not None) == (recipe == "auto")
    assert fusion is None or "left out, no other view confirms it" in fusion["words"][3]
    np.testing.assert_allclose(
        embedding["embedding"].T @ embedding["embedding"], np.diag(lengths**2), atol=1e-10
    )
    assert result["fitted"]["objective"] == sum(result["fitted"]["dimensions"])
    assert set(result["metrics"]) == {"acc", "nmi", "purity", "ari", "nmi_normalizer"}
    assert result["method"] == "MKC-DNM" and result["parameters"]["n_clusters"] == 3
    assert "<html" in (folder / "report.html").read_text()


def test_quiet_prints_nothing(run, planted):
    code, out, err = run("cluster", planted, "-k", 3, "--quiet")
    assert (code, out, err) == (0, "", "")


def test_known_classes_can_be_ignored(run, planted, tmp_path):
    code, out, _ = run("cluster", planted, "-k", 3, "--labels", "none", "-o", "results")
    assert code == 0 and "ACC" not in out
    assert "metrics" not in json.loads((tmp_path / "results" / "result.json").read_text())


def test_views_can_be_chosen(run, tmp_path):
    views = datasets.make_views(40, 2, 3, random_state=0)
    np.savez(tmp_path / "all.npz", **dict(zip(views.names, views.views, strict=True)))
    code, out, _ = run("cluster", tmp_path / "all.npz", "-k", 2, "--views", "view1,view3")
    assert code == 0 and "2 views" in out and "view2" not in out.split("2 views")[1]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs(run, planted, method):
    code, out, _ = run("cluster", planted, "-k", 3, "--method", method)
    assert code == 0 and METHODS[method].title in out


def test_a_kernel_takes_its_parameters(run, planted, tmp_path):
    arguments = ("--kernel", "knn", "--kernel-param", "n_neighbors=5")
    code, _, _ = run("cluster", planted, "-k", 3, *arguments)
    assert code == 0
    result = json.loads((tmp_path / "mkclust-out" / "result.json").read_text())
    assert result["parameters"]["kernel_params"] == {"n_neighbors": 5}


def test_a_method_takes_its_own_options(run, planted, tmp_path):
    code, _, _ = run("cluster", planted, "-k", 3, "--solver", "exact", "--threshold", "2.5")
    assert code == 0
    result = json.loads((tmp_path / "mkclust-out" / "result.json").read_text())
    assert result["parameters"]["solver"] == "exact" and result["parameters"]["threshold"] == 2.5


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["cluster", "absent.mat", "-k", "2"], "absent.mat"),
        (["cluster", "planted.mat", "-k", "61"], "61"),
        (["cluster", "planted.mat", "-k", "0"], "-k"),
        (["cluster", "planted.mat"], "-k"),
        (["cluster", "planted.mat", "-k", "2", "--method", "magic"], "magic"),
        (["cluster", "planted.mat", "-k", "2", "--method", "akkm", "--recipe", "magic"], "magic"),
        (["cluster", "planted.mat", "-k", "2", "--kernel", "magic"], "magic"),
        (["cluster", "planted.mat", "-k", "2", "--solver", "magic"], "magic"),
        (["cluster", "planted.mat", "-k", "2", "--method", "akkm", "--solver", "exact"], "akkm"),
        (["cluster", "planted.mat", "-k", "2", "--views", "Z"], "Z"),
        (["cluster", "planted.mat", "-k", "2", "--kernel-param", "gamma"], "NAME=NUMBER"),
        (["cluster", "planted.mat", "-k", "2", "--kernel-param", "gamma=1"], "gamma"),
        (["inspect", "absent.mat"], "absent.mat"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_why(run, planted, arguments, complaint, tmp_path):
    code, _, err = run(*arguments)
    assert code == 2
    assert complaint in err
    assert "Traceback" not in err
    assert not (tmp_path / "mkclust-out" / "result.json").exists()


def test_an_unwritable_folder_is_noticed_before_the_work(run, planted, tmp_path):
    (tmp_path / "occupied").write_text("a file, not a folder")
    code, _, err = run("cluster", planted, "-k", 3, "-o", "occupied")
    assert code == 2 and "occupied" in err
    assert (tmp_path / "occupied").read_text() == "a file, not a folder"


def test_earlier_results_survive_a_failed_run(run, planted, tmp_path):
    run("cluster", planted, "-k", 3, "-o", "results")
    before = {path.name: path.read_bytes() for path in (tmp_path / "results").iterdir()}
    code, _, _ = run("cluster", planted, "-k", 61, "-o", "results")
    assert code == 2
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "results").iterdir()}


def test_inspect_says_what_it_would_do(run, planted):
    code, out, _ = run("inspect", planted)
    assert code == 0
    assert "gt" in out and "MultiView(60 samples" in out and "3 known classes" in out


def test_methods_lists_the_registry(run):
    code, out, _ = run("methods")
    assert code == 0
    assert all(name in out for name in METHODS)


def test_version(run):
    code, out, _ = run("--version")
    assert code == 0 and out.startswith("mkclust ")
