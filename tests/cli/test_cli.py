"""The command line: what it prints, what it writes, how it ends."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.io

from mkclust import datasets
from mkclust.cli import answers
from mkclust.cli import run as running
from mkclust.methods import METHODS

pytestmark = pytest.mark.versions

LABELS_ONLY = ("--no-stability", "--no-markers", "--no-report")


@pytest.fixture
def planted(tmp_path):
    """A .mat file with three views of planted clusters, one of them pure noise."""
    views = datasets.make_views(60, 3, 2, n_noise_views=1, noise=0.5, random_state=0)
    cell = np.empty((1, 3), dtype=object)
    cell[0, :] = views.views
    path = tmp_path / "planted.mat"
    scipy.io.savemat(path, {"X": cell, "gt": views.labels + 1})
    return path


def result_in(folder):
    return json.loads((folder / "result.json").read_text())


@pytest.mark.parametrize("method", ["graph-fusion", "mkc-dnm"])
def test_cluster_finds_planted_clusters_and_writes_everything(run, planted, tmp_path, method):
    code, out, _ = run("cluster", planted, "-k", 3, "--method", method, "-o", "results")
    assert code == 0
    assert f"60 samples, 3 views, 3 clusters by {METHODS[method].title}" in out
    assert "gt" in out and "ACC" in out
    folder = tmp_path / "results"
    assert {path.name for path in folder.iterdir()} == {
        "labels.csv", "embedding.npz", "result.json", "report.html", "stability.csv",
        "markers.csv", "mkclust.json",
    }  # fmt: skip
    result = result_in(folder)
    rows = (folder / "labels.csv").read_text().splitlines()
    labels = [int(row.split(",")[1]) for row in rows[1:]]
    embedding = np.load(folder / "embedding.npz", allow_pickle=False)
    assert rows[0] == "sample,cluster,confidence" and len(labels) == 60
    assert np.bincount(labels).tolist() == result["clusters"]
    assert embedding["labels"].tolist() == labels
    assert embedding["embedding"].shape == (60, 7 if method == "graph-fusion" else 3)
    assert set(result["metrics"]) == {"acc", "nmi", "purity", "ari", "nmi_normalizer"}
    assert result["parameters"]["n_clusters"] == 3
    certain = np.array([float(row.split(",")[2]) for row in rows[1:]])
    assert result["confidence"]["mean"] == pytest.approx(certain.mean(), abs=1e-4)
    least = result["confidence"]["least"]
    assert len(least) == 20 and least[0]["confidence"] == pytest.approx(certain.min(), abs=1e-4)
    assert result["confidence"]["words"] in " ".join(out.split())
    assert "<html" in (folder / "report.html").read_text()
    assert (folder / "stability.csv").read_text().startswith("sample,cluster,kept,rival\n")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_and_only_it_is_named_within_eighty_columns(
    run, tmp_path, monkeypatch, method
):
    monkeypatch.setenv("COLUMNS", "80")
    views = datasets.make_views(60, 3, 2, n_noise_views=1, noise=0.5, random_state=0)
    names = ["a_view_with_a_name_that_is_longer_than_a_line_" * 3, "view_b", "noise"]
    np.savez(tmp_path / "views.npz", **dict(zip(names, views.views, strict=True)), y=views.labels)
    code, out, _ = run("cluster", "views.npz", "-k", 3, "--method", method)
    assert code == 0 and METHODS[method].title in out
    assert max(map(len, out.splitlines())) <= 80
    result = result_in(tmp_path / "mkclust-out")
    assert result["method"] == {
        "name": method, "title": METHODS[method].title, "reference": METHODS[method].reference,
    }  # fmt: skip
    written = out + json.dumps(result)
    others = [kind.title for name, kind in METHODS.items() if name != method]
    words = set(written.replace(",", " ").replace('"', " ").replace(":", " ").split())
    assert not [other for other in others if other in words or f" {other} " in written]
    assert result["stability"]["agreement"] <= 1 and set(result["view_influence"]["without"])


def test_every_method_has_the_parameters_it_was_given_and_no_others(run, planted, tmp_path):
    run("cluster", planted, "-k", 3, "--n-neighbors", 7, *LABELS_ONLY)
    assert result_in(tmp_path / "mkclust-out")["parameters"] == {
        "n_clusters": 3, "n_neighbors": 7, "neighbors": "auto",
        "precomputed": False, "indefinite": "raise",
        "columns": None, "missing": None, "n_init": 10, "random_state": 0,
    }  # fmt: skip


def test_quiet_prints_nothing(run, planted):
    code, out, err = run("cluster", planted, "-k", 3, "--quiet")
    assert (code, out, err) == (0, "", "")


def test_known_classes_can_be_ignored(run, planted, tmp_path):
    arguments = ("--labels", "none", "-o", "results", *LABELS_ONLY)
    code, out, _ = run("cluster", planted, "-k", 3, *arguments)
    assert code == 0 and "ACC" not in out
    assert "metrics" not in result_in(tmp_path / "results")


def test_views_can_be_chosen(run, tmp_path):
    views = datasets.make_views(40, 2, 3, random_state=0)
    np.savez(tmp_path / "all.npz", **dict(zip(views.names, views.views, strict=True)))
    arguments = ("--views", "view1,view3", *LABELS_ONLY)
    code, out, _ = run("cluster", tmp_path / "all.npz", "-k", 2, *arguments)
    assert code == 0 and "2 views" in out and "view2" not in out.split("2 views")[1]


def test_a_kernel_takes_its_parameters(run, planted, tmp_path):
    arguments = ("--method", "akkm", "--kernel", "rbf", "--kernel-param", "gamma=0.5")
    code, _, _ = run("cluster", planted, "-k", 3, *arguments, "--no-center", *LABELS_ONLY)
    assert code == 0
    parameters = result_in(tmp_path / "mkclust-out")["parameters"]
    assert parameters["kernel_params"] == {"gamma": 0.5}
    assert parameters["center"] is False and parameters["normalize"] is True


def test_a_method_takes_its_own_options(run, planted, tmp_path):
    arguments = ("--method", "mkc-dnm", "--solver", "exact", "--threshold", "2.5")
    code, _, _ = run("cluster", planted, "-k", 3, *arguments, *LABELS_ONLY)
    assert code == 0
    result = result_in(tmp_path / "mkclust-out")
    assert result["parameters"]["solver"] == "exact" and result["parameters"]["threshold"] == 2.5


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["cluster", "absent.mat", "-k", "2"], "absent.mat"),
        (["cluster", "planted.mat", "-k", "61"], "-k 61 is more than the 60 samples"),
        (["cluster", "planted.mat", "-k", "0"], "-k takes"),
        (["cluster", "planted.mat", "-k", "2:61"], "try up to 30"),
        (["cluster", "planted.mat"], "-k"),
        (["cluster", "planted.mat", "-k", "2", "--method", "magic"], "unknown --method 'magic'"),
        (["cluster", "planted.mat", "-k", "2", "--recipe", "auto"], "--recipe"),
        (["cluster", "planted.mat", "-k", "2", "--method", "akkm", "--kernel", "magic"], "magic"),
        (["cluster", "planted.mat", "-k", "2", "--method", "akkm", "--kernel", "auto"], "'auto'"),
        (["cluster", "planted.mat", "-k", "2", "--method", "mkc-dnm", "--solver", "m"], "--solver"),
        (["cluster", "planted.mat", "-k", "2", "--n-neighbors", "0"], "--n-neighbors must be"),
        (["cluster", "planted.mat", "-k", "2", "--views", "Z"], "--views Z"),
        (["cluster", "planted.mat", "-k", "2", "--labels", "Z"], "--labels Z"),
        (
            ["cluster", "planted.mat", "-k", "2", "--method", "akkm", "--kernel-param", "gamma"],
            "NAME=NUMBER",
        ),
        (
            ["cluster", "planted.mat", "-k", "2", "--method", "akkm", "--kernel-param", "gamma=1"],
            "gamma",
        ),
        (["inspect", "absent.mat"], "absent.mat"),
        (["demo", "--solver", "exact"], "--solver"),
        (["demo", "--method", "magic"], "unknown --method 'magic'"),
        (["frobnicate"], "frobnicate"),
        (["clusters"], "Did you mean 'cluster'?"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_why(run, planted, arguments, complaint, tmp_path):
    code, _, err = run(*arguments)
    assert code == 2
    assert complaint in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err
    assert not (tmp_path / "mkclust-out").exists()


@pytest.mark.parametrize(
    ("method", "given"),
    [
        ("graph-fusion", ["--kernel", "rbf"]),
        ("graph-fusion", ["--kernel-param", "gamma=1"]),
        ("graph-fusion", ["--center"]),
        ("graph-fusion", ["--no-normalize"]),
        ("graph-fusion", ["--solver", "exact"]),
        ("mkc-dnm", ["--n-neighbors", "5"]),
        ("akkm", ["--solver", "exact"]),
        ("swmc", ["--seed", "1"]),
        ("swmc", ["--n-init", "2"]),
    ],
)
def test_options_of_other_methods_are_refused(run, planted, tmp_path, method, given):
    code, _, err = run("cluster", planted, "-k", 3, "--method", method, *given)
    flag = given[0].replace("--no-", "--")
    assert code == 2 and f"{flag} is no option of {method}; use --method" in " ".join(err.split())
    assert not (tmp_path / "mkclust-out").exists()


def test_a_kernel_is_not_chosen_for_matrices_that_are_kernels(run, tmp_path):
    X = np.random.default_rng(0).standard_normal((30, 4))
    np.savez(tmp_path / "kernels.npz", K1=X @ X.T, K2=(X @ X.T) ** 2)
    arguments = ("--kernels", "--method", "mkc-dnm")
    code, _, err = run("cluster", "kernels.npz", "-k", 2, *arguments, "--kernel", "rbf")
    assert code == 2 and "--kernel cannot be used with views that are kernel matrices" in err
    for method in ("graph-fusion", "mkc-dnm"):
        code, out, _ = run("cluster", "kernels.npz", "-k", 2, "--kernels", "--method", method)
        assert code == 0 and "30 samples, 2 kernels, 2 clusters" in out


# ---------------------------------------------------------------- questions


def chosen(k, ks=(2, 3, 4)):
    """A choice of k with the attributes of `ChoiceOfK`."""
    from mkclust.inspection import ChoiceOfK

    class Chosen(ChoiceOfK):
        def __init__(self):
            table = tuple(
                SimpleNamespace(
                    k=j,
                    score=0.4,
                    modularity=0.5,
                    held_out=0.3,
                    tested=0.5,
                    null=0.1,
                    null_high=0.2,
                    sizes=(40, 20),
                )
                for j in ks
            )
            values = {"k": k, "structure": k > 1, "low": k, "high": k, "p_value": 0.01}
            for name, value in (values | {"table": table}).items():
                object.__setattr__(self, name, value)

        def __str__(self):
            return f"{k} clusters"

    return Chosen()


@pytest.mark.parametrize("method", ["graph-fusion", "mkc-dnm", "akkm"])
def test_the_number_of_clusters_is_asked_of_the_estimator_that_clusters(
    run, planted, tmp_path, monkeypatch, method
):
    asked = []

    def choose(estimator, views, k_range):
        asked.append((type(estimator), k_range))
        return chosen(3)

    monkeypatch.setattr(running, "choose_k", choose)
    for text, k_range in (("2:4", (2, 4)), ("auto", "auto")):
        code, out, _ = run("cluster", planted, "-k", text, "--method", method, *LABELS_ONLY)
        assert code == 0
        assert asked[-1] == (METHODS[method], k_range)
        title = METHODS[method].title
        said = " ".join(out.split())
        assert f"by held-out modularity of partitions by {title}: 3 clusters." in said
        assert result_in(tmp_path / "mkclust-out")["parameters"]["n_clusters"] == 3


def test_no_cluster_structure_is_an_answer(run, planted, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "choose_k", lambda *_: chosen(1))
    code, out, _ = run("cluster", planted, "-k", "auto")
    said = " ".join(out.split())
    assert code == 0 and "No cluster structure was found" in said
    assert "60 samples, 3 views, 1 cluster by Graph fusion" in said
    assert "were not computed: there is one cluster only" in said
    assert result_in(tmp_path / "mkclust-out")["clusters"] == [60]
    rows = (tmp_path / "mkclust-out" / "labels.csv").read_text().splitlines()[1:]
    assert {row.split(",")[1] for row in rows} == {"0"}


@pytest.mark.parametrize("method", ["graph-fusion", "mkc-dnm"])
def test_stability_and_influence_are_there_where_samples_are_missing(run, tmp_path, method):
    views = datasets.make_views(80, 2, 3, noise=0.5, random_state=0)
    rows = [view.copy() for view in views.views]
    rows[0][:6] = np.nan
    np.savez(tmp_path / "some.npz", **dict(zip(views.names, rows, strict=True)))
    code, out, _ = run("cluster", "some.npz", "-k", 2, "--method", method)
    assert code == 0 and "Stability:" in out and "Views:" in out
    result = result_in(tmp_path / "mkclust-out")
    assert result["view_influence"]["without"]["view1"]["ari"] <= 1
    assert result["input"]["missing"]["incomplete_samples"] == 6
    table = (tmp_path / "mkclust-out" / "stability.csv").read_text().splitlines()
    assert table[0] == "sample,cluster,kept,rival" and len(table) == 81


def test_a_check_that_is_not_run_says_why(run, planted, tmp_path, monkeypatch):
    code, out, _ = run("cluster", planted, "-k", 3, "--no-stability", "--no-report")
    said = " ".join(out.split())
    assert code == 0 and "were not computed: --no-stability was given" in said
    np.savez(tmp_path / "one.npz", only=np.random.default_rng(0).standard_normal((40, 3)))
    code, out, _ = run("cluster", "one.npz", "-k", 2, "--no-report")
    assert code == 0 and "View influence was not computed: there is one view only" in out
    assert "Stability:" in out
    code, out, _ = run("cluster", "one.npz", "-k", 30, "--no-report")
    assert code == 0 and "Stability was not computed: halves of 40 samples" in " ".join(out.split())
    monkeypatch.setattr(answers, "PATIENCE", 0.0)
    code, out, _ = run("cluster", planted, "-k", 3, "--no-report")
    assert code == 0 and "Compute them with --stability." in " ".join(out.split())
    assert "not computed" in result_in(tmp_path / "mkclust-out")["not_computed"][0]
    code, out, _ = run("cluster", planted, "-k", 3, "--stability", "--no-report")
    assert code == 0 and "Stability:" in out


# ---------------------------------------------------------------- what is printed


def test_the_time_printed_is_the_time_waited(run, planted, tmp_path, monkeypatch):
    def slow(model, path, *_, **__):
        import time

        time.sleep(0.3)
        path.write_text("<html></html>")

    monkeypatch.setattr(running, "write_report", slow)
    _, out, _ = run("cluster", planted, "-k", 3)
    line = next(line for line in out.splitlines() if line.startswith("Seconds: "))
    spent = dict(part.rsplit(" ", 1) for part in line.removeprefix("Seconds: ").split(", "))
    assert {"fit", "checks", "report", "total"} <= set(spent) and float(spent["report"]) >= 0.3
    stages = sum(float(value) for name, value in spent.items() if name != "total")
    assert 0 <= float(spent["total"]) + 0.3 - stages < 1.0
    assert set(result_in(tmp_path / "mkclust-out")["seconds"]) >= {"start", "read", "fit"}


@pytest.mark.parametrize(
    "words", [["methods"], ["cluster", "-h"], ["--help"], ["predict", "--help"]]
)
def test_help_fits_eighty_columns(run, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(*words)
    assert code == 0 and out and max(map(len, out.splitlines())) <= 80


def test_control_characters_in_names_do_not_reach_the_terminal(run, tmp_path):
    views = datasets.make_views(40, 2, 2, random_state=0)
    np.savez(tmp_path / "odd.npz", **{"a\x1b[2J": views.views[0], "b[red]": views.views[1]})
    code, out, _ = run("cluster", "odd.npz", "-k", 2, "--no-report")
    assert code == 0 and "\x1b[2J" not in out and "a?[2J" in out and "b[red]" in out


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
    assert "--n-neighbors" in out and "--kernel-param" in out


def test_version(run):
    code, out, _ = run("--version")
    assert code == 0 and out.startswith("mkclust ")
